// Finds private keys that look like a digest, so that only the name next to them identifies them: keys of WireGuard and
// of wallets, and members of a JWK.
import { isWordCode } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { endAt, looksDrawn } from './match.ts';

// The text between the name and the key, in a file, in code or in a sentence.
const between = /[^A-Za-z0-9+\n]{0,12}(?:(?:is|ist|est|es|e|jest)[^A-Za-z0-9+\n]{1,8})?/y;
// 32 bytes in base64 or hex; 64 bytes in base64 or base58; for Bitcoin, the wallet import format.
const key =
  /(?:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=|(?:0x)?[0-9A-Fa-f]{64}|[A-Za-z0-9+/]{85}[AQgw]==|[1-9A-HJ-NP-Za-km-z]{87,88}|[59KLc][1-9A-HJ-NP-Za-km-z]{50,51})(?![A-Za-z0-9+/=_-])/y;

/** Finds a private key next to a word for it. */
export const namedKey: Detector = {
  kind: 'private_key',
  anchors: [
    ...['private', 'preshared', 'pre-shared', 'secret'].flatMap((word) => [`${word}key`, `${word}_key`, `${word}-key`, `${word} key`]),
    ...'private_key_base64,private key hex,privkey,私钥,私鑰,秘密鍵,개인키,개인 키,privater schlüssel,clé privée,clave privada'.split(','),
    ...'chave privada,chiave privata,klucz prywatny,приватный ключ,закрытый ключ'.split(','),
  ],
  reach: { before: 0, after: 192 },
  find: (text, _at, end, found) => {
    if (isWordCode(text.charCodeAt(end)) && isWordCode(text.charCodeAt(end - 1))) return;
    const start = endAt(between, text, end);
    const stop = endAt(key, text, start);
    if (stop !== -1 && looksDrawn(text.slice(start, stop), 32)) found(start, stop);
  },
};

// The secret members of RFC 7518: `d` of EC and OKP, `k` of oct, and the RSA members other than `n` and `e`.
const members = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'];
const base64Length = (bytes: number): number => Math.ceil((bytes * 4) / 3);
/** The possible lengths of the values. Members of RSA can lack one or two bytes, because leading zeros are left out. */
const lengths = new Set([
  ...[32, 48, 56, 57, 66].map(base64Length),
  ...[64, 96, 128, 192, 256, 384, 512].flatMap((bytes) => [bytes, bytes - 1, bytes - 2].map(base64Length)),
]);
const member = /[A-Za-z0-9_-]{43,683}(?![A-Za-z0-9_-])/y;
const sign = /(?:\\{0,7}["']|&quot;)?\s{0,4}[:=]>?\s{0,4}(?:\\{0,7}["']|&quot;)?/y;
// The maximum distance to other members of the same object. `objectBefore`: as far back as a stream remembers.
// `objectAfter`: the length of two long members.
const objectBefore = 480;
const objectAfter = 1_536;

/** Finds secret members of a JSON Web Key in a text, with quotes in any escaping. */
export const jwkMember: Detector = {
  kind: 'private_key',
  anchors: members.flatMap((name) => [`"${name}"`, `'${name}'`, `"${name}\\`, `&quot;${name}&quot;`]),
  reach: { before: objectBefore, after: objectAfter + 768 },
  find: (text, at, end, found) => {
    const start = endAt(sign, text, end - (text[end - 1] === '\\' ? 1 : 0));
    const stop = start === -1 ? -1 : memberEnd(text, start);
    if (stop !== -1 && isInKey(text, at, stop)) found(start, stop);
  },
};

/** Finds secret members of a JSON Web Key among the values of a payload, which are read with their keys: `d: …`. */
export const jwkValue: Detector = {
  kind: 'private_key',
  anchors: members.map((name) => `${name}: `),
  // The text of a stream never consists of such a value alone, so a stream needs to hold back nothing for this
  // detector.
  reach: { before: 0, after: 0 },
  find: (text, at, end, found) => {
    if (at === 0 && memberEnd(text, end) === text.length) found(end, text.length);
  },
};

function memberEnd(text: string, start: number): number {
  const stop = endAt(member, text, start);
  return stop !== -1 && lengths.has(stop - start) && looksDrawn(text.slice(start, stop), 43) ? stop : -1;
}

const otherMember = /kty\W{1,16}(?:EC|RSA|OKP|oct)\b|[^A-Za-z0-9_-](?:crv|qi|dp|dq)\W{3,24}[A-Za-z0-9_-]/;
const isInKey = (text: string, at: number, end: number): boolean =>
  otherMember.test(text.slice(Math.max(0, at - objectBefore), at)) || otherMember.test(text.slice(end, end + objectAfter));
