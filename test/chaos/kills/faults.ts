// Executes the plan, and undoes each fault. A target that is still broken recovers before it is broken again, so that
// the order of the plan is the order of events.
import { setTimeout as delay } from 'node:timers/promises';
import type { Gate } from '../gate.ts';
import { killListeners } from '../load.ts';
import type { Load } from './calls.ts';
import { type Fault, type GateName, isPlane, planeNames, type ProgramName, type Step } from './plan.ts';
import { freeTool } from './rules.ts';
import { isAgent, type World } from './world.ts';

export interface Breaking {
  /** Counts by the killed program. */
  readonly kills: ReadonlyMap<string, number>;
  /** What was done, and when it began, in ms since the start: to be compared with the logs. */
  readonly journal: readonly string[];
  run(steps: readonly Step[], until: AbortSignal): Promise<void>;
  /** Resolves once every fault is undone. */
  repaired(): Promise<void>;
}

/**
 * These calls are sent at once, right before the program that answers them is killed: some are then in the middle of
 * being decided, written or answered.
 */
const volleyCalls = 12;

export function createBreaking(world: World, load: Load): Breaking {
  const kills = new Map<string, number>();
  const journal: string[] = [];
  const startedAt = performance.now();
  // The targets that are broken now: a program and its gate break separately.
  const busy = new Map<string, Promise<void>>();

  const gateOf = (name: GateName): Gate => {
    const gate = world.gates.get(name);
    if (gate === undefined) throw new Error(`there is no gate of ${name}`);
    return gate;
  };
  const kill = async ({ target, lastsMs, midwayMs, elsewhere }: Extract<Fault, { kind: 'kill' }>): Promise<void> => {
    kills.set(target, (kills.get(target) ?? 0) + 1);
    if (isAgent(target)) {
      for (let n = 0; n < volleyCalls; n += 1) void load.call(target, freeTool);
      await delay(midwayMs);
    }
    if (target === 'postgres') await world.postgres.crash();
    else await world.programs.get(target)?.kill();
    await delay(lastsMs);
    if (target === 'postgres') await world.postgres.start();
    else await world.start(target, elsewhere);
  };
  const freeze = async (target: ProgramName | 'postgres', lastsMs: number): Promise<void> => {
    if (target === 'postgres') world.postgres.freeze();
    else world.programs.get(target)?.signal('SIGSTOP');
    await delay(lastsMs);
    if (target === 'postgres') world.postgres.thaw();
    else world.programs.get(target)?.signal('SIGCONT');
  };
  const perform = async (fault: Fault): Promise<void> => {
    switch (fault.kind) {
      case 'kill':
        return kill(fault);
      case 'freeze':
        return freeze(fault.target, fault.lastsMs);
      case 'cut':
        return gateOf(fault.target).cut();
      case 'silence':
        gateOf(fault.target).freeze();
        await delay(fault.lastsMs);
        return gateOf(fault.target).thaw();
      case 'delay':
        gateOf(fault.target).delay(fault.ms);
        await delay(fault.lastsMs);
        return gateOf(fault.target).delay(0);
      case 'move':
        return world.leadTo(fault.target, world.leadsTo(fault.target) === planeNames[0] ? planeNames[1] : planeNames[0]);
      case 'deafen':
        // A database that is away does not receive this command.
        return killListeners(world.postgres, [fault.target]).catch(() => undefined);
    }
  };
  return {
    kills,
    journal,
    run: async (steps, until) => {
      for (const { afterMs, fault } of steps) {
        await delay(afterMs, undefined, { signal: until }).catch(() => undefined);
        if (until.aborted) return;
        const place = placeOf(fault);
        await busy.get(place);
        journal.push(`${Math.round(performance.now() - startedAt)} ${JSON.stringify(fault)}`);
        busy.set(place, perform(fault));
      }
    },
    repaired: async () => {
      await Promise.all(busy.values());
    },
  };
}

/** A frozen program cannot start, so both faults share one place; every program needs a database to start. */
function placeOf({ kind, target }: Fault): string {
  if (kind === 'kill' || kind === 'freeze') return target;
  return kind === 'deafen' || (kind === 'cut' && isPlane(target)) ? `${target} ${kind}` : `gate of ${target}`;
}
