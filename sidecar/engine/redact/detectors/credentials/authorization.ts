// Finds the credentials of requests: in `Authorization` headers of any notation, and after `Bearer` or `Basic` without
// a header.
import { startsWord } from '../../boundary.ts';
import { type Detector, foundWhole, type MatchReporter } from '../../detector.ts';
import { decodedText, endAt, isOutside, looksDrawn, runEnd, signs, valueAfter } from './match.ts';

const credentialMax = 2_304;
const tokenLengthMax = 2_048;
const reach = { before: 16, after: credentialMax };
const token = /[A-Za-z0-9](?:[A-Za-z0-9._~+/:|!*@-]|%(?:2[BF]|7[CE])){5,2047}(?:={0,2}|(?:%3D){0,2})/iy;
// Matches the rest of a long token, so that the token is found as a whole.
const tokenRest = /(?:[A-Za-z0-9._~+/:|!*@=-]|%(?:2[BF]|7[CE]))*/iy;
const inToken = /[A-Za-z0-9._~+/:|!*@-]/;
const base64 = /[A-Za-z0-9+/_-]{6,2048}(?:={0,2}|(?:%3D){0,2})(?![A-Za-z0-9+/_-])/iy;
// The usual text that documents encode as an example.
const wordLogin = /^(?:user(?:name)?|login):pass(?:word|wd)?$/i;
// The scheme and the token may be two literals: `"Bearer " + "…"`.
const joined = String.raw`(?:\\{0,3}["'\x60] {0,2}[+.&] {0,2}\\{0,3}["'\x60])?`;
const blank = new RegExp(`(?: |\\t|\\+|%20)+${joined}`, 'iy');

// Schemes registered by IANA, and schemes that some services have defined for themselves.
const knownScheme =
  /(?:bearer|token|basic|api-?key|apikey-v1|genie-?key|bot|dpop|gnap|hmac(?:-sha(?:1|256|512))?|negotiate|ntlm|ssws|key|jwt|sso-key|oauth|zoho-oauthtoken|pveapitoken|private-?token|sharedkey(?:lite)?|splunk|snowflake|flyv1|aws|klaviyo-api-key|discogs|mediabrowser|vapid|access-?token|session|client-?id|secret)(?= |\t|\+|%20|=)/iy;
