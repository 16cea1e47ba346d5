// Finds e-mail addresses: plain, percent-encoded, escaped, as entities, and as `name [at] host [dot] org`. Excludes
// other text with an `@`: packages with versions, hosts after an ssh user, and images for high-resolution screens.
// Excludes addresses of examples too.
import { wordStart } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { isPersonal } from './email-examples.ts';

// RFC 5321, 4.5.3.1: the maximum lengths of the two parts.
const localLengthMax = 64;
const hostLengthMax = 255;

const spelledAnchors = ['[at]', '(at)', '{at}', ' at '];
const spelled = new Set(spelledAnchors);

export const email: Detector = {
  kind: 'email',
  anchors: ['@', '＠', '%40', '%2540', '\\u0040', '\\x40', '&#64;', '&#x40;', '&commat;', ...spelledAnchors],
  reach: { before: 216, after: 330 },
  find: (text, at, end, found) => {
    if (spelled.has(text.slice(at, end).toLowerCase())) findSpelled(text, at, end, found);
    else findWritten(text, at, end, found);
  },
};

type EmailReporter = Parameters<Detector['find']>[3];

function findWritten(text: string, at: number, end: number, found: EmailReporter): void {
  const localStart = localBefore(text, at);
  if (localStart === at) return;
  const stop = hostAfter(text, end);
  if (stop === null) return;
  const start = withoutQuote(text, localStart, at, stop);
  if (start === at || !isPersonal(text.slice(start, at), text.slice(end, stop))) return;
  if (isAfterKey(text, start) || (end - at === 1 && isUserOfHost(text, start, stop))) return;
  found(start, stop);
}

const isPlain = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 46 ||
  code === 95 ||
  code === 43 ||
  code === 45;

const letter = /\p{L}|\p{M}|\p{N}/u;
// Scripts without blanks between words: an address may begin directly after their letters.
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const encodedInLocal = /^%2[bBeEdD]$|^%5[fF]$/;

/** Returns the start of the local part that ends before `at`, or `at` if there is no local part. */
function localBefore(text: string, at: number): number {
  const last = text.charCodeAt(at - 1);
  if (last === 46 || !(isPlain(last) || last > 127)) return at;
  const isNative = last > 127 && unspaced.test(text.charAt(at - 1));
  const floor = Math.max(0, at - localLengthMax);
  let start = at;
  while (start > floor) {
    const code = text.charCodeAt(start - 1);
    if (isPlain(code) || code === 39) {
      if (code === 46 && text[start] === '.') break;
    } else if (code > 127) {
      const character = text.charAt(start - 1);
      if (!letter.test(character) || unspaced.test(character) !== isNative) break;
    } else break;
    start -= 1;
  }
  if (text[start - 1] === '%' && encodedInLocal.test(text.slice(start - 1, start + 2)) && start - 1 > floor) {
    const more = localBefore(text, start - 1);
    if (more < start - 1) return more;
  }
  // An escape may directly precede the address: `\nmail@…`, `%3Dmail%40…`.
  return trimmed(text, wordStart(text, start, at), at);
}

function trimmed(text: string, from: number, at: number): number {
  let start = from;
  while (start < at && ".-+'".includes(text.charAt(start))) start += 1;
  return start;
}

/**
 * Returns the start of the address. A quote or a sign of emphasis before the address is not part of it: `f'mail@host'`,
 * `_mail@host_`.
 */
function withoutQuote(text: string, start: number, at: number, stop: number): number {
  if (text[stop] === "'") return Math.max(start, text.lastIndexOf("'", at - 1) + 1);
  return text[stop] === '_' && text[start] === '_' ? start + 1 : start;
}

// Host names: labels as in RFC 1035, but in any script. The last label is not a number.
const host = /(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?(?:\.|%2E)){1,8}(?:xn--[a-z0-9-]{2,59}|[\p{L}\p{M}]{2,24})/iuy;
const asciiHost = /(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.|%2E)){1,8}(?:xn--[a-z0-9-]{2,59}|[a-z]{2,24})/iy;

