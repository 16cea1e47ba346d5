// Administrators who change rules continuously, over REST and through both control planes, and record the answers.
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '../../support/programs.ts';
import { type PlaneName, planeNames } from './plan.ts';
import type { Random } from './random.ts';
import { casedRules, casedTool, documentOf, firstRules, markTool, movingLimits, type Patch, switchedTools } from './rules.ts';
import { ownerKey, type World } from './world.ts';

export interface Write {
  /** Its mark: the limit that it sets for `markTool`, which no other write sets. */
  readonly mark: number;
  readonly patch: Patch;
  /** Null: no answer arrived. */
  status: number | null;
  revision: number | null;
}

export interface Writing {
  readonly writes: readonly Write[];
  write(through: PlaneName, patch: Patch): Promise<Write>;
  stop(): Promise<void>;
}

const restMs = { least: 100, below: 900 };
const patienceMs = 5_000;
const lanes = 2;

export function createWriting(world: World) {
  const writes: Write[] = [];
  const write = async (through: PlaneName, patch: Patch): Promise<Write> => {
    const mark = writes.length + 1;
    const written: Write = { mark, patch: { ...patch, [markTool]: { rateLimit: mark } }, status: null, revision: null };
    const plane = world.planeAt(through);
    if (plane === null) return written;
    writes.push(written);
    const url = `${plane.rest}/default/admin/workspacePolicy`;
    const asked = ask(url, ownerKey, { method: 'PUT', body: documentOf(written.patch) }).catch(() => null);
    // A write that is answered after that may still be committed: the history shows it.
    const answer = await Promise.race([asked, delay(patienceMs, null, { ref: false })]);
    if (answer === null) return written;
    written.status = answer.status;
    if (answer.status === 200) written.revision = Number(answer.body['revision']);
    return written;
  };
  return { writes, write, writeFirst: () => write(planeNames[0], firstRules) };
}

export function keepWriting({ writes, write }: ReturnType<typeof createWriting>, random: Random): Writing {
  const stopping = new AbortController();
  const run = async (lane: number): Promise<void> => {
    const mine = switchedTools.filter((_, at) => at % lanes === lane);
    while (!stopping.signal.aborted) {
      const tool = mine[random.whole(0, mine.length - 1)] ?? switchedTools[0];
      const dice = random.next();
      const patch: Patch =
        lane === 0 && dice < 0.2
          ? { 'limited.moving': { rateLimit: random.pick(movingLimits) } }
          : lane === 1 && dice < 0.3
            ? { [casedTool]: random.pick(casedRules) }
            : { [tool]: dice < 0.6 ? { permission: 'deny' } : null };
      await write(random.pick(planeNames), patch);
      await delay(random.between(restMs.least, restMs.below), undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = Array.from({ length: lanes }, (_, lane) => run(lane));
  return {
    writes,
    write,
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