const anyScheme = /[A-Za-z][A-Za-z0-9-]{1,30}(?= |\t|\+|%20)/y;
const parameter = /[A-Za-z_][A-Za-z0-9_-]{0,30}=(?:\\{0,7}["'])?/y;
const parameterValue = /[^"'\\,&\s=]{0,1024}={0,2}/y;
const parameterRest = /[^"'\\,&\s=]*/y;
const betweenParameters = /(?:\\{0,7}["'])?(?:[\s,&]|\\{1,4}n){1,16}/y;
const secretParameter = /(?:^|[_-])(?:response|signature|sig|mac|token|password|passwd|secret|api_?key|key|hash)$/i;
const parametersMax = 12;

const name = 'authorization';

/** Finds credentials next to the name of an `Authorization` header. */
export const authorization: Detector = {
  kind: 'authorization',
  anchors: signs.map((sign) => name + sign),
  reach,
  find: (text, at, _end, found) => {
    const start = isOutside(text, at - ownerLength(text, at), inToken) ? valueAfter(text, at + name.length) : -1;
    if (start !== -1) findCredentials(text, start, found);
  },
};

const owner = /(?:proxy[-_]?|http_|x-|headers?\.|--)$/i;
const ownerLength = (text: string, at: number): number => owner.exec(text.slice(Math.max(0, at - 8), at))?.[0].length ?? 0;

function findCredentials(text: string, start: number, found: MatchReporter): void {
  const known = endAt(knownScheme, text, start);
  const scheme = known === -1 ? endAt(anyScheme, text, start) : known;
  const at = scheme === -1 ? start : endAt(blank, text, scheme);
  if (at === -1) return;
  if (endAt(parameter, text, at) !== -1 && findParameters(text, at, found)) return;
  if (/^basic/i.test(text.slice(start, scheme)) && findUserAndPassword(text, at, found)) return;
  findToken(text, at, known !== -1 ? 8 : scheme !== -1 ? 16 : 20, found);
}

/** Finds the secret parameters of `Digest username="…", response="…"`. Returns whether there were any. */
function findParameters(text: string, start: number, found: MatchReporter): boolean {
  let at = start;
  let known = 0;
  let first = '';
  for (let count = 0; count < parametersMax; count++) {
    const valueAt = endAt(parameter, text, at);
    if (valueAt === -1) break;
    const name = /([A-Za-z0-9_-]+)=/.exec(text.slice(at, valueAt))?.[1] ?? '';
    // The first name occurs again, so the next header of this kind begins.
    if (name === first) break;
    first ||= name;
    const end = runEnd(text, endAt(parameterValue, text, valueAt), parameterRest);
    if (secretParameter.test(name) && !/consumer/i.test(name)) {
      known += 1;
      if (looksDrawn(text.slice(valueAt, end), 8)) foundWhole(found, valueAt, end, reach);
    }
    at = endAt(betweenParameters, text, end);
    if (at === -1) break;
  }
  return known > 0;
}

function findToken(text: string, at: number, lengthMin: number, found: MatchReporter): void {
  const end = withoutPoint(text, endAt(token, text, at));
  if (end === -1 || !looksDrawn(text.slice(at, end), lengthMin) || address.test(text.slice(at, at + 8))) return;
  if (end - at < tokenLengthMax) found(at, end);
  else foundWhole(found, at, withoutPoint(text, runEnd(text, end, tokenRest)), reach);
}

const address = /^https?:\/\//;

/** Removes the punctuation after a token at the end of a sentence. */
function withoutPoint(text: string, end: number): number {
  let stop = end;
  while (stop > 0 && '.:!'.includes(text.charAt(stop - 1))) stop -= 1;
  return stop;
}

/** Finds base64 of a user's name and a password. Returns whether it was found. */
function findUserAndPassword(text: string, at: number, found: MatchReporter): boolean {
  const end = endAt(base64, text, at);
  const login = end === -1 ? null : decodedText(text.slice(at, end).replaceAll(/%3d/gi, '='));
  if (login === null || wordLogin.test(login) || !/^[^\s:]{1,128}:.{1,256}$|^[^\s:]{16,128}:$/u.test(login)) return false;
  found(at, end);
  return true;
}

const afterBearer = new RegExp(String.raw`(?:(?: |%20|\+)?token)?(?:\s{1,3}|%20|\+|=|: ?|%3D){1,3}(?:${joined}|["'\x60«「]?)`, 'iy');
const basicBlank = /(?: |\+|%20){1,3}/y;

/**
 * Finds credentials that have no name of a header before them: after `Bearer` or `Basic`, and after schemes whose name
 * says that the request is signed or digested.
 */
export const scheme: Detector = {
  kind: 'authorization',
  anchors: ['bearer', 'basic', 'aws4-hmac-sha256 ', 'digest username'],
  reach,
  find: (text, at, end, found) => {
    if (!isOutside(text, at, inToken)) return;
    const letter = text.charAt(at).toLowerCase();
    if (letter === 'a' || letter === 'd') {
      findParameters(text, letter === 'a' ? end : at + 'digest '.length, found);
      return;
    }
    const start = endAt(text.charAt(at + 1).toLowerCase() === 'e' ? afterBearer : basicBlank, text, end);
    if (start === -1) return;
    if (letter === 'b' && text.charAt(at + 1).toLowerCase() === 'a') findUserAndPassword(text, start, found);
    else findToken(text, start, 16, found);
  },
};

/** Finds logins such as `"auth": "dXNlcjpwYXNz"`, of container registries and package managers. */
export const encodedLogin: Detector = {
  kind: 'authorization',
  anchors: ['auth"', "auth'", 'auth=', 'auth:', 'auth\\', 'auth ', 'auth&'],
  reach: { before: 8, after: 2_304 },
  find: (text, at, _end, found) => {
    const start = valueAfter(text, at + 'auth'.length);
    if (start !== -1 && (startsWord(text, at) || text[at - 1] === '_')) findUserAndPassword(text, start, found);
  },
};
