// One run of kills from its seed to its findings: starts everything, breaks it by the plan under load, lets it recover,
// and checks.
import { cpSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from '../../support/programs.ts';
import { keepCalling, type RefusalCounts } from './calls.ts';
import { type ChainResult, keepCheckpoint, verifyChain } from './chain.ts';
import { checkEvidence, type Findings, type Violation } from './checker.ts';
import { readStored } from './evidence.ts';
import { createBreaking } from './faults.ts';
import { heal, type RecoveryReport } from './healing.ts';
import { type PlanOptions, planeNames, planOf } from './plan.ts';
import { createRandom } from './random.ts';
import { agentNames, createWorld, ownerKey, type World, windowSeconds } from './world.ts';
import { createWriting, keepWriting } from './writes.ts';

export interface Outcome {
  readonly options: PlanOptions;
  readonly findings: Findings;
  readonly healed: RecoveryReport;
  readonly chain: ChainResult;
  readonly kills: ReadonlyMap<string, number>;
  readonly barred: RefusalCounts;
  readonly unanswered: number;
  readonly failedStarts: number;
  readonly writes: number;
  readonly seconds: number;
  /**
   * Violations of what must be true however busy the machine is; recoveries that were too slow are in `healed.late`.
   */
  readonly violations: readonly Violation[];
  /** The folder where the output of the programs is kept; null: there was no violation. */
  readonly kept: string | null;
}

const keysOf = async (world: World): Promise<readonly [string, string]> => {
  const rest = world.planeAt(planeNames[0])?.rest ?? '';
  const make = async (name: string, scopes: readonly string[]): Promise<string> => {
    const { status, body } = await ask(`${rest}/default/admin/keys`, ownerKey, { body: { name, scopes } });
    if (status >= 300) throw new Error(`a key was not made: ${status} ${JSON.stringify(body)}`);
    return String(body['key']);
  };
  return [await make('sidecar', ['sidecar.sync', 'govern']), await make('agent', ['govern'])];
};

/** When `until` is aborted, the run breaks nothing more, and continues to the end. */
export async function runKills(options: PlanOptions, until: AbortSignal): Promise<Outcome> {
  const startedAt = performance.now();
  const random = createRandom(options.seed);
  let keys: readonly [string, string] = ['', ''];
  const world = await createWorld({ key: () => keys[0] });
  try {
    await Promise.all(planeNames.map((name) => world.start(name)));
    keys = await keysOf(world);
    const writer = createWriting(world);
    await writer.writeFirst();
    await keepCheckpoint(world);
    await Promise.all(agentNames.map((name) => world.start(name)));
    const load = keepCalling(world, keys, random.fork('calls'));
    const writing = keepWriting(writer, random.fork('writes'));
    const breaking = createBreaking(world, load);
    await breaking.run(planOf(options), until);
    await breaking.repaired();
    const healed = await heal(world, load, writing);
    const chain = await verifyChain(world);
    const stored = await readStored(world.postgres);
    const { lostDisks } = world;
    const evidence = { ...stored, calls: load.calls, lostDisks, writes: writing.writes, windowSeconds, limitsHoldOver: 'all' as const };
    const findings = checkEvidence(evidence);
    const violations = [...findings.violations, ...healed.violations, ...chain.violations];
    const wrong = [...violations, ...healed.late];
    return {
      options,
      findings,
      healed,
      chain,
      kills: breaking.kills,
      barred: load.barred,
      unanswered: load.unanswered(),
      failedStarts: [...world.programs.values()].reduce((sum, each) => sum + each.failedStarts, 0),
      writes: writing.writes.length,
      seconds: Math.round((performance.now() - startedAt) / 1000),
      violations,
      kept: wrong.length === 0 ? null : await keepLogs(world, { seed: options.seed, journal: breaking.journal, violations: wrong }),
    };
  } finally {
    await world.close();
  }
}

interface SavedRun {
  readonly seed: number;
  readonly journal: readonly string[];
  readonly violations: readonly Violation[];
}

/** Copies the files that are needed to understand a violation, before the folder is removed. */
async function keepLogs(world: World, { seed, journal, violations }: SavedRun): Promise<string> {
  for (const program of world.programs.values()) await program.end();
  const folder = join(process.env['TOLLGATE_TEST_KEPT'] ?? tmpdir(), `tollgate-kills-failed-${seed}`);
  cpSync(join(world.folder, 'logs'), folder, { recursive: true });
  writeFileSync(join(folder, 'journal'), `${journal.join('\n')}\n`);
  writeFileSync(join(folder, 'violations'), `${violations.map(({ invariant, what }) => `${invariant}: ${what}`).join('\n')}\n`);
  return folder;
}
