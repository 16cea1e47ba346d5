// Finds the base64 of a private key: where it begins and ends in a text whose lines may be prefixed, quoted, escaped or
// joined to one line.

import type { Span } from '../../marks.ts';
import { bitsPerCharacter } from '../entropy.ts';
import { endAt } from './match.ts';

/** Longer than any key: an RSA key with 16384 bits has 12 kB. */
export const keyLengthMax = 32_768;
// An Ed25519 key in PKCS#8 has 64 characters. Fewer characters are the beginning of a longer key, and reveal nothing.
const keyLengthMin = 40;

const lineBreak = /\r?\n|\r|(?:\\{1,4}r)?\\{1,4}n|&#1[03];|&#x[AaDd];|%0[AaDd]|<br ?\/?>/g;
const header = /(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset|MessageID|Subject)\s*:[^\r\n\\]{0,200}/g;
const headersMax = 1_024;
const longRun = /[A-Za-z0-9+/_-]{16,}/g;
const lastLine = /(?<![\\A-Za-z0-9])[A-Za-z0-9+/_-]*[A-Za-z0-9/]={0,2}|=[A-Za-z0-9+/]{4}/g;
const padded = /[A-Za-z0-9+/_-]+={1,2}/g;

/**
 * Returns the key between its first line, which ends at `from`, and its last line, which begins at `to`. Null: there is
 * no key.
 */
export function enclosedKey(text: string, from: number, to: number): Span | null {
  const after = from + lastEnd(text.slice(from, Math.min(to, from + headersMax)), header);
  const region = text.slice(after, to);
  const runs = [...region.matchAll(longRun)];
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined || !isKeyLike(runs.map(([run]) => run).join(''))) return null;
  const longEnd = last.index + last[0].length;
  // The text after the last line break belongs to the closing line, and is not part of the key.
  const tail = region.slice(longEnd);
  const breaks = [...tail.matchAll(lineBreak)];
  const ending = tail.slice(0, breaks.at(-1)?.index);
  const short = lastEnd(ending, padded) || lastEnd(ending, lastLine);
  return { start: after + withoutEscape(region, first.index), end: after + longEnd + Math.max(short, paddingAt(tail)) };
}

/**
 * Returns where the key begins. The `n` of `\\n`, the `0A` of `%0A`, and the sign of a diff before the key are not part
 * of it.
 */
const withoutEscape = (text: string, at: number): number => {
  if ('+-'.includes(text.charAt(at)) && /\s|^$/.test(text.charAt(at - 1))) return at + 1;
  if (text[at - 1] === '\\' && 'nrt'.includes(text.charAt(at))) return at + 1;
  return text[at - 1] === '%' ? at + 2 : at;
};

const lastEnd = (text: string, pattern: RegExp): number =>
  [...text.matchAll(pattern)].reduce((_, { index, 0: { length } }) => index + length, 0);
const paddingAt = (text: string): number => (text.startsWith('==') ? 2 : text.startsWith('=') ? 1 : 0);

/**
 * Returns whether the text may be a key, and is neither a path nor words. It must have capitals, small letters and
 * digits, or be all hex.
 */
function isKeyLike(body: string): boolean {
  const head = body.slice(0, 512);
  return (
    body.length >= keyLengthMin &&
    bitsPerCharacter(head) >= 3 &&
    /\d/.test(head) &&
    ((/[a-z]/.test(head) && /[A-Z]/.test(head)) || /^[\da-fA-F]+$/.test(head))
  );
}

const run = /[A-Za-z0-9+/_-]{16,8192}={0,2}/y;
const lastRun = /[A-Za-z0-9+/_-]{1,15}={0,2}(?![A-Za-z0-9+/_-])/y;
const between = /(?:[\s>|#*"'`,+;]|\\{1,4}[nr"]|&#1[03];|%0[AaDd]|<br ?\/?>){1,48}/y;

/** Returns a key that begins at `from` and has no closing line. Null: there is no key. */
export function openKey(text: string, from: number, limit: number): Span | null {
  const start = withoutEscape(text, from);
  let end = endAt(run, text, start);
  if (end === -1) return null;
  for (let at = end; at < limit && text[end - 1] !== '='; ) {
    const next = endAt(between, text, at);
    if (next === -1 || !/[\r\n]|\\[nr]|%0|&#1|<br/i.test(text.slice(at, next))) break;
    at = endAt(run, text, next);
    if (at !== -1) end = at;
    else {
      const short = endAt(lastRun, text, next);
      if (short !== -1 && /[\d+/=]|[a-z][A-Z]/.test(text.slice(next, short))) end = short;
      break;
    }
  }
  end = Math.min(end, limit);
  return isKeyLike(text.slice(start, end).replaceAll(/[^A-Za-z0-9+/]/g, '')) ? { start, end } : null;
}
