// Finds secrets among the parameters of URLs and forms: keys, tokens, passwords and signatures. The URL may also be
// encoded in another URL. Pages, cursors and languages are not found.
import { type Detector, foundWhole } from '../../detector.ts';
import { isPlaceholder } from '../placeholders.ts';
import { endAt, looksDrawn, runEnd } from './match.ts';

const nameMax = 48;
const valueMax = 2_048;
// In a URL that is the value of a parameter of another URL, `%26` ends the value.
const value = /(?:[A-Za-z0-9._~+/:@!$*=,-]|%(?!26|23|22|20|3C|3E)[0-9A-F]{2}){1,2048}/iy;
// Matches the rest of a long value, so that the value is found as a whole.
const valueRest = /(?:[A-Za-z0-9._~+/:@!$*=,-]|%(?!26|23|22|20|3C|3E)[0-9A-F]{2})*/iy;
const before = /(?:[?&#]|%3F|%26|%23|\\u0026|&amp;)([A-Za-z0-9_.[\]-]{0,48})$/i;

// The end of a name shows that it is a secret, unless its beginning shows another purpose: `access_token`, and not
// `page_token`.
const strong =
  /(?:^|[_.-])(?:sig|signature|x-(?:amz|goog|oss|cos)-signature|password|passwd|passphrase|pwd|(?:access|auth|refresh|id|session|security|user|api|bearer|private|secret|invite|reset|login|sas|bot|app|client)[_.-]?token|(?:api|access|auth|secret|private|subscription|license|sas|account|app|shared|client|consumer|master|admin|signing|encryption|webhook|service|user|function|stream|ocp-apim-subscription)[_.-]?key|secret|client[_.-]?secret|app[_.-]?secret|assertion)$/i;
const weak = /(?:^|[_.-])(?:key|token|code|auth|hmac|hash_?key|pass|pw|sas|sid|jwt|ticket|samlresponse|s|t|k)$|^appid$/i;
const harmless =
  /(?:page|next|prev|cont|continuation|cursor|sync|start|end|marker|resume|skip|sort|partition|row|primary|foreign|order|group|object|cache|idempotency|public|pub|site)[_.-]?(?:key|token|code)$|^(?:country|lang|zip|area|post|promo|coupon|currency|error|status|product|item|region|response)[_.-]?code$/i;

const ends = [
  'sig',
  'signature',
  'password',
  'passwd',
  'passphrase',
  'pwd',
  'token',
  'key',
  'secret',
  'assertion',
  'code',
  'auth',
  'hmac',
  'pass',
  'ticket',
  'jwt',
  'sas',
  'appid',
];

const reach = { before: nameMax + 8, after: valueMax + 16 };

export const urlParameter: Detector = {
  kind: 'url_credentials',
  anchors: ends.flatMap((end) => [`${end}=`, `${end}%3d`]),
  reach,
  find: (text, at, end, found) => {
    const nameEnd = text[end - 1] === '=' ? end - 1 : end - 3;
    const start = before.exec(text.slice(Math.max(0, at - nameMax - 8), at));
    if (start === null) return;
    const name = (start[1] ?? '') + text.slice(at, nameEnd);
    const isStrong = strong.test(name);
    if (harmless.test(name) || (name === 'appid' && endAt(/[0-9a-f]{32}(?![\w-])/y, text, end) === -1) || !(isStrong || weak.test(name)))
      return;
    const stop = withoutPoint(text, end, endAt(value, text, end));
    if (stop <= end || !isSecret(text.slice(end, stop), isStrong)) return;
    if (stop - end < valueMax) found(end, stop);
    else foundWhole(found, end, withoutPoint(text, end, runEnd(text, stop, valueRest)), reach);
  },
};

/** Returns whether the value is a secret. After a weak name, the value is a secret only if a machine generated it. */
const isSecret = (of: string, isStrong: boolean): boolean =>
  isStrong
    ? of.length >= 4 && !isPlaceholder(of) && !/^\$|^%7B|^[A-Z]+(?:_[A-Z]+)+$/.test(of)
    : looksDrawn(of, 16) && /\d/.test(of) && !of.startsWith('ssh-');

/** Removes the punctuation after a URL at the end of a sentence. */
function withoutPoint(text: string, start: number, end: number): number {
  let stop = end;
  while (stop > start && '.,:!*'.includes(text.charAt(stop - 1))) stop -= 1;
  return stop;
}
