// Sends the heartbeat of a control plane that runs agents. Once a second it writes that this process is alive, and
// reads which of its runs must stop. If a control plane has no recent heartbeat, `end-abandoned-runs.ts` ends its runs
// in the database. If this happened to this control plane, the next successful heartbeat finds these runs and stops
// them here.
//
// States: beating, and closed (final). After a failed heartbeat, this control plane does not rely on its view of the
// other instances for a while. The next heartbeat follows as usual.
import { setTimeout as delay } from 'node:timers/promises';
import { makeId } from '../../../access/rules/key.ts';
import { type RunHalt, type RunRef, runKey } from '../../rules/run.ts';
import { reasonOf } from '../../../base/loggable.ts';
import { beat, deleteInstance, findHalts } from '../../store/run-instances.ts';
import { joinDatabase } from '../../../database/operations/join.ts';
import type { OperationDeps } from '../../../access/operation.ts';

export interface Heartbeat {
  /** The id under which the runs of this control plane are recorded. */
  readonly instance: string;
  /** `halt` is called once, as soon as the run must stop. Returns a function that stops watching. */
  watch(run: RunRef, halt: (why: RunHalt) => void): () => void;
  /**
   * Whether the last heartbeats succeeded without a pause. If not, the database was not available or this process was
   * frozen. Other instances may be silent for the same reason and may soon send heartbeats again.
   */
  readonly isSteady: () => boolean;
  /** Call when no run is active. */
  close(): Promise<void>;
}

interface HeartbeatDeps extends Pick<OperationDeps, 'pool' | 'random'> {
  readonly log: { warn(fields: object, message: string): void };
}

const standardBeatMs = 1_000;
/**
 * A heartbeat is late if more than this time, in ms, has passed since the previous one. This is much less than the
 * silence after which other control planes end the runs of this control plane.
 */
const lateMs = 5_000;
/**
 * After this number of heartbeats without a failure, `isSteady` is true again. In this time, heartbeats of other
 * instances can arrive too.
 */
const steadyBeats = 5;

/**
 * Starts the heartbeat. Resolves after the first one. Before that, runs of this control plane would count as abandoned.
 */
export async function startHeartbeat({ pool, random, log }: HeartbeatDeps, beatMs = standardBeatMs): Promise<Heartbeat> {
  const instance = makeId(random);
  const watched = new Map<string, { readonly run: RunRef; readonly halt: (why: RunHalt) => void }>();
  const closing = new AbortController();
  let lastAt = performance.now();
  const isLate = (): boolean => performance.now() - lastAt > lateMs;
  /**
   * The number of heartbeats since the last one that failed or was late. It begins with `steadyBeats`, because at the
   * start none has failed.
   */
  let beats = steadyBeats;

  const turn = async (): Promise<void> => {
    try {
      await beat(pool, instance);
      beats = isLate() ? 1 : beats + 1;
      lastAt = performance.now();
      for (const halted of await findHalts(
        pool,
        instance,
        [...watched.values()].map(({ run }) => run),
      )) {
        const key = runKey(halted);
        const found = watched.get(key);
        watched.delete(key);
        found?.halt(halted.why);
      }
    } catch (error) {
      beats = 0;
      log.warn({ reason: reasonOf(error) }, 'the heartbeat for the runs of this control plane failed');
    }
  };
  const keepBeating = async (): Promise<void> => {
    while (await delay(beatMs, true, { signal: closing.signal }).catch(() => false)) await turn();
  };

  await joinDatabase(pool, instance);
  const beating = keepBeating();
  return {
    instance,
    watch: (run, halt) => {
      const key = runKey(run);
      const entry = { run, halt };
      watched.set(key, entry);
      return () => {
        if (watched.get(key) === entry) watched.delete(key);
      };
    },
    isSteady: () => beats >= steadyBeats && !isLate(),
    close: async () => {
      closing.abort();
      await beating;
      await deleteInstance(pool, instance).catch((error: unknown) =>
        log.warn({ reason: reasonOf(error) }, 'the heartbeat for the runs of this control plane could not be removed'),
      );
    },
  };
}