/** Returns the end of the host that begins at `from`, or null if there is no host. */
function hostAfter(text: string, from: number): number | null {
  const stop = matchEnd(asciiHost, text, from);
  const next = stop === null ? 0 : text.charCodeAt(stop);
  // `mail@host.kr로`: a grammatical particle (here Korean) is not part of the host.
  const wide =
    stop !== null && (!(next > 127) || unspaced.test(text.charAt(stop)) || !letter.test(text.charAt(stop)))
      ? stop
      : matchEnd(host, text, from);
  if (wide === null || wide - from > hostLengthMax || /[A-Za-z0-9]/.test(text.charAt(wide))) return null;
  return wide;
}

function matchEnd(pattern: RegExp, text: string, from: number): number | null {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : null;
}

// The length of a key is its first four bytes, so each key begins with `AAAA`. One of 16,384 bits has 2,800 characters.
const publicKey = /(?<![A-Za-z0-9+/])AAAA[A-Za-z0-9+/]{64,}={0,2} $/;
const publicKeyLengthMax = 3_000;

/** Returns whether the address is the comment of an OpenSSH public key. The comment is as public as the key. */
const isAfterKey = (text: string, start: number): boolean =>
  text[start - 1] === ' ' &&
  /[A-Za-z0-9+/]{40}={0,2} $/.test(text.slice(Math.max(0, start - 48), start)) &&
  publicKey.test(text.slice(Math.max(0, start - publicKeyLengthMax), start));

const remoteNames = ['ssh', 'scp', 'sftp', 'rsync', 'mosh'];
const remoteCommand = /\b(?:ssh|scp|sftp|rsync|mosh|ssh-copy-id)\b[^\n|;&]{0,80}$/;

/**
 * Returns whether the text is not an e-mail address, but a user that logs in to a host: `ssh ops@host.org`,
 * `git@host.org:path`, `https://user:password@host.org`.
 */
function isUserOfHost(text: string, start: number, stop: number): boolean {
  if (/^:(?:[/~.]|[\w.-]{1,64}[/.])/.test(text.slice(stop, stop + 70))) return true;
  const before = text.slice(Math.max(0, start - 120), start);
  // A SIP address: a telephone number at an exchange.
  if (/sips?:\+?$/i.test(before) && /^\d+@/.test(text.slice(start, start + 20))) return true;
  const scheme = before.lastIndexOf('://');
  if (scheme !== -1 && !/[\s/"'<>@]/.test(before.slice(scheme + 3))) return true;
  return remoteNames.some((name) => before.includes(name)) && remoteCommand.test(before);
}

const spelledHost = /(?:[a-z0-9](?:[a-z0-9-]{0,40}[a-z0-9])?(?:\.| ?[[({]dot[\])}] ?| dot )){1,5}[a-z]{2,12}/iy;
const frequentEnd =
  /[. \])}](?:com|org|net|io|dev|app|co|ai|de|fr|es|it|nl|uk|at|ch|eu|pl|br|ru|in|jp|cn|us|ca|au|edu|gov|info|me|se|no|fi|dk)$/i;

const spelledDot = ' dot ';

/**
 * Returns the start of a local part like `first dot last`. `last`: the start of its last part, which has already been
 * found.
 */
function spelledLocal(text: string, last: number): number {
  let start = last;
  for (let count = 0; count < 2; count++) {
    const end = start - spelledDot.length;
    const more = end > 0 && text.slice(end, start).toLowerCase() === spelledDot ? localBefore(text, end) : end;
    if (more >= end || text[end] !== ' ') break;
    start = more;
  }
  return start;
}

/**
 * Finds `name [at] host [dot] org`. Without brackets, the dots must be written as words too, and the domain must have a
 * frequent ending.
 */
function findSpelled(text: string, at: number, end: number, found: EmailReporter): void {
  const gap = text[at - 1] === ' ' && text[end] === ' ' ? 1 : 0;
  const last = localBefore(text, at - gap);
  if (last === at - gap) return;
  const start = spelledLocal(text, last);
  const stop = matchEnd(spelledHost, text, end + gap);
  if (stop === null || /[A-Za-z0-9(]/.test(text.charAt(stop))) return;
  const name = text.slice(end + gap, stop);
  const isBare = text[at] === ' ';
  if (isBare ? !/^\S+ dot \S+/i.test(name) || !frequentEnd.test(name) : !frequentEnd.test(name) && !/[([{]dot/i.test(name)) return;
  if (isPersonal(text.slice(start, at - gap).replaceAll(/ dot /gi, '.'), name.replaceAll(/ ?[[({]dot[\])}] ?| dot /gi, '.')))
    found(start, stop);
}
