// The sign of life of a control plane that runs agents, and its ear: once a second it says that it lives, and hears which of its
// runs must stop. Whoever is not heard of loses its runs to `mend-runs.ts`, and hears of that here when it is back.
//
// States: beating, and closed for good. A beat that fails changes nothing but that this control plane trusts its ears less for a
// while; the next one comes.
import { setTimeout as delay } from 'node:timers/promises';
import { makeId } from '../../../domain/access/key.ts';
import { type RunHalt, type RunRef, runKey } from '../../../domain/runs/run.ts';
import { reasonOf } from '../../../loggable.ts';
import { beat, deleteInstance, findHalts } from '../../../store/run-instances.ts';
import { joinDatabase } from '../../deployment/join.ts';
import type { Deps } from '../../operation.ts';

export interface Heart {
  /** By which the runs of this control plane are known. */
  readonly instance: string;
  /** `halt` is called once, as soon as the run must stop. Answers how to stop watching. */
  watch(run: RunRef, halt: (why: RunHalt) => void): () => void;
  /**
   * Whether it has beaten without a pause for a while. Where it has not, the database was away or this process stood still, and others
   * may be silent for the same reason, and about to be heard of again.
   */
  readonly isSteady: () => boolean;
  /** Call when no run goes on any more. */
  close(): Promise<void>;
}

interface HeartDeps extends Pick<Deps, 'pool' | 'random'> {
  readonly log: { warn(fields: object, message: string): void };
}

const standardBeatMs = 1_000;
/** Far less than the silence that costs others their runs. */
const lateMs = 5_000;
/** Long enough for others to be heard of too. */
const steadyBeats = 5;

/** Answers after the first beat: before it, runs of this control plane would be taken for orphans. */
export async function startHeart({ pool, random, log }: HeartDeps, beatMs = standardBeatMs): Promise<Heart> {
  const instance = makeId(random);
  const watched = new Map<string, { readonly run: RunRef; readonly halt: (why: RunHalt) => void }>();
  const closing = new AbortController();
  let lastAt = performance.now();
  const isLate = (): boolean => performance.now() - lastAt > lateMs;
  /** Of those since the last one that failed or was late; a start knows of none. */
  let beats = steadyBeats;

  const turn = async (): Promise<void> => {
    try {
      await beat(pool, instance);
      beats = isLate() ? 1 : beats + 1;
      lastAt = performance.now();
      for (const halted of await findHalts(
        pool,
        [...watched.values()].map(({ run }) => run),
      )) {
        const key = runKey(halted);
        const found = watched.get(key);
        watched.delete(key);
        found?.halt(halted.why);
      }
    } catch (error) {
      beats = 0;
      log.warn({ reason: reasonOf(error) }, 'the heartbeat of runs failed');
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
      await deleteInstance(pool, instance).catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'the heartbeat of runs stays'));
    },
  };
}
