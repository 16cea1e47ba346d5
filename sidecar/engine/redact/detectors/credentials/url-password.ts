// Finds passwords in URLs: the text between the user's name and the `@`, with any scheme, also if the URL itself is
// percent-encoded or has lost its scheme.
import { type Detector, leadMax, type MatchReporter } from '../../detector.ts';
import { isPlaceholder } from '../placeholders.ts';
import { endAt, looksDrawn } from './match.ts';

const authority = /[^\s"'`<>\\|/?#]{1,640}/y;
// The rest of a password that contains a slash: the text from the slash on.
const rest = /[/?#][^\s"'`<>\\|]{0,128}/y;
const port = /^\d{1,5}(?:,|$)/;

/** Finds the password in `scheme://user:password@host`. */
export const urlPassword: Detector = {
  kind: 'url_credentials',
  // The second anchor is how PHP writes the first one in JSON.
  anchors: ['://', ':\\/\\/'],
  reach: { before: 0, after: 800 },
  find: (text, _at, end, found) => {
    const stop = endAt(authority, text, end);
    if (stop === -1) return;
    const whole = text.slice(end, stop);
    const colon = whole.indexOf(':');
    const last = whole.lastIndexOf('@');
    if (last === -1) findUnencoded(text, end, stop, found);
    else if (colon === -1 || colon > last) findTokenUser(whole.slice(0, last), end, found);
    else addPassword(whole, end, colon, last, found);
  },
};

/** Finds a password with a `/`, `?` or `#` that is not encoded. The text before that character must not be a port. */
function findUnencoded(text: string, start: number, slash: number, found: MatchReporter): void {
  const colon = text.slice(start, slash).indexOf(':');
  const begun = text.slice(start + colon + 1, slash);
  if (colon === -1 || begun === '' || port.test(begun) || /^\[|[${}%<>*]/.test(text.slice(start, slash))) return;
  const whole = text.slice(start, endAt(rest, text, slash));
  const at = whole.indexOf('@', slash - start);
  if (at !== -1 && /^@[\w.-]+[:/]/.test(whole.slice(at)) && !whole.slice(0, at).includes('://'))
    addPassword(whole, start, colon, at, found);
}

// Documents write `user:password@localhost` to show that a URL may contain a user and a password.
const wordPassword = /^(?:(?:some|my|db|mysql|pg|postgres)[-_]?)?(?:pass|password|passwd|pwd|pw)$/i;
const wordUser = /^\[?(?:(?:(?:some|my|db|mysql|pg|postgres)[-_]?)?user(?:name)?|usr|login|name|foo|me)?$/i;
const wordHost =
  /^@(?:$|[\]/])|^@(?:[\w.-]+\.(?:test|example|invalid|localhost)|(?:some|my|db)?host|[a-z]|(?:[\w-]+\.)*(?:host(?:name)?|server|company|domain|proxy)(?:\.(?:com|org|net|server))?|localhost|127\.0\.0\.1|db|address|ip|\[?host|your|my|(?:[\w-]+\.)*example(?:\.(?:com|org|net|edu))?)(?![\w-]|\.\w)/i;

// A short word, as in the example `a:b@`.
const shortWord = /^(?:[a-z]{1,3}|123)$/;

function addPassword(whole: string, start: number, colon: number, end: number, found: MatchReporter): void {
  const [user, password] = [whole.slice(0, colon), whole.slice(colon + 1, end)];
  // Code hosts accept a token in place of the user.
  if (/^(?:x-oauth-basic|x-oauth-token|x-access-token|x)?$/i.test(password)) {
    findTokenUser(user, start, found);
    return;
  }
  if (
    isTemplate(password) ||
    (shortWord.test(user) && shortWord.test(password)) ||
    (wordPassword.test(password) ? wordUser.test(user) && wordHost.test(whole.slice(end)) : isPlaceholder(password))
  )
    return;
  found(start + colon + 1, start + end);
}

/**
 * Returns whether the text is a template that a program replaces with a password: `%s`, `${PASSWORD}`, `{password}`.
 */
const isTemplate = (password: string): boolean =>
  /^%(?:[sdvq]|\()|\$\{|\$\(|^\$[A-Z_a-z]+$|^\{.*\}$|^#\{|^<|^&lt;|^\[.*\]$|^\*+$/.test(password);

function findTokenUser(user: string, start: number, found: MatchReporter): void {
  if (looksDrawn(user, 20) && /\d/.test(user) && !/[.%]/.test(user)) found(start, start + user.length);
}

const encodedUser = /[A-Za-z0-9._~-]{0,64}%3A/iy;
const encodedPassword = /(?:[A-Za-z0-9._~!*'()-]|%(?!40|2F)[0-9A-F]{2}){1,256}%40/iy;

/** Finds the password in `https%3A%2F%2Fuser%3Apassword%40host`. */
export const encodedUrlPassword: Detector = {
  kind: 'url_credentials',
  anchors: ['%3a%2f%2f'],
  reach: { before: 0, after: 1_024 },
  find: (text, _at, end, found) => {
    const start = endAt(encodedUser, text, end);
    const stop = start === -1 ? -1 : endAt(encodedPassword, text, start);
    if (stop !== -1 && !isPlaceholder(text.slice(start, stop - 3))) found(start, stop - 3);
  },
};

const thinLogin = /[A-Za-z0-9_$#]{1,64}\/(?=[^\s@"']{1,128}@)/y;
const thinPassword = /[^\s@"']{1,128}/y;
const beforeListener = /(?:^|[\s"'`=(])[\w$#]{1,64}\/([^\s"'`@/]{1,128})@(?:\/\/)?[\w.-]{1,80}$/;
const beforeAddress = /(?:^|[\s"'`=/])[^\s"'`=:/@]{1,64}:((?!\/\/)[^\s"'`@]{1,128})$/;

/**
 * Finds the password in `jdbc:oracle:thin:user/password@…`, in `user/password@host:1521`, and in
 * `user:password@tcp(host)` of Go's driver.
 */
export const driverLogin: Detector = {
  kind: 'url_credentials',
  anchors: [':thin:', ':oci:', 'sqlplus ', ':1521', '@tcp(', '@unix('],
  reach: { before: 290, after: 256 },
  find: (text, at, end, found) => {
    if (text[at] !== '@' && text[at + 1] !== '1') {
      const start = endAt(thinLogin, text, end);
      const stop = start === -1 ? -1 : endAt(thinPassword, text, start);
      if (stop !== -1 && !isTemplate(text.slice(start, stop)) && !isPlaceholder(text.slice(start, stop))) found(start, stop);
      return;
    }
    const before = text.slice(Math.max(0, at - leadMax), at);
    const match = (text[at] === '@' ? beforeAddress : beforeListener).exec(before);
    const password = match?.[1];
    if (password === undefined || isTemplate(password) || isPlaceholder(password) || wordPassword.test(password)) return;
    const start = text[at] === '@' ? at - password.length : at - before.length + before.lastIndexOf('@') - password.length;
    found(start, start + password.length);
  },
};
