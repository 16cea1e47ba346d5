// Makes the control plane's own certificates: an authority, and the servers and clients that it signs. ECDSA on P-256,
// in the form of RFC 5280. Node makes keys and signatures and reads certificates, but cannot write them.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { bits, integer, objectId, octets, sequence, set, tagged, taggedString, time, utf8, yes } from './der.ts';
import { ipOctets } from './ip-octets.ts';

/** Both fields are PEM. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export interface Validity {
  readonly from: Date;
  readonly until: Date;
}

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));

export function makeAuthority(name: string, validity: Validity): Pair {
  const own = makeKey();
  const id = keyId(own.spki);
  const extensions = [
    extension('2.5.29.19', sequence(yes, integer(Buffer.from([0]))), true),
    // Key usage: keyCertSign and cRLSign.
    extension('2.5.29.15', bits(Buffer.from([0x06]), 1), true),
    extension('2.5.29.14', octets(id)),
  ];
  return { key: own.pem, certificate: certify({ subject: name, issuer: name, validity, spki: own.spki, extensions, by: own.key }) };
}

interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly validity: Validity;
}

/** Makes a certificate for a TLS server with these names. */
export function makeServer(authority: Pair, { dnsNames, ipAddresses = [], validity }: ServerNames): Pair {
  const { pem, spki } = makeKey();
  const names = [
    ...dnsNames.map((name) => taggedString(2, Buffer.from(name, 'ascii'))),
    ...ipAddresses.map((address) => taggedString(7, ipOctets(address))),
  ];
  const [subject = ''] = [...dnsNames, ...ipAddresses];
  return { key: pem, certificate: issue(authority, { subject, spki, use: '1.3.6.1.5.5.7.3.1', names, validity }) };
}

interface Client {
  /** Only the client has the private key. */
  readonly publicKey: KeyObject;
  /** The identity of the client. */
  readonly uri: string;
  readonly validity: Validity;
}

/** Makes a certificate for a TLS client, as PEM. */
export function makeClient(authority: Pair, { publicKey, uri, validity }: Client): string {
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const names = [taggedString(6, Buffer.from(uri, 'ascii'))];
  return issue(authority, { subject: 'Tollgate client', spki, use: '1.3.6.1.5.5.7.3.2', names, validity });
}

interface Leaf {
  readonly subject: string;
  readonly spki: Buffer;
  /** The object identifier of the extended key usage. */
  readonly use: string;
  /** Subject alternative names. */
  readonly names: readonly Buffer[];
  readonly validity: Validity;
}

function issue(authority: Pair, { subject, spki, use, names, validity }: Leaf): string {
  const issuerSpki = createPublicKey(authority.key).export({ type: 'spki', format: 'der' });
  const extensions = [
    extension('2.5.29.19', sequence(), true),
    // Key usage: digitalSignature.
    extension('2.5.29.15', bits(Buffer.from([0x80]), 7), true),
    extension('2.5.29.37', sequence(objectId(use))),
    extension('2.5.29.14', octets(keyId(spki))),
    extension('2.5.29.35', sequence(taggedString(0, keyId(issuerSpki)))),
    extension('2.5.29.17', sequence(...names)),
  ];
  const issuer = commonNameOf(new X509Certificate(authority.certificate));
  return certify({ subject: subject.slice(0, 64), issuer, validity, spki, extensions, by: createPrivateKey(authority.key) });
}

interface CertificateContent {
  readonly subject: string;
  readonly issuer: string;
  readonly validity: Validity;
  readonly spki: Buffer;
  readonly extensions: readonly Buffer[];
  readonly by: KeyObject;
}

function certify({ subject, issuer, validity, spki, extensions, by }: CertificateContent): string {
  const serial = randomBytes(16);
  serial[0] = (serial[0] ?? 0) & 0x7f;
  const signed = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(time(validity.from), time(validity.until)),
    nameOf(subject),
    spki,
    tagged(3, sequence(...extensions)),
  );
  const der = sequence(signed, ecdsaWithSha256, bits(sign('sha256', signed, { key: by, dsaEncoding: 'der' })));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const nameOf = (commonName: string): Buffer => sequence(set(sequence(objectId('2.5.4.3'), utf8(commonName))));

const commonNameOf = ({ subject }: X509Certificate): string => /^CN=(.*)$/m.exec(subject)?.[1] ?? '';

const extension = (id: string, value: Buffer, critical = false): Buffer =>
  sequence(objectId(id), ...(critical ? [yes] : []), octets(value));

const keyId = (spki: Buffer): Buffer => createHash('sha1').update(spki).digest();

function makeKey(): { readonly key: KeyObject; readonly pem: string; readonly spki: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { key: privateKey, pem, spki: publicKey.export({ type: 'spki', format: 'der' }) };
}
