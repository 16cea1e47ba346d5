// Finds private keys without an opening line: base64 of DER or of PEM, recognised by how such a key begins, and keys
// with a known prefix.
import { startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { keyLengthMax, openKey } from './key-body.ts';
import { decodedText, endAt } from './match.ts';

interface Beginning {
  /** A part of a key's beginning, in base64. It starts `before` characters after the beginning of the key. */
  readonly anchor: string;
  readonly before: number;
  readonly form: RegExp;
}

// X.690 and the RFCs of each form: a SEQUENCE with its length, a version, then the type of the key.
const beginnings: readonly Beginning[] = [
  // PKCS#1, version 0 and a modulus (RFC 8017). DSA is similar.
  ...['IBAAKC', 'IBAAKB', 'IBAAJB'].map((anchor) => ({ anchor, before: 6, form: /MII[A-Za-z0-9+/]{2}[AQgw]IBAA[KJ][BC]/y })),
  // PKCS#8 with rsaEncryption (RFC 5208).
  { anchor: 'IBADANBgkqhkiG9w0B', before: 6, form: /MII[A-Za-z0-9+/]{2}[AQgw]IBADANBgkqhkiG9w0B/y },
  // PKCS#8 with id-ecPublicKey, with and without the public key in it.
  { anchor: 'AgEAMBMGByqGSM49', before: 4, form: /MI[GH][A-Za-z0-9+/]AgEAMBMGByqGSM49/y },
  { anchor: 'AgEAMBAGByqGSM49', before: 4, form: /MI[GH][A-Za-z0-9+/]AgEAMBAGByqGSM49/y },
  { anchor: 'CAQAwEwYHKoZIzj0', before: 3, form: /M[A-Za-z0-9+/]{2}CAQAwEwYHKoZIzj0/y },
  // Ed25519, X25519, Ed448, X448 (RFC 8410).
  { anchor: 'CAQAwBQYDK2V', before: 3, form: /M[A-Za-z0-9+/]{2}CAQAwBQYDK2V/y },
  { anchor: 'CAQEwBQYDK2V', before: 3, form: /M[A-Za-z0-9+/]{2}CAQEwBQYDK2V/y },
  // SEC 1 (RFC 5915): P-256 and secp256k1, P-384, P-521.
  { anchor: 'CAQEEI', before: 3, form: /M(?:Hc|HQ|DE|FM)CAQEEI/y },
  { anchor: 'MIGkAgEBBDA', before: 0, form: /MIGkAgEBBDA/y },
  { anchor: 'MIHcAgEBBEI', before: 0, form: /MIHcAgEBBEI/y },
  // Encrypted PKCS#8 with PBES2 (RFC 8018).
  { anchor: 'BgkqhkiG9w0BBQ0w', before: 8, form: /MII[A-Za-z0-9+/]{5}BgkqhkiG9w0BBQ0w/y },
  { anchor: 'GCSqGSIb3DQEFDTB', before: 7, form: /MI[GH][A-Za-z0-9+/]{4}GCSqGSIb3DQEFDTB/y },
  // PKCS#12, version 3.
  { anchor: 'IBAzCC', before: 6, form: /MII[A-Za-z0-9+/]{2}[AQgw]IBAzCC/y },
  // `openssh-key-v1`.
  { anchor: 'b3BlbnNzaC1rZXktdjE', before: 0, form: /b3BlbnNzaC1rZXktdjE/y },
  // minisign: `Ed`, `Sc`, `B2`.
  { anchor: 'RWRTY0Iy', before: 0, form: /RWRTY0Iy(?=[A-Za-z0-9+/]{204})/y },
];

const byAnchor = new Map(beginnings.map((beginning) => [beginning.anchor.toLowerCase(), beginning]));
// `-----BEGIN `, in base64.
const encodedPem = 'LS0tLS1CRUdJTi';

/** Finds private keys in base64: of DER or OpenSSH, or of a whole PEM file. */
export const encodedKey: Detector = {
  kind: 'private_key',
  anchors: [...byAnchor.keys(), encodedPem.toLowerCase()],
  reach: { before: 16, after: keyLengthMax },
  find: (text, at, end, found) => {
    const beginning = byAnchor.get(text.slice(at, end).toLowerCase());
    const start = at - (beginning?.before ?? 0);
    if (start < 0 || !startsWord(text, start) || text[start - 1] === '+') return;
    if (beginning === undefined ? !saysPrivate(text, at) : endAt(beginning.form, text, start) === -1) return;
    const key = openKey(text, start, start + keyLengthMax);
    if (key !== null) found(key.start, key.end);
  },
};

const saysPrivate = (text: string, at: number): boolean =>
  text.startsWith(encodedPem, at) && /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(decodedText(text.slice(at, at + 64)) ?? '');

// Bech32 (BIP 173): age and its plug-ins, Nostr.
const bech32 = '[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]';
const prefixed = new RegExp(`(?:AGE-SECRET-KEY-1${bech32}{58}|AGE-SECRET-KEY-PQ-1${bech32}{50,200}|NSEC1${bech32}{58})(?![A-Z0-9])`, 'iy');

/** Finds private keys with a known prefix: those of age and Nostr. */
export const prefixedKey: Detector = {
  kind: 'private_key',
  anchors: ['age-secret-key-', 'nsec1'],
  reach: { before: 8, after: 256 },
  find: (text, at, _end, found) => {
    const stop = startsWord(text, at) ? endAt(prefixed, text, at) : -1;
    if (stop !== -1) found(at, stop);
  },
};
