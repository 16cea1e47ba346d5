// What conditions cost: the time that cases add to a governed call, the time and the memory of a snapshot with 2,000
// cases, and the evaluator compared with two libraries that evaluate the same expressions.
import { randomUUID } from 'node:crypto';
import { celEnv, celList, celMap, type CelInput, parse, plan } from '@bufbuild/cel';
import { Environment as CelJs } from '@marcbachmann/cel-js';
import type { CompiledCase } from '@tollgate/proto/contract';
import { indexEntries, type SnapshotEntry } from '@tollgate/sidecar/engine/compile';
import { systemClock } from '../../sidecar/base/clock.ts';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { readCondition } from '../../sidecar/engine/compile/condition.ts';
import { compileCondition } from '../../sidecar/engine/conditions/condition.ts';
import type { Governing } from '../../sidecar/engine/govern/governing.ts';
import { createOwedEntries } from '../../sidecar/engine/govern/owed-entries.ts';
import { createCounters } from '../../sidecar/engine/limits/counters.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import type { SnapshotMessage } from '../../sidecar/engine/snapshot/verify.ts';
import { collectGarbage } from './garbage.ts';
import { type BatchTimer, comparePairs, judge, judgeAmount, median, orient, type Result, timeBatch } from './measure.ts';
import type { TargetId } from './targets.ts';
import { benchSnapshot, type CasesOf, toolName } from './world.ts';

const rounds = 9;

export function benchConditions(): readonly Result[] {
  return [...addedTimes(), ...snapshots(), ...expressions.flatMap(evaluators)];
}

function expressionOf(source: string): CompiledCase['when'] {
  const read = readCondition(source);
  if ('problem' in read) throw new Error(`${source}: ${read.problem.message}`);
  return read.expression;
}

const caseOf = (source: string): CompiledCase => ({ name: source.slice(0, 64), when: expressionOf(source), permission: 'allow' });

/** None holds for the input, so that all ten are evaluated. */
const ten = [
  'args.limit > 1000',
  'args.limit == 7',
  'args.path.startsWith("/etc/")',
  'args.path.endsWith(".key")',
  'args.note == "confidential"',
  'args.note.contains("secret")',
  'args.limit < 0 || args.limit > 5000',
  '!(args.path.startsWith("/srv/"))',
  '"w" in args.flags',
  'args.limit >= 200 && args.note != ""',
].map(caseOf);

/** What cases add to a governed call. Undecided: the input lacks every field that they read. */
function addedTimes(): readonly Result[] {
  const decided = (at: number): object => ({ path: `/srv/data/${at}.json`, limit: 100, flags: ['r', 'nofollow'], note: 'monthly report' });
  const undecided = (at: number): object => ({
    file: `/srv/data/${at}.json`,
    count: 100,
    modes: ['r', 'nofollow'],
    text: 'monthly report',
  });
  const added = (id: TargetId, name: string, cases: readonly CompiledCase[], inputOf: (at: number) => object): Result => {
    const [subject, baseline] = [governed(() => cases, inputOf), governed(undefined, inputOf)];
    const ns = addedNs(cpuOf(subject), cpuOf(baseline));
    return judgeAmount(id, ns / 1_000, { name, value: ns / 1_000, unit: 'µs', baseline: 'the same call without cases' });
  };
  return [
    added('C1', 'C1 one condition, added to a governed call', ten.slice(0, 1), decided),
    added('C1', 'C1 one undecided condition, added to a governed call', ten.slice(0, 1), undecided),
    added('C2', 'C2 ten conditions, added to a governed call', ten, decided),
    added('C2', 'C2 ten undecided conditions, added to a governed call', ten, undecided),
  ];
}

/** Mean ns of CPU of one of `batch` calls. An amount is compared with a target, and other programs must not be in it. */
function cpuOf(run: (at: number) => void): BatchTimer {
  return (batch) => {
    const startedAt = process.cpuUsage();
    for (let at = 0; at < batch; at++) run(at);
    const { user, system } = process.cpuUsage(startedAt);
    return ((user + system) * 1_000) / batch;
  };
}

/** Median of the differences of pairs, in ns. */
function addedNs(subject: BatchTimer, baseline: BatchTimer): number {
  const batch = 20_000;
  subject(batch);
  baseline(batch);
  return median(Array.from({ length: rounds }, () => subject(batch) - baseline(batch)));
}

/** One call of a run whose entries are not written. */
function governed(casesOf: CasesOf | undefined, inputOf: (at: number) => object): (at: number) => void {
  const tools = 200;
  const clock = systemClock;
  const cell = createPolicyCell(clock, 'bench');
  const offered = cell.offer(benchSnapshot(tools, casesOf));
  if (!offered.ok) throw new Error(offered.message);
  cell.heard(1);
  const governing = {
    cell,
    counters: createCounters(60),
    govern: { cell, clock, newId: randomUUID, keepInput: true },
    spool: { append: () => 1 },
    durability: 'kernel',
    owed: createOwedEntries(),
    unrecorded: 0,
    unconfirmed: 0,
  } as unknown as Governing;
  const run = startRun(governing, { agent: 'worker', tier: 'api', client: { name: 'bench' } });
  return (at) => {
    const verdict = run.decide({ tool: toolName(at % tools), input: inputOf(at) });
    if (verdict instanceof Promise || !verdict.allowed) throw new Error('the call was not permitted at once');
  };
}

