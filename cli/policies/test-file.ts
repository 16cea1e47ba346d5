// Reads a file of policy tests: the policies that it is about, the workspace in which the calls are made, and the calls
// with what is expected of each. All problems are reported together, with file, line and column.
import type { Role, Tier } from '@tollgate/proto/contract';
import { type Problem, problem } from '@tollgate/proto/shape';
import { parseText } from './policy-text.ts';
import { type Expected, testFileShape, type TestWorld, type WrittenCall, type WrittenFile } from './test-shape.ts';

export interface TestCall {
  readonly name: string;
  readonly caller: { readonly sub: string } | { readonly role: Role };
  readonly agent: string;
  readonly client: string;
  readonly tier: Tier;
  readonly tool: string;
  readonly input: unknown;
  /** In ms since 1970. Null: the call has no time. */
  readonly wallTime: number | null;
  readonly expected: Expected;
  /** `file:line:column`. */
  readonly place: string;
}

export interface TestFile {
  readonly file: string;
  /** Files of policies, from the folder of the test file. */
  readonly policies: readonly string[];
  readonly defaultPermission: 'allow' | 'deny';
  readonly world: TestWorld;
  readonly calls: readonly TestCall[];
}

/** Reads the text of a test file. `file`: its name in problems. */
export async function parseTestFile(file: string, content: string): Promise<TestFile | { readonly problems: readonly string[] }> {
  const parsed = await parseText(file, content);
  if ('problems' in parsed) return parsed;
  const { value, placeOf } = parsed;
  const placed = (problems: readonly Problem[]): { readonly problems: readonly string[] } => ({
    problems: problems.map(({ path, message }) => `${placeOf(path)}: ${path === 'body' ? 'the file' : path} ${message}`),
  });
  if (value['version'] !== undefined && value['version'] !== 1)
    return placed(problem('version', 'must be 1: this is the only version of the format that this tollgate command reads'));
  const wrong = testFileShape.check(value, '');
  if (wrong.length > 0) return placed(wrong);
  const contradictions = contradictionsIn(value as unknown as WrittenFile);
  return contradictions.length > 0 ? placed(contradictions) : testFileOf(file, value as unknown as WrittenFile, placeOf);
}

/** Returns the problems of fields that name something else in the file, or need another field. */
function contradictionsIn({ policies, world = {}, defaults = {}, calls }: WrittenFile): readonly Problem[] {
  const seen = new Map<string, number>();
  const known = (what: string, name: string | undefined, all: object | undefined, path: string): readonly Problem[] =>
    name === undefined || Object.hasOwn(all ?? {}, name)
      ? []
      : problem(path, `is ${JSON.stringify(name)}, which is not in world.${what}; ${listed(what, all)}`);
  const ofCall = (one: WrittenCall, path: string): readonly Problem[] => [
    ...(one.sub !== undefined && one.role !== undefined
      ? problem(`${path}.role`, 'must not be given together with sub: a member has the role that world.members says')
      : []),
    ...known('members', one.sub, world.members, `${path}.sub`),
    ...known('agents', one.agent, world.agents, `${path}.agent`),
  ];
  return [
    ...(policies.length === 0 ? problem('policies', 'must name at least one file') : []),
    ...(calls.length === 0 ? problem('calls', 'must have at least one call') : []),
    ...ofCall(defaults, 'defaults'),
    ...calls.flatMap((one, at) => {
      const before = seen.get(one.name);
      seen.set(one.name, at);
      return [
        ...(before === undefined
          ? []
          : problem(`calls[${at}].name`, `must be unique, but ${JSON.stringify(one.name)} is already the name of calls[${before}]`)),
        ...(one.tool === undefined && defaults.tool === undefined ? problem(`calls[${at}].tool`, 'is required, here or in defaults') : []),
        ...ofCall(one, `calls[${at}]`),
      ];
    }),
  ];
}

function listed(what: string, all: object | undefined): string {
  const known = Object.keys(all ?? {});
  if (known.length === 0) return `add it there`;
  return `${what} are ${known.slice(0, 10).join(', ')}${known.length > 10 ? ', …' : ''}`;
}

function testFileOf(file: string, written: WrittenFile, placeOf: (path: string) => string): TestFile {
  const { policies, defaultPermission = 'allow', world = {}, defaults = {}, calls } = written;
  return {
    file,
    policies,
    defaultPermission,
    world: { members: world.members ?? {}, agents: world.agents ?? {}, toolServers: world.toolServers ?? {} },
    calls: calls.map((one, at): TestCall => {
      const sub = one.sub ?? (one.role === undefined ? defaults.sub : undefined);
      const time = one.now ?? defaults.now;
      return {
        name: one.name,
        caller: sub === undefined ? { role: one.role ?? defaults.role ?? 'member' } : { sub },
        agent: one.agent ?? defaults.agent ?? '',
        client: one.client ?? defaults.client ?? 'tollgate',
        tier: one.tier ?? defaults.tier ?? 'interactive',
        tool: one.tool ?? defaults.tool ?? '',
        input: one.input ?? {},
        wallTime: time === undefined ? null : Date.parse(time),
        expected: typeof one.expect === 'string' ? { decision: one.expect } : one.expect,
        place: placeOf(`calls[${at}]`),
      };
    }),
  };
}
