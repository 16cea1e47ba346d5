// Verifies all snapshots from the wire and from disk before decisions use them: every field of every entry is checked,
// and the hash computed here must equal the sent one. An invalid snapshot is rejected as a whole, with the place of the
// error. For a delta, only its own content is read and hashed: the rest was checked when it arrived.
import { type NackCode, type RevisionName, snapshotHash, snapshotHashAfter, snapshotSchemaVersion } from '@tollgate/proto/contract';
import type { Changes, Contents, Snapshot } from '../decide/snapshot.ts';
import { InvalidEntry } from './read.ts';
import { type RawEntry, readEntries, requireOnce } from './read-entries.ts';

interface MessageHead {
  readonly workspace: string;
  readonly schemaVersion: number;
  readonly hash: Uint8Array;
}

/** A snapshot message after protobuf decoding. */
export interface SnapshotMessage extends MessageHead {
  readonly revision: RevisionName | null;
  readonly entries: readonly RawEntry[];
}

/** A delta message after protobuf decoding. `hash` is the hash of the whole snapshot after the delta is applied. */
export interface DeltaMessage extends MessageHead {
  readonly from: RevisionName | null;
  readonly to: RevisionName | null;
  readonly changed: readonly RawEntry[];
  readonly removed: readonly string[];
}

/** The state that a delta starts from. */
export interface Base {
  readonly epoch: string;
  readonly revision: number;
  readonly hash: Buffer;
  /** Values by key, as they were sent. */
  readonly entries: ReadonlyMap<string, Uint8Array>;
}

interface RefusedSnapshot {
  readonly ok: false;
  readonly code: NackCode;
  readonly message: string;
}

export type VerifyResult = { readonly ok: true; readonly snapshot: Snapshot } | RefusedSnapshot;
export type VerifiedDelta = { readonly ok: true; readonly changes: Changes } | RefusedSnapshot;

const no = (code: NackCode, message: string): RefusedSnapshot => ({ ok: false, code, message });

export function verifySnapshot(message: SnapshotMessage, workspace: string): VerifyResult {
  const { revision } = message;
  const wrong = headProblem(message, workspace) ?? revisionProblem('revision', revision);
  if (wrong !== null) return wrong;
  if (revision === null) return no('entry_invalid', 'the revision is missing');
  const hash = snapshotHash(message.entries);
  if (!hash.equals(message.hash)) return no('hash_mismatch', `the entries hash as ${hash.toString('hex')}, not as announced`);
  return reading(() => {
    requireOnce(message.entries.map(({ key }) => key));
    const { settings, ...contents } = readEntries(message.entries);
    if (settings === null) return no('settings_missing', 'there is no entry "settings"');
    return (
      settingsProblem({ settings }, workspace) ?? {
        ok: true,
        snapshot: { epoch: revision.epoch, revision: revision.number, hash, settings, ...contents },
      }
    );
  });
}

/** `base`: the snapshot that this sidecar holds. */
export function verifyDelta(message: DeltaMessage, workspace: string, base: Base): VerifiedDelta {
  const { from, to, changed, removed } = message;
  const wrong = headProblem(message, workspace) ?? revisionProblem('from', from) ?? revisionProblem('to', to);
  if (wrong !== null) return wrong;
  if (from === null || to === null) return no('entry_invalid', 'from or to is missing');
  if (from.epoch !== base.epoch || from.number !== base.revision)
    return no('wrong_base', `the delta starts from ${wordsOf(from)}, and ${wordsOf({ ...base, number: base.revision })} is held`);
  if (to.epoch !== from.epoch) return no('wrong_base', `the delta leads to ${wordsOf(to)}: another epoch needs a whole snapshot`);
  if (to.number <= from.number) return no('revision_backwards', `the delta leads from revision ${from.number} to ${to.number}`);
  return reading(() => {
    requireOnce([...changed.map(({ key }) => key), ...removed]);
    const replaced = [...changed.map(({ key }) => key), ...removed].flatMap((key) => {
      const value = base.entries.get(key);
      return value === undefined ? [] : [{ key, value }];
    });
    const hash = snapshotHashAfter(base.hash, replaced, changed);
    if (!hash.equals(message.hash))
      return no('hash_mismatch', `after the delta all entries hash as ${hash.toString('hex')}, not as announced`);
    if (removed.includes('settings')) return no('settings_missing', 'the delta removes the entry "settings"');
    const contents = readEntries(changed);
    return (
      settingsProblem(contents, workspace) ?? {
        ok: true,
        changes: { revision: to.number, hash, removed, ...contents },
      }
    );
  });
}

function headProblem({ schemaVersion, workspace: named }: MessageHead, workspace: string): RefusedSnapshot | null {
  if (schemaVersion !== snapshotSchemaVersion)
    return no('schema_unsupported', `this sidecar understands schema ${snapshotSchemaVersion}, the snapshot has ${schemaVersion}`);
  if (named !== workspace) return no('wrong_workspace', `the key is of workspace "${workspace}", the snapshot of ${JSON.stringify(named)}`);
  return null;
}

function revisionProblem(field: string, revision: RevisionName | null): RefusedSnapshot | null {
  const good = revision !== null && revision.epoch !== '' && Number.isSafeInteger(revision.number) && revision.number >= 0;
  return good ? null : no('entry_invalid', `the revision is missing or malformed (${field})`);
}

const settingsProblem = ({ settings }: Pick<Contents, 'settings'>, workspace: string): RefusedSnapshot | null =>
  settings === null || settings.workspace === workspace
    ? null
    : no('wrong_workspace', `settings.workspace is ${JSON.stringify(settings.workspace)}`);

const wordsOf = ({ epoch, number }: RevisionName): string => `revision ${number} of epoch ${JSON.stringify(epoch)}`;

function reading<T>(read: () => T): T | RefusedSnapshot {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidEntry) return no('entry_invalid', error.message);
    throw error;
  }
}
