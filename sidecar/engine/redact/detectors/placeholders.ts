// Recognises placeholders that documents, templates and masked logs have in place of a secret: `sk-xxxx`,
// `your-api-key`, `${TOKEN}`, `AKIAIOSFODNN7EXAMPLE`, `********`. They are not findings. The time is linear in the
// value.

/** Returns whether a value cannot be used to log in, because it only shows where a secret belongs or comes from. */
export const isPlaceholder = (value: string): boolean =>
  value.length === 0 ||
  (value.length <= valueLengthMax && (isReference(value) || isMasked(value) || saysSo(value) || isWords(value) || isPattern(value)));

/**
 * Returns whether a value next to a name for passwords is a placeholder. People choose passwords, so a mask or a
 * placeholder word within a password does not prove that the rest is a placeholder: `Zw3***Rauh+71`, `Example-71+Rauh`.
 */
export const isPasswordPlaceholder = (value: string): boolean =>
  isPlaceholder(value) &&
  (isReference(value) || isWords(value) || isPattern(value) || !((isMasked(value) || saysSo(value)) && isChosen(restOf(value))));

const maskRun = /[*•●█]{2,}|\.{3,}|…|x{3,}/gi;
const placeholderRun =
  /example|placeholder|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|with)|redacted|deadbeef|p[a@4][s$]{2}(?:w[o0]?r?d)?|[a-z]+/gi;
const restOf = (value: string): string =>
  value
    .replaceAll(maskRun, '')
    .replaceAll(placeholderRun, (word) =>
      placeholderWords.test(word) || /^p/i.test(word) || emptyWords.has(word.toLowerCase()) ? '' : word,
    );
const isChosen = (value: string): boolean =>
  value.length >= 6 && /\p{L}/u.test(value) && /\d/.test(value) && /[^\p{L}\d\s._-]/u.test(value);

// Placeholders are not longer than this, so longer values are not searched.
const valueLengthMax = 200;

