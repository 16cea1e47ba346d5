// Certificates that a test makes: authorities, and the certificates that they sign, valid or expired.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import {
  bits,
  integer,
  objectId,
  octets,
  sequence,
  set,
  tagged,
  taggedString,
  time,
  utf8,
  yes,
} from '../../control-plane/certificates/x509/der.ts';

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority extends Pair {
  readonly name: string;
}

interface Life {
  readonly from?: Date;
  readonly until?: Date;
}

interface CertificateOptions extends Life {
  readonly names?: readonly string[];
  /** The key of the certificate; absent: a new key. */
  readonly publicKey?: KeyObject;
}

const hourMs = 3_600_000;

export function makeAuthority(name: string, life: Life = {}): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [extension('2.5.29.19', sequence(yes), true), extension('2.5.29.15', bits(Buffer.from([0x06]), 1), true)];
  const certificate = certify({ subject: name, issuer: name, publicKey, by: privateKey, extensions, ...life });
  return { name, certificate, key: pemOf(privateKey) };
}

export function issue(authority: Authority, { names = [], publicKey, ...life }: CertificateOptions = {}): Pair {
  const made = publicKey === undefined ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : null;
  const key = publicKey ?? made?.publicKey;
  if (key === undefined) throw new Error('there is a key by now');
  const alternatives = names.map((name) =>
    isIP(name) === 4 ? taggedString(7, Buffer.from(name.split('.').map(Number))) : taggedString(2, Buffer.from(name)),
  );
  const certificate = certify({
    subject: 'of a test',
    issuer: authority.name,
    publicKey: key,
    by: createPrivateKey(authority.key),
    extensions: names.length === 0 ? [] : [extension('2.5.29.17', sequence(...alternatives))],
    ...life,
  });
  return { certificate, key: made === null ? '' : pemOf(made.privateKey) };
}

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

interface CertificateContent extends Life {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly by: KeyObject;
  readonly extensions: readonly Buffer[];
}

function certify({ subject, issuer, publicKey, by, extensions, from, until }: CertificateContent): string {
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2'));
  const serial = randomBytes(8);
  serial[0] = 1;
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const ids = [
    extension('2.5.29.14', octets(keyId(spki))),
    extension('2.5.29.35', sequence(taggedString(0, keyId(createPublicKey(by).export({ type: 'spki', format: 'der' }))))),
  ];
  const signed = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    nameOf(issuer),
    sequence(time(from ?? new Date(Date.now() - hourMs)), time(until ?? new Date(Date.now() + hourMs))),
    nameOf(subject),
    spki,
    tagged(3, sequence(...extensions, ...ids)),
  );
  const der = sequence(signed, algorithm, bits(sign('sha256', signed, { key: by, dsaEncoding: 'der' })));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const keyId = (spki: Buffer): Buffer => createHash('sha1').update(spki).digest();
const nameOf = (name: string): Buffer => sequence(set(sequence(objectId('2.5.4.3'), utf8(name))));
const extension = (id: string, value: Buffer, critical = false): Buffer =>
  sequence(objectId(id), ...(critical ? [yes] : []), octets(value));
