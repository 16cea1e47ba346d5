// Tracks which sidecars are connected to this control plane, and their state. The list is kept in memory and written to
// the database in batches, so that all control planes can read it. However much one sidecar sends, the database only
// gets a part of one statement every two seconds from it.
//
// For each start of a sidecar, only its newest stream counts. States of a stream: changed (will be written with the
// next batch), written, and left. A stream that has left is deleted from memory. If it was written before, it is first
// written once more. A batch that fails becomes part of the next batch.
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

type EnteringSidecar = Pick<SidecarSeen, 'workspaceId' | 'keyId' | 'sidecarId' | 'bootId' | 'form' | 'held' | 'capabilities'>;

export interface Roster {
  enters(sidecar: EnteringSidecar): ConnectedSidecar;
  /**
   * Returns how many sidecars are connected to this control plane, grouped by how far they are behind the newest
   * revision.
   */
  countByLag(newestOf: (workspaceId: number) => RevisionName | null): ReadonlyMap<Lag, number>;
  /** Writes everything that is not written yet. `close` and tests call it. */
  write(): Promise<void>;
  /** Call after all sidecars have left. */
  close(): Promise<void>;
}

interface RosterDeps extends Pick<OperationDeps, 'pool' | 'random'> {
  /** In ms since 1970. */
  readonly wallTime: () => number;
  /** In ms, monotonic. */
  readonly now: () => number;
  readonly log: { warn(fields: object, message: string): void };
}

interface RosterEntry {
  seen: SidecarSeen;
  /** When this entry was last written, by the clock `now`; null: never. */
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
/** The maximum number of rows in one statement, so that no statement takes long. */
const atOnce = 1_000;

/** `name` identifies this control plane for people. `everyMs` is the interval between automatic writes. */
export const createRoster = (deps: RosterDeps, name: string, everyMs = writeEveryMs): Roster => new WrittenRoster(deps, name, everyMs);

class WrittenRoster implements Roster {
  readonly #deps: RosterDeps;
  readonly #name: string;
  readonly #everyMs: number;
  readonly #present = new Map<string, RosterEntry>();
  /** Sidecars that have left and that have a row in the database. */
  #gone: RosterEntry[] = [];
  /** Workspaces in which a sidecar has disconnected since the rows of departed sidecars were last counted. */
  #crowded = new Set<number>();
  readonly #closing = new AbortController();
  #lastWrite = Promise.resolve();
  readonly #writing: Promise<void>;

  constructor(deps: RosterDeps, name: string, everyMs: number) {
    this.#deps = deps;
    this.#name = name;
    this.#everyMs = everyMs;
    this.#writing = this.#keepWriting();
  }

  enters(sidecar: EnteringSidecar): ConnectedSidecar {
    const { now, wallTime, random } = this.#deps;
    const enteredAt = now();
    const place = placeOf(sidecar);
    const before = this.#present.get(place);
    const known: RosterEntry = {
      seen: {
        ...sidecar,
        streamId: makeId(random),
        controlPlane: this.#name,
        connectedAt: new Date(wallTime()),
        leftAt: null,
        lastNack: before?.seen.lastNack ?? null,
        status: before?.seen.status ?? null,
      },
      writtenAt: null,
      changed: true,
    };
    this.#present.set(place, known);
    let statuses = 0;
    return {
      holds: ({ epoch, number }) => change(known, { held: { epoch, number } }),
      refused: (code, message) => change(known, { lastNack: nackOf(code, message, new Date(wallTime())) }),
      says: (status) => {
        statuses += 1;
        if (isTalkative(statuses, now() - enteredAt)) return 'status is sent more often than allowed';
        const problem = statusProblem(status);
        if (problem === null) change(known, { status });
        return problem;
      },
      left: () => this.#leave(place, known),
    };
  }

  countByLag(newestOf: (workspaceId: number) => RevisionName | null): ReadonlyMap<Lag, number> {
    const counts = new Map<Lag, number>();
    for (const { seen } of this.#present.values()) {
      const lag = lagOf(seen.held, newestOf(seen.workspaceId));
      counts.set(lag, (counts.get(lag) ?? 0) + 1);
    }
    return counts;
  }

  /**
   * Writes run one after the other. Everything that was reported before a call of `write` is in the database when the
   * promise of this call resolves.
   */
  write(): Promise<void> {
    this.#lastWrite = this.#lastWrite.catch(() => undefined).then(() => this.#writeOnce());
    return this.#lastWrite;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
    await this.#writeOrWarn();
  }

  #leave(place: string, known: RosterEntry): void {
    if (this.#present.get(place) !== known) return;
    this.#present.delete(place);
    // A sidecar that connected and left between two batches is not recorded.
    if (known.writtenAt === null) return;
    change(known, { leftAt: new Date(this.#deps.wallTime()) });
    this.#gone.push(known);
    this.#crowded.add(known.seen.workspaceId);
  }

  async #keepWriting(): Promise<void> {
    const waiting = { signal: this.#closing.signal, ref: false };
    while (await delay(this.#everyMs, true, waiting).catch(() => false)) await this.#writeOrWarn();
  }

  #writeOrWarn(): Promise<void> {
    return this.write().catch((error: unknown) =>
      this.#deps.log.warn({ reason: reasonOf(error) }, 'the list of sidecars could not be stored'),
    );
  }

  async #writeOnce(): Promise<void> {
    await this.#writeDue();
    await this.#deleteGone();
  }

  async #writeDue(): Promise<void> {
    const leaving = this.#gone;
    this.#gone = [];
    // If a sidecar has left and returned, only its newer stream is written, because a statement can contain each start
    // of a sidecar only once.
    const due = newestOf([...leaving, ...[...this.#present.values()].filter((known) => this.#isDue(known))]);
    for (let at = 0; at < due.length; at += atOnce)
      await this.#writeBatch(due.slice(at, at + atOnce)).catch((error: unknown) => {
        const kept = new Set(due.slice(at));
        this.#gone.push(...leaving.filter((known) => kept.has(known)));
        throw error;
      });
  }

  #isDue({ changed, writtenAt }: RosterEntry): boolean {
    return changed || writtenAt === null || this.#deps.now() - writtenAt >= presence.refreshMs;
  }

  async #writeBatch(batch: readonly RosterEntry[]): Promise<void> {
    for (const known of batch) {
      known.changed = false;
      // This is set before the write, because after a failed write it is unknown whether the row was written.
      known.writtenAt ??= Number.NEGATIVE_INFINITY;
    }
    const rows = batch.map(({ seen }) => seen);
    try {
      await upsertSidecars(this.#deps.pool, rows);
    } catch (error) {
      for (const known of batch) known.changed = true;
      throw error;
    }
    for (const known of batch) known.writtenAt = this.#deps.now();
  }

  /** Deletes the oldest rows of departed sidecars, in the workspaces in which a sidecar has disconnected. */
  async #deleteGone(): Promise<void> {
    // A sidecar that leaves during the statement may not be among the rows that the statement counts. Its workspace is
    // checked again at the next write.
    const counted = this.#crowded;
    this.#crowded = new Set();
    for (const workspaceId of counted) {
      await deleteGoneSidecars(this.#deps.pool, workspaceId, sidecarBounds.left).catch((error: unknown) => {
        this.#crowded = new Set([...counted, ...this.#crowded]);
        throw error;
      });
      counted.delete(workspaceId);
    }
  }
}

function change(known: RosterEntry, fields: Partial<SidecarSeen>): void {
  known.seen = { ...known.seen, ...fields };
  known.changed = true;
}
