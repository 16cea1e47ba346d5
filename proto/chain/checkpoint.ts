// Defines signed checkpoints. A checkpoint states how many items a log contains and the value of its chain. The text is
// that of a C2SP tlog-checkpoint in a signed note, with one difference: the hash is the chain's value and not the root
// of a tree. With a stored checkpoint, anyone can verify later that nothing up to that point was changed. Two
// additional lines state when the checkpoint was made and how long entries are kept.
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';

export interface Checkpoint {
  /** The name of the log: `tollgate.audit/<workspace>/<log id>`. The log's keys have the same name. */
  readonly origin: string;
  readonly size: number;
  /** The chain's value after `size` items, 64 hex digits. */
  readonly chain: string;
  /** ISO 8601 with milliseconds, UTC. */
  readonly madeAt: string;
  readonly retentionDays: number;
}

interface Signature {
  readonly name: string;
  readonly keyId: string;
  readonly bytes: Buffer;
}

export interface Note {
  readonly checkpoint: Checkpoint;
  /** The text that is signed. */
  readonly body: string;
  readonly signatures: readonly Signature[];
}

/** A stored checkpoint, and a name for it. */
export interface Kept {
  readonly name: string;
  readonly note: Note;
}

/** A public key that can sign a log's checkpoints. */
export interface LogKey {
  readonly name: string;
  readonly id: string;
  readonly key: KeyObject;
}

export const originOf = (slug: string, logId: string): string => `tollgate.audit/${slug}/${logId.replaceAll('-', '')}`;

const ed25519 = Buffer.from([1]);
const keyBytes = 32;
const signatureBytes = 64;
const idBytes = 4;

const idOf = (name: string, publicKey: Uint8Array): string =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), ed25519, publicKey]), 'hex').slice(0, 2 * idBytes);

/** Returns the checkpoint as a signed note. `publicKey`: the raw public key that belongs to `sign`. */
export function signedNote(checkpoint: Checkpoint, publicKey: Uint8Array, sign: (body: string) => Uint8Array): string {
  const { origin } = checkpoint;
  const body = bodyOf(checkpoint);
  const signature = Buffer.concat([Buffer.from(idOf(origin, publicKey), 'hex'), sign(body)]);
  return `${body}\n— ${origin} ${signature.toString('base64')}\n`;
}

const bodyOf = ({ origin, size, chain, madeAt, retentionDays }: Checkpoint): string =>
  `${origin}\n${size}\n${Buffer.from(chain, 'hex').toString('base64')}\ntime ${madeAt}\nretention ${retentionDays}\n`;

const form =
  /^(tollgate\.audit\/[a-z0-9-]{1,40}\/[0-9a-f]{32})\n(0|[1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\ntime (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\nretention ([1-9]\d{0,4})\n$/;
const signatureForm = /^— (\S{1,200}) ([A-Za-z0-9+/]+={0,2})$/;

/** Parses a note. Null: the text is not a checkpoint of this format. */
export function parseNote(text: string): Note | null {
  const split = text.indexOf('\n\n');
  if (split < 0 || !text.endsWith('\n')) return null;
  const body = text.slice(0, split + 1);
  const [, origin, size, base64, madeAt, retention] = form.exec(body) ?? [];
  const signatures = text
    .slice(split + 2, -1)
    .split('\n')
    .map(signatureOf);
  if (origin === undefined || base64 === undefined || madeAt === undefined || signatures.includes(null)) return null;
  const chain = Buffer.from(base64, 'base64').toString('hex');
  const checkpoint = { origin, size: Number(size), chain, madeAt, retentionDays: Number(retention) };
  // The comparison rejects base64 text with unused bits that are not zero. The date check rejects days that do not
  // exist.
  if (bodyOf(checkpoint) !== body || Number.isNaN(Date.parse(madeAt))) return null;
  return { checkpoint, body, signatures: signatures.filter((one) => one !== null) };
}

function signatureOf(line: string): Signature | null {
  const [, name, base64] = signatureForm.exec(line) ?? [];
  const bytes = Buffer.from(base64 ?? '', 'base64');
  if (name === undefined || bytes.toString('base64') !== base64 || bytes.length <= idBytes) return null;
  return { name, keyId: bytes.subarray(0, idBytes).toString('hex'), bytes: bytes.subarray(idBytes) };
}

/** Returns `name+id+base64`, the format of a verifier's key in C2SP's signed notes. */
export const logKeyText = (origin: string, publicKey: Uint8Array): string =>
  `${origin}+${idOf(origin, publicKey)}+${Buffer.concat([ed25519, publicKey]).toString('base64')}`;

/** Parses a key in the format of `logKeyText`. Null: the text is not such a key. */
export function parseLogKey(text: string): LogKey | null {
  const [, name, id, base64] = /^([^+\s]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(text) ?? [];
  const bytes = Buffer.from(base64 ?? '', 'base64');
  if (name === undefined || id === undefined || bytes.length !== 1 + keyBytes || bytes[0] !== ed25519[0]) return null;
  const raw = bytes.subarray(1);
  if (logKeyText(name, raw) !== text) return null;
  return { name, id, key: publicKeyFrom(raw) };
}

const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

const publicKeyFrom = (raw: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([spkiPrefix, raw]), format: 'der', type: 'spki' });

/**
 * Returns the one of `keys` that signed the note and whose name is the name of the note's log. Null: none of these keys
 * signed the note, or a signature that names one of them is invalid.
 */
export function signerOf({ checkpoint, body, signatures }: Note, keys: readonly LogKey[]): LogKey | null {
  let signer: LogKey | null = null;
  for (const { name, keyId, bytes } of signatures) {
    const key = keys.find((one) => one.name === name && one.id === keyId);
    if (key === undefined || name !== checkpoint.origin) continue;
    if (bytes.length !== signatureBytes || !verify(null, Buffer.from(body), key.key, bytes)) return null;
    signer = key;
  }
  return signer;
}
