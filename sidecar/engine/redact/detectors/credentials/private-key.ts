// Finds private keys in PEM and similar forms (PKCS#1, PKCS#8, SEC 1, OpenSSH, PGP, SSH2, static keys of OpenVPN), and
// keys of PuTTY. Public keys and certificates are not found.
import type { Detector, MatchReporter } from '../../detector.ts';
import { enclosedKey, keyLengthMax, openKey } from './key-body.ts';
import { endAt } from './match.ts';

// A plain blank, and how forms and URLs encode it.
const blanks = [' ', '+', '%20'];
const blank = '(?: |\\+|%20)';
const beginning = new RegExp(`-{4,5}${blank}?BEGIN${blank}(?:[A-Z0-9]{1,12}${blank}){0,4}$`, 'i');
const beginningMax = 72;
const dashes = /-{4,5}/y;
// PEM has five dashes. In a diff, a removed line has one more.
const endLine = /-{4,6}(?: |\+|%20)?END(?: |\+|%20)/iy;
const puttyLines = /Private-Lines: ?\d{1,4}\s{0,2}(?:\\{1,4}[rn]){0,2}/iy;
// The maximum distance from the first line to the key.
const untilKeyMax = 512;

export const privateKey: Detector = {
  kind: 'private_key',
  anchors: [
    ...blanks.flatMap((by) => ['key-', `key${by}-`, `key${by}block-`].map((end) => `private${by}${end}`)),
    'static key v1-',
    'private-lines:',
  ],
  reach: { before: beginningMax, after: keyLengthMax },
  find: (text, at, end, found) => (text[end - 1] === ':' ? findPutty(text, at, end, found) : findPem(text, at, end, found)),
};

function findPem(text: string, at: number, end: number, found: MatchReporter): void {
  const from = endAt(dashes, text, end - 1);
  if (from === -1 || !beginning.test(text.slice(Math.max(0, at - beginningMax), at))) return;
  const limit = at + keyLengthMax;
  const line = text.indexOf('----', from);
  const next = line === -1 ? text.length : line;
  if (next <= limit && endAt(endLine, text, next) !== -1) {
    const key = enclosedKey(text, from, next);
    if (key !== null) found(key.start, key.end);
    return;
  }
  // The key is cut off, or too long. The part that exists is found.
  const start = text.slice(from, Math.min(next, from + untilKeyMax)).search(/[A-Za-z0-9+/]{40}/);
  const key = start === -1 ? null : openKey(text, from + start, Math.min(next, limit));
  if (key !== null) found(key.start, key.end);
}

function findPutty(text: string, at: number, end: number, found: MatchReporter): void {
  const from = endAt(puttyLines, text, at);
  if (from < end) return;
  const limit = Math.min(text.length, at + keyLengthMax);
  const next = text.slice(from, limit).search(/Private-(?:MAC|Hash|Lines)/i);
  const key = enclosedKey(text, from, next === -1 ? limit : from + next);
  if (key !== null) found(key.start, key.end);
}