// Whole references that a program replaces: variables of shells and templates, formats, entries of secret stores.
const references: readonly RegExp[] = [
  /^\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)$/,
  /^(?:\$env:|env[:.]|ENV[:.]|[a-z]+(?:\.meta)?\.env\.|secrets?\.|vars?\.|os\.environ|local\.|data\.)[\w.[\]'"-]*$/,
  /^%[A-Za-z_]\w*%$|^%\(\w+\)s$|^(?:%[sdvqr][:/@._-]?)+$|^%%?[A-Z_]{3,}%%?$/,
  /^\{\{?[^{}]*\}\}?$|^[$#@%]\{+[^{}]*\}+#?$|^\$\([^()]*\)$|^#\{[^{}]*\}#$|^<%.*%>$|^\$\{\{.*\}\}$/,
  /^<[^<>]*>$|^&lt;[^<>&]*&gt;$|^\[[^[\]]*\]$|^［[^］]*］$|^【[^】]*】$|^〈[^〉]*〉$|^＜[^＞]*＞$/,
  /^__[A-Za-z][A-Za-z0-9_]*__$|^@@?[A-Za-z]\w*@@?$|^@[A-Za-z_][\w.]*$|^:[a-z][a-z_]*(?::[a-z]+)*:?$/,
  /^(?:op|vault|secretsmanager|ssm|keyvault|gcpsm|awssm|doppler|bao|keychain|file|env|ref|ref\+[a-z0-9]+|gcp-sm|sops|secret):(?:\/\/|[\w-]+\/|[A-Z_]+$)/,
  /^arn:aws[\w-]*:/,
  /^&#?[a-zA-Z0-9]{2,6};$/,
  /^!(?:vault|secret|ref|env|sub|getatt)\b/i,
  /^(?:env|getenv|lookup|secret|vault|var)\([^()]*\)$/i,
];

const isReference = (value: string): boolean =>
  '$%{<[@#:&_！!［【〈＜'.includes(value.charAt(0)) || /^[a-zO]/i.test(value) ? references.some((one) => one.test(value)) : false;

/**
 * Returns whether the value is masked: `********`, `xxxx-xxxx`, `...`; or a key whose rest was removed: `sk-...`,
 * `ab12****`.
 */
const isMasked = (value: string): boolean =>
  /^[*•●∙·.…xX#_█▒?\-\s/,:]+$/.test(value) ||
  /\*{3}|•{3}|●{3}|█{2}|…$|\.{3}/.test(value) ||
  /x{5}|(?:^|[^a-z0-9])x{3,4}(?:[^a-z0-9]|$)/i.test(value);

// A real secret contains none of these words.
const placeholderWords =
  /example|placeholder|change[-_ ]?(?:me|this|it)\b|changeme|replace[-_ ]?(?:me|this|with)|redacted|insert[-_ ]|(?:^|[^a-z0-9])(?:your|dummy|fake|sample|todo|fixme|tbd|foobar)(?:[^a-z0-9]|$)|your(?:api|secret|token|password|key|access|auth|client|private)|deadbeef|[-_ ]here$|^<|geheim(?:es)?-?hier/i;
const saysSo = (value: string): boolean => placeholderWords.test(value);

const emptyWords = new Set(
  (
    'a an and any api app access admin-password auth bearer bot change client code credential credentials default demo-key db database deploy empty enter example ' +
    'fake false filtered file fill foo bar baz generate generated get given goes hash here hidden hidden id in insert invalid is it key keys login made masked me ' +
    'missing my name new nil no none not null of off ok old on or other optional pass passphrase password passwd phrase placeholder private protected provided ' +
    'pwd put real removed replace required same sample scrubbed secret secrets secure see set shared signing some string tbd test testing text the this to todo ' +
    'token tokens true undefined unknown unset unused use user username value whatever something anything value values variable webhook with your yours na yes dummy sensitive encrypted anonymous'
  ).split(' '),
);

/**
 * Returns whether the value consists only of words that could name any secret: `my-secret-token`, `API_KEY`, `none`.
 */
function isWords(value: string): boolean {
  if (value.length > 64 || !/^[A-Za-z][A-Za-z _./-]*$/.test(value)) return false;
  const words = value
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[ _./-]+/);
  return words.every((word) => word === '' || emptyWords.has(word));
}

// If at least this share of a value's letters and digits is in runs such as `abcd`, the value is not a key.
const patternShare = 0.6;

/** Returns whether the value is a simple pattern: `aaaa…`, `abcdef…`, `1234567890`, `a1b2c3d4`, `abcabcabc`. */
function isPattern(value: string): boolean {
  const plain = value.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
  if (plain.length < 4) return false;
  const share = plain.length * patternShare;
  return (
    inRuns(plain, 1, 4) >= share ||
    (plain.length >= 8 && inRuns(plain, 2, /\D/.test(plain) ? 6 : 8) >= share) ||
    longestRun(plain) >= Math.max(8, plain.length / 3) ||
    isRepeated(plain)
  );
}

/**
 * Returns how many characters are in runs of at least `lengthMin` characters. In a run, each character is compared with
 * the character `stride` positions before it. The step between these two must be +1, -1 or 0, and must stay the same in
 * the whole run.
 */
function inRuns(text: string, stride: 1 | 2, lengthMin: number): number {
  let covered = 0;
  let start = 0;
  // Letters and digits may alternate, and the letters may count in another way than the digits. Therefore odd and even
  // positions have separate steps.
  const steps: (number | null)[] = [null, null];
  for (let at = stride; at <= text.length; at++) {
    const here = at < text.length ? stepFrom(text.charCodeAt(at - stride), text.charCodeAt(at)) : null;
    const lane = stride === 1 ? 0 : at % 2;
    const step = steps[lane] ?? null;
    if (here !== null && (step === null || here === step)) {
      steps[lane] = here;
      continue;
    }
    if (at - start >= lengthMin) covered += at - start;
    start = here === null ? at - stride + 1 : at - stride;
    steps.fill(null);
    steps[lane] = here;
  }
  return covered;
}

/**
 * Returns the step between two characters: +1, -1 or 0. These steps also count as +1: from `9` to `0` or `a`, from `f`
 * to `0`, and from `z` to `0` or `a`. Null: there is no such step.
 */
function stepFrom(before: number, after: number): number | null {
  const difference = after - before;
  if (difference >= -1 && difference <= 1) return difference;
  const pair = String.fromCharCode(before, after);
  if (pair === '90' || pair === '9a' || pair === 'f0' || pair === 'za' || pair === 'z0') return 1;
  return null;
}

function longestRun(text: string): number {
  let longest = 0;
  for (let at = 0, start = 0; at < text.length; at++) {
    if (text[at] !== text[start]) start = at;
    longest = Math.max(longest, at + 1 - start);
  }
  return longest;
}

const periodMax = 8;

/** Returns whether the text consists only of the same few characters, repeated at least three times. */
function isRepeated(text: string): boolean {
  for (let period = 1; period <= periodMax && period * 3 <= text.length; period++) {
    let at = period;
    while (at < text.length && text[at] === text[at - period]) at += 1;
    if (at === text.length) return true;
  }
  return false;
}
