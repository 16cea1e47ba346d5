// Which sidecars follow this control plane, and how they are. Kept in memory, and written down for all control planes to read in
// batches: whatever a sidecar says, it costs the database a part of one statement every couple of seconds.
//
// Of each start of a sidecar the newest of its streams counts. States of one: changed (to be written with the next batch), written,
// and left, which is written once more, if it ever was, and then forgotten. A batch that fails is part of the next one.
import { setTimeout as delay } from 'node:timers/promises';
import type { RevisionName } from '@tollgate/proto/contract';
import { makeId } from '../../domain/access/key.ts';
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
} from '../../domain/sidecars/sidecar.ts';
import { reasonOf } from '../../loggable.ts';
import { deleteGoneSidecars, upsertSidecars } from '../../store/sidecars.ts';
import type { Deps } from '../operation.ts';

/** A sidecar on one stream. */
export interface Present {
  holds(held: RevisionName): void;
  refused(code: string, message: string): void;
  /** Null, or what is wrong with it: then nothing of it is taken. */
  says(status: SidecarStatus): string | null;
  left(): void;
}

type Entering = Pick<SidecarSeen, 'workspaceId' | 'keyId' | 'sidecarId' | 'bootId' | 'form' | 'held' | 'capabilities'>;

export interface Roster {
  enters(sidecar: Entering): Present;
  /** How many are here, by how far they are behind. */
  countByLag(newestOf: (workspaceId: number) => RevisionName | null): ReadonlyMap<Lag, number>;
  /** Writes what is not written; `close` calls it, and tests. */
  write(): Promise<void>;
  /** Everybody has left. */
  close(): Promise<void>;
}

interface RosterDeps extends Pick<Deps, 'pool' | 'random'> {
  /** Ms since 1970. */
  readonly wall: () => number;
  /** Ms, never goes back. */
  readonly now: () => number;
  readonly log: { warn(fields: object, message: string): void };
}

interface Known {
  seen: SidecarSeen;
  /** When it was last written, by `now`; null: never. */
  writtenAt: number | null;
  changed: boolean;
}

type Place = Pick<SidecarSeen, 'workspaceId' | 'keyId' | 'bootId'>;
const placeOf = ({ workspaceId, keyId, bootId }: Place): string => JSON.stringify([workspaceId, keyId, bootId]);

/** Of each start of a sidecar the last of these. */
const newestOf = (of: readonly Known[]): readonly Known[] => [...new Map(of.map((known) => [placeOf(known.seen), known])).values()];

const writeEveryMs = 2_000;
/** In one statement, so that none is long. */
const atOnce = 1_000;

/** `name`: of this control plane, for people. `everyMs`: how often it writes by itself. */
export function createRoster({ pool, random, wall, now, log }: RosterDeps, name: string, everyMs = writeEveryMs): Roster {
  const present = new Map<string, Known>();
  /** Those that have left and of whom something is written. */
  let gone: Known[] = [];
  /** Workspaces in which somebody has left since those that left were counted. */
  let crowded = new Set<number>();
  const closing = new AbortController();

  const isDue = ({ changed, writtenAt }: Known): boolean => changed || writtenAt === null || now() - writtenAt >= presence.refreshMs;
  const writeBatch = async (batch: readonly Known[]): Promise<void> => {
    for (const known of batch) {
      known.changed = false;
      // Also where this fails: then nobody knows whether it was written.
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
    // One that is back since counts by its newer stream: a statement takes each start of a sidecar once.
    const due = newestOf([...leaving, ...[...present.values()].filter(isDue)]);
    for (let at = 0; at < due.length; at += atOnce) {
      const batch = due.slice(at, at + atOnce);
      await writeBatch(batch).catch((error: unknown) => {
        const kept = new Set(due.slice(at));
        gone.push(...leaving.filter((known) => kept.has(known)));
        throw error;
      });
    }
    // One that leaves meanwhile may not be among those that the statement counts.
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
  /** One after the other: whoever waits for a write finds all written that was said before it. */
  const write = (): Promise<void> => {
    lastWrite = lastWrite.catch(() => undefined).then(writeOnce);
    return lastWrite;
  };
  const writeCalmly = (): Promise<void> =>
    write().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'which sidecars there are could not be written'));
  const keepWriting = async (): Promise<void> => {
    while (await delay(everyMs, true, { signal: closing.signal, ref: false }).catch(() => false)) await writeCalmly();
  };
  const writing = keepWriting();

  return {
    enters: (sidecar) => {
      const enteredAt = now();
      const place = placeOf(sidecar);
      const before = present.get(place);
      const known: Known = {
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
          if (isTalkative(statuses, now() - enteredAt)) return 'status comes oftener than it may';
          const problem = statusProblem(status);
          if (problem === null) change({ status });
          return problem;
        },
        left: () => {
          if (present.get(place) !== known) return;
          present.delete(place);
          // One that came and went between two batches was never there.
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
