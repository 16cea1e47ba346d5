// Tracks which sidecars are connected to this control plane, and their state. It is kept in memory and written in
// batches, so that all control planes can read it. Whatever a sidecar sends, it costs the database only a part of one
// statement every two seconds.
//
// For each start of a sidecar, only its newest stream counts. States of a stream: changed (will be written with the
// next batch), written, and left. A stream that has left is written once more if it was written before, and then
// deleted from memory. A batch that fails becomes part of the next batch.
import { setTimeout as delay } from 'node:timers/promises';
import type { RevisionName } from '@tollgate/proto/contract';
import { makeId } from '../../access/rules/key.ts';
import {
  isTalkative,
  type Lag,
  lagOf,
  nackOf,
  presence,
  type SidecarSeen,
  type SidecarStatus,
  sidecarBounds,
  statusProblem,
} from '../rules/sidecar.ts';
import { reasonOf } from '../../base/loggable.ts';
import { deleteGoneSidecars, upsertSidecars } from '../store.ts';
import type { OperationDeps } from '../../access/operation.ts';

/** A sidecar on one stream. */
export interface ConnectedSidecar {
  holds(held: RevisionName): void;
  refused(code: string, message: string): void;
  /** Returns null, or what is wrong with the status. A wrong status is discarded. */
  says(status: SidecarStatus): string | null;
  left(): void;
}

type Entering = Pick<SidecarSeen, 'workspaceId' | 'keyId' | 'sidecarId' | 'bootId' | 'form' | 'held' | 'capabilities'>;

export interface Roster {
  enters(sidecar: Entering): ConnectedSidecar;
  /** The number of sidecars connected here, by how far they are behind. */
  countByLag(newestOf: (workspaceId: number) => RevisionName | null): ReadonlyMap<Lag, number>;
  /** Writes everything that is not written yet. `close` and tests call it. */
  write(): Promise<void>;
  /** Call after all sidecars have left. */
  close(): Promise<void>;
}

interface RosterDeps extends Pick<OperationDeps, 'pool' | 'random'> {
  /** In ms since 1970. */
  readonly wall: () => number;
  /** In ms, monotonic. */
  readonly now: () => number;
  readonly log: { warn(fields: object, message: string): void };
}

interface RosterEntry {
  seen: SidecarSeen;
  /** When it was last written, by `now`; null: never. */
  writtenAt: number | null;
  changed: boolean;
}

type Place = Pick<SidecarSeen, 'workspaceId' | 'keyId' | 'bootId'>;
const placeOf = ({ workspaceId, keyId, bootId }: Place): string => JSON.stringify([workspaceId, keyId, bootId]);

/** Keeps the last item for each start of a sidecar. */
const newestOf = (of: readonly RosterEntry[]): readonly RosterEntry[] => [
  ...new Map(of.map((known) => [placeOf(known.seen), known])).values(),
];

const writeEveryMs = 2_000;
/** Rows in one statement, so that no statement takes long. */
const atOnce = 1_000;

/** `name` identifies this control plane for people. `everyMs` is the interval between automatic writes. */
export function createRoster({ pool, random, wall, now, log }: RosterDeps, name: string, everyMs = writeEveryMs): Roster {
  const present = new Map<string, RosterEntry>();
  /** Sidecars that have left and that have a row in the database. */
  let gone: RosterEntry[] = [];
  /** Workspaces that a sidecar has left since the rows of departed sidecars were last counted. */
  let crowded = new Set<number>();
  const closing = new AbortController();

  const isDue = ({ changed, writtenAt }: RosterEntry): boolean => changed || writtenAt === null || now() - writtenAt >= presence.refreshMs;
  const writeBatch = async (batch: readonly RosterEntry[]): Promise<void> => {
    for (const known of batch) {
      known.changed = false;
      // This also applies if the write fails, because then it is unknown whether it was written.
      known.writtenAt ??= Number.NEGATIVE_INFINITY;
    }
    const told = batch.map(({ seen }) => seen);
    try {
      await upsertSidecars(pool, told);
    } catch (error) {
      for (const known of batch) known.changed = true;
      throw error;
    }
    for (const known of batch) known.writtenAt = now();
  };
  const writeOnce = async (): Promise<void> => {
    const leaving = gone;
    gone = [];
    // A sidecar that has returned counts with its newer stream, because a statement can contain each start of a sidecar
    // only once.
    const due = newestOf([...leaving, ...[...present.values()].filter(isDue)]);
    for (let at = 0; at < due.length; at += atOnce) {
      const batch = due.slice(at, at + atOnce);
      await writeBatch(batch).catch((error: unknown) => {
        const kept = new Set(due.slice(at));
        gone.push(...leaving.filter((known) => kept.has(known)));
        throw error;
      });
    }
    // A sidecar that leaves in the meantime is possibly not among the rows that the statement counts.
    const counted = crowded;
    crowded = new Set();
    for (const workspaceId of counted) {
      await deleteGoneSidecars(pool, workspaceId, sidecarBounds.left).catch((error: unknown) => {
        crowded = new Set([...counted, ...crowded]);
        throw error;
      });
      counted.delete(workspaceId);
    }
  };
  let lastWrite = Promise.resolve();
  /** Writes run one after the other. When a write ends, everything that was reported before it is written. */
  const write = (): Promise<void> => {
    lastWrite = lastWrite.catch(() => undefined).then(writeOnce);
    return lastWrite;
  };
  const writeCalmly = (): Promise<void> =>
    write().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'the list of sidecars could not be stored'));
  const keepWriting = async (): Promise<void> => {
    while (await delay(everyMs, true, { signal: closing.signal, ref: false }).catch(() => false)) await writeCalmly();
  };
  const writing = keepWriting();

  return {
    enters: (sidecar) => {
      const enteredAt = now();
      const place = placeOf(sidecar);
      const before = present.get(place);
      const known: RosterEntry = {
        seen: {
          ...sidecar,
          streamId: makeId(random),
          controlPlane: name,
          connectedAt: new Date(wall()),
          leftAt: null,
          lastNack: before?.seen.lastNack ?? null,
          status: before?.seen.status ?? null,
        },
        writtenAt: null,
        changed: true,
      };
      present.set(place, known);
      let statuses = 0;
      const change = (fields: Partial<SidecarSeen>): void => {
        known.seen = { ...known.seen, ...fields };
        known.changed = true;
      };
      return {
        holds: ({ epoch, number }) => change({ held: { epoch, number } }),
        refused: (code, message) => change({ lastNack: nackOf(code, message, new Date(wall())) }),
        says: (status) => {
          statuses += 1;
          if (isTalkative(statuses, now() - enteredAt)) return 'status is sent more often than allowed';
          const problem = statusProblem(status);
          if (problem === null) change({ status });
          return problem;
        },
        left: () => {
          if (present.get(place) !== known) return;
          present.delete(place);
          // A sidecar that connected and left between two batches is not recorded.
          if (known.writtenAt === null) return;
          change({ leftAt: new Date(wall()) });
          gone.push(known);
          crowded.add(sidecar.workspaceId);
        },
      };
    },
    countByLag: (newestOf) => {
      const counts = new Map<Lag, number>();
      for (const { seen } of present.values()) {
        const lag = lagOf(seen.held, newestOf(seen.workspaceId));
        counts.set(lag, (counts.get(lag) ?? 0) + 1);
      }
      return counts;
    },
    write,
    close: async () => {
      closing.abort();
      await writing;
      await writeCalmly();
    },
  };
}
