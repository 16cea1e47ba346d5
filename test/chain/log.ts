// A log as a control plane would export it, made without a control plane.
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { canonicalOf } from '../../proto/chain/canonical.ts';
import {
  type Checkpoint,
  type Kept,
  logKeyText,
  originOf,
  type Note,
  parseLogKey,
  parseNote,
  signedNote,
} from '../../proto/chain/checkpoint.ts';
import { checkpointLine, entryLine, format, gapLine, headingLine, retiredLine } from '../../proto/chain/lines.ts';
import { canonicalGap, digestOf, type ShownGap, valueAfterEntry, valueAfterGap, valueBefore } from '../../proto/chain/link.ts';
import { createVerifier, type Verdict, type VerifyConfig } from '../../proto/chain/verify.ts';
import { entry } from '../control-plane/spool.ts';

export const origin = originOf('acme', '0123456789abcdef0123456789abcdef');

export function createSigner() {
  const { privateKey } = generateKeyPairSync('ed25519');
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
  const keyOf = (name = origin) => {
    const key = parseLogKey(logKeyText(name, publicKey));
    if (key === null) throw new Error('a key of ours is none');
    return key;
  };
  const noteOf = (checkpoint: Checkpoint): string => signedNote(checkpoint, publicKey, (body) => sign(null, Buffer.from(body), privateKey));
  return { keyOf, noteOf };
}

export const signer = createSigner();

export type Item =
  | { readonly entry: Readonly<Record<string, unknown>> }
  | { readonly gap: ShownGap }
  | { readonly retired: Readonly<Record<string, unknown>> };

export const entryOf = (n: number, fields: object = {}): Readonly<Record<string, unknown>> => ({
  ...entry({ requestId: `request-${n}`, ts: `2026-06-25T12:00:00.${String(n % 1000).padStart(3, '0')}Z` }),
  id: `${'a'.repeat(32)}-${n}`,
  receivedAt: '2026-06-25T12:00:01.000Z',
  ...fields,
});

export const gapOf = (n: number): ShownGap => ({
  spoolId: 'b'.repeat(32),
  firstSequence: n,
  lastSequence: n + 4,
  reason: 'crc mismatch',
  receivedAt: '2026-06-25T12:00:01.000Z',
});

const madeAt = '2026-06-25T12:05:00.000Z';

/** Returns the value of the log after each of these items. */
export function createLog(items: readonly Item[], { beginsAfter = 0, name = origin } = {}) {
  const values = [valueBefore(name, beginsAfter)];
  const lines: string[] = [];
  for (const [at, item] of items.entries()) {
    const before = values[at] ?? '';
    const n = beginsAfter + at + 1;
    const shown = 'gap' in item ? canonicalGap(item.gap) : (canonicalOf('entry' in item ? item.entry : item.retired) ?? '');
    const digest = digestOf(n, shown);
    const ts = 'gap' in item ? item.gap.receivedAt : String(('entry' in item ? item.entry : item.retired)['ts']);
    const chain = 'gap' in item ? valueAfterGap(before, ts, digest) : valueAfterEntry(before, ts, digest);
    values.push(chain);
    if ('entry' in item) lines.push(entryLine({ n, chain }, shown));
    else if ('gap' in item) lines.push(gapLine({ n, chain }, shown));
    else lines.push(retiredLine({ n, chain }, { ts, digest }));
  }
  const end = beginsAfter + items.length;
  const noteAt = (size: number, at = madeAt, by = signer, retentionDays = 90): string =>
    by.noteOf({ origin: name, size, chain: values[size - beginsAfter] ?? '', madeAt: at, retentionDays });
  const keptAt = (size: number, by = signer): Kept => ({ name: `checkpoint-${size}`, note: noteFrom(noteAt(size, madeAt, by)) });
  const exported = ({ after = beginsAfter, checkpoint = '', upTo = end, endedAt = madeAt } = {}): readonly string[] => [
    headingLine({ format, origin: name, after, chain: values[after - beginsAfter] ?? '', checkpoint }),
    ...lines.slice(after - beginsAfter, upTo - beginsAfter),
    checkpointLine(noteAt(upTo, endedAt)),
  ];
  return { end, noteAt, keptAt, exported };
}

export function noteFrom(text: string): Note {
  const note = parseNote(text);
  if (note === null) throw new Error(`no note: ${text}`);
  return note;
}

export const bytesOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));

/** Verifies a file as the command line does. */
export function verify(file: Uint8Array | readonly string[], config: Partial<VerifyConfig>): Verdict {
  const bytes = file instanceof Uint8Array ? Buffer.from(file) : bytesOf(file);
  const verifier = createVerifier({ kept: [], beforeRaise: [], keys: [], retentionDays: null, ...config });
  let from = 0;
  for (let end = bytes.indexOf(10, from); end >= 0; end = bytes.indexOf(10, from)) {
    const verdict = verifier.take(bytes.subarray(from, end));
    if (verdict !== null) return verdict;
    from = end + 1;
  }
  return verifier.end(from < bytes.length);
}
