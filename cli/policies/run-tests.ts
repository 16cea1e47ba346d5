// Decides the calls of a test file by its policies, and compares each decision with what is expected. The code that
// decides is that of the sidecars: `@tollgate/sidecar/engine/compile`. Nothing is sent, and no clock is read.
import { dirname, isAbsolute, join } from 'node:path';
import { Readable } from 'node:stream';
import { capBounds } from '@tollgate/proto/contract';
import type { TriedCase, TriedDecision, TriedWorld } from '@tollgate/sidecar/engine/compile';
import { Failure } from '../failure.ts';
import { readPolicySet } from './policy-files.ts';
import type { TestCall, TestFile } from './test-file.ts';
import type { Annotations, Expected, TestWorld } from './test-shape.ts';

type Compiler = typeof import('@tollgate/sidecar/engine/compile');

/** A field of the decision that is not as expected. */
interface Difference {
  readonly field: keyof Expected;
  readonly expected: string;
  readonly got: string;
}

export interface TestedCall {
  readonly call: TestCall;
  readonly got: TriedDecision;
  /** Empty: the decision is as expected. */
  readonly differences: readonly Difference[];
}

export interface TestedFile {
  readonly file: string;
  readonly calls: readonly TestedCall[];
}

/**
 * Loads the code that decides. It is an optional package, because the other commands do not need it. `version`: of this
 * command line.
 */
export async function loadCompiler(version: string): Promise<Compiler> {
  try {
    return await import('@tollgate/sidecar/engine/compile');
  } catch (error) {
    if (!isMissing(error)) throw error;
    const install = `npm install @tollgate/sidecar@${version}`;
    throw new Failure(
      'policy test decides calls by the package @tollgate/sidecar, which is not installed here',
      [`install it: ${install}`],
      error,
    );
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'ERR_MODULE_NOT_FOUND' &&
  error.message.includes("package '@tollgate/sidecar'");

const windowSeconds = 60;

/** Returns the problems of the policies or of calls if there are any. Then no result is meaningful. */
export async function runTestFile(compiler: Compiler, test: TestFile): Promise<TestedFile | { readonly problems: readonly string[] }> {
  const folder = dirname(test.file);
  const paths = test.policies.map((path) => (isAbsolute(path) ? path : join(folder, path)));
  const set = await readPolicySet(paths, Readable.from([]));
  if ('problems' in set) return set;
  const parsed = compiler.parsePolicySet(set.value);
  if ('problems' in parsed) return { problems: parsed.problems.map(({ path, message }) => `${set.placeOf(path)}: ${path} ${message}`) };
  const trial = compiler.createTrial(worldOf(test, parsed.value.documents), { defaultPermission: test.defaultPermission, windowSeconds });
  const calls = test.calls.map((call): TestedCall => {
    const got = trial(call);
    return { call, got, differences: differencesOf(call.expected, got) };
  });
  const timeless = calls.filter(({ got }) => got.needsTime);
  return timeless.length === 0 ? { file: test.file, calls } : { problems: timeless.map(({ call }) => timeProblem(call)) };
}

const timeProblem = ({ place, name }: TestCall): string =>
  `${place}: a condition reads now, and the call ${JSON.stringify(name)} has no time; give it one, such as now: 2026-06-01T09:30:00Z`;

function worldOf({ world, calls }: TestFile, documents: TriedWorld['documents']): TriedWorld {
  const called = [...new Set(calls.map(({ tool }) => tool))];
  return {
    documents,
    members: Object.entries(world.members).map(([uid, role]) => ({ uid, email: '', role })),
    agents: Object.entries(world.agents).flatMap(([name, { enabledTools = called, scopes = [], registered = true }]) =>
      registered ? [{ id: name, name, enabledTools, scopes, ...profile }] : [],
    ),
    servers: Object.entries(world.toolServers).map(([name, tools]) => ({
      name,
      tools: Object.entries(tools).map(([tool, { requiredScopes = [] }]) => ({ name: tool, requiredScopes })),
      target: null,
      admitted: [],
      ...hintsIn(tools),
    })),
  };
}

/** The hints of tools, in the form of a snapshot: sorted by tool. */
function hintsIn(tools: TestWorld['toolServers'][string]): { readonly hints?: readonly (readonly [tool: string, hints: Annotations])[] } {
  const hints = Object.entries(tools).flatMap(([tool, { annotations }]) =>
    annotations === undefined ? [] : [[tool, annotations] as const],
  );
  return hints.length === 0 ? {} : { hints: hints.toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}

/** One call reaches none of these caps. */
const profile = {
  suspended: false,
  maxToolCalls: capBounds.maxToolCalls.max,
  maxBudgetCents: capBounds.maxBudgetCents.max,
  maxDurationMs: capBounds.maxDurationMs.max,
  maxToolRounds: capBounds.maxToolRounds.max,
  delegatable: false,
  canDelegate: false,
  maxDelegationDepth: null,
};

function differencesOf(expected: Expected, got: TriedDecision): readonly Difference[] {
  const differences: Difference[] = [];
  const check = (field: Difference['field'], isRight: boolean, wanted: string, found: string): void => {
    if (!isRight) differences.push({ field, expected: wanted, got: found });
  };
  const acting = got.cases.filter(({ acts }) => acts);
  const undecided = got.cases.filter(({ result }) => result === 'undecided');
  check('decision', expected.decision === got.decision, expected.decision, got.decision);
  if (expected.case === null) check('case', acting.length === 0, 'none', namesOf(acting));
  else if (expected.case !== undefined) {
    const { case: name } = expected;
    check('case', acting.some(isNamed(name)), name, namesOf(acting));
  }
  if (expected.transform !== undefined) check('transform', expected.transform === got.transform, expected.transform, got.transform);
  if (expected.reason !== undefined) check('reason', got.reason.includes(expected.reason), `… ${expected.reason} …`, got.reason);
  if (expected.undecided !== undefined) {
    const { undecided: names } = expected;
    const isRight =
      names.every((name) => undecided.some(isNamed(name))) && undecided.every((one) => names.some((name) => isNamed(name)(one)));
    check('undecided', isRight, names.join(', ') || 'none', namesOf(undecided));
  }
  if (expected.limits !== undefined) {
    const [wanted, found] = [expected.limits, got.limits].map((limits) => limits.toSorted((a, b) => a - b).join(', ') || 'none');
    check('limits', wanted === found, String(wanted), String(found));
  }
  return differences;
}

const isNamed =
  (name: string) =>
  (one: TriedCase): boolean =>
    one.name === name || one.path === name || `${one.document} ${one.path}` === name;

const namesOf = (cases: readonly TriedCase[]): string => (cases.length === 0 ? 'none' : cases.map(({ name }) => name).join(', '));