const tools = 2_000;

/** 2,000 cases, each with a condition that no other has. */
function snapshots(): readonly Result[] {
  let text = 0;
  const fresh = (): SnapshotMessage =>
    benchSnapshot(tools, () => [caseOf(`args.amount > ${++text} && args.currency == "EUR" || "finance" in agent.scopes`)]);
  const without = benchSnapshot(tools);
  const build = ({ entries }: SnapshotMessage): void => {
    kept = indexEntries(entries as readonly SnapshotEntry[], { workspace: 'bench', epoch: 'bench', revision: 1 });
  };
  const messages = Array.from({ length: 8 }, fresh);
  let at = 0;
  const { ns, ratio } = comparePairs(
    timeBatch(() => build(messages[at++] ?? without)),
    timeBatch(() => build(without)),
    { batch: 1, rounds: messages.length - 1 },
  );
  const bytes = memoryOf(() => build(fresh())) - memoryOf(() => build(without));
  return [
    judge('C3', {
      name: 'C3 a snapshot with 2,000 cases is read, each with a condition of its own',
      value: ns / 1e6,
      unit: 'ms',
      baseline: 'the same 8,000 rules without cases',
      ratio,
    }),
    orient({
      name: 'C3 memory of a case with its condition',
      value: bytes / tools,
      unit: 'B',
      baseline: 'the same rules without cases',
      ratio: 0,
    }),
  ];
}

// Held here, so that it is in memory when that is measured.
let kept: unknown = null;

function memoryOf(build: () => void): number {
  kept = null;
  const before = collectGarbage();
  build();
  const bytes = collectGarbage() - before;
  if (kept === null) throw new Error('nothing was built');
  return bytes;
}

interface Measured {
  readonly expression: string;
  /** For cel-js, which does not compare a text with an unknown type. */
  readonly context: Readonly<Record<string, unknown>>;
}

const items = Array.from({ length: 10 }, (_, at) => ({ price: at, kind: 'y' }));
const context = {
  args: { amount: 150.5, command: 'git status', items },
  agent: { name: 'worker', scopes: ['read', 'write', 'finance'] },
  tool: { name: 'payments.transfer', server: 'payments' },
};

const expressions: readonly Measured[] = [
  'args.amount > 100.0',
  'args.command.startsWith("git ")',
  'args.items.exists(i, i.price > 10.0 && i.kind == "x")',
  '"finance" in agent.scopes && tool.server == "payments"',
].map((expression) => ({ expression, context }));

function evaluators(measured: Measured): readonly Result[] {
  const { expression } = measured;
  const ours = timeOurs(measured);
  const library = comparePairs(ours, timeBufbuild(measured), { batch: 20_000, rounds });
  const celJs = comparePairs(ours, timeCelJs(measured), { batch: 20_000, rounds });
  const row = { value: library.ns, unit: 'ns' };
  return [
    judge('C4', {
      ...row,
      name: `C4 ${expression}`,
      baseline: `@bufbuild/cel (${Math.round(library.baselineNs)} ns)`,
      ratio: library.ratio,
    }),
    judge('C4', {
      ...row,
      name: `C4 ${expression}`,
      baseline: `@marcbachmann/cel-js (${Math.round(celJs.baselineNs)} ns)`,
      ratio: celJs.ratio,
    }),
  ];
}

function timeOurs({ expression, context: variables }: Measured): BatchTimer {
  const condition = compileCondition(expressionOf(expression));
  return timeBatch(() => {
    if (typeof condition.evaluate({ variables, steps: 0, slots: [] }) !== 'boolean') throw new Error(`${expression} is undecided`);
  });
}

function wrapped(value: unknown): CelInput {
  if (Array.isArray(value)) return celList(value.map(wrapped));
  if (typeof value !== 'object' || value === null) return value as CelInput;
  return celMap(new Map(Object.entries(value).map(([key, of]) => [key, wrapped(of)])));
}

/** Its maps are made before, as its documentation advises. */
function timeBufbuild({ expression, context: variables }: Measured): BatchTimer {
  const evaluate = plan(celEnv(), parse(expression));
  const input = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, wrapped(value)]));
  return timeBatch(() => {
    if (typeof evaluate(input) !== 'boolean') throw new Error(`${expression} is an error`);
  });
}

function timeCelJs({ expression, context: variables }: Measured): BatchTimer {
  const environment = new CelJs();
  for (const name of Object.keys(variables)) environment.registerVariable(name, 'map');
  const evaluate = environment.parse(expression);
  return timeBatch(() => {
    if (typeof evaluate(variables) !== 'boolean') throw new Error(`${expression} is an error`);
  });
}
