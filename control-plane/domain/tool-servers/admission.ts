// Which definitions of its tools a server is held to, where the workspace asks for that (`toolDefinitions: "pinned"`):
// those that an owner or admin has admitted, by registering the server or by saying so afterwards.
import { bounds } from '@tollgate/proto/contract';
import type { Checked } from '../refusal.ts';
import { isObject, list, type JsonSchema, type Problem, problem, record, text } from '../shape.ts';
import { type DiscoveredTool, toolServerBounds } from './tool-server.ts';

/** Digests by tool name without the server's, sorted. */
export type Admitted = readonly (readonly [tool: string, digest: string])[];

const byTool = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : a > b ? 1 : 0);

/** All of them, as they are. What was discovered before digests were kept cannot be. */
export const admissionOf = (tools: readonly DiscoveredTool[]): Admitted =>
  tools.flatMap(({ name, digest }) => (digest === null ? [] : [[name, digest] as const])).toSorted(byTool);

export const isAdmitted = (admitted: Admitted, { name, digest }: Pick<DiscoveredTool, 'name' | 'digest'>): boolean =>
  digest !== null && admitted.some(([tool, held]) => tool === name && held === digest);

const request = record(
  {
    tools: list(
      toolServerBounds.tools,
      text(bounds.nameLength, () => null),
    ),
  },
  [],
);

/** What the API document says of it. */
export const admitSchema: JsonSchema = request.schema;

/** The tools that shall be admitted, `<server>.<tool>`; null: all that were discovered. */
export function parseAdmission(body: unknown): Checked<readonly string[] | null> {
  const problems = request.check(body, '');
  if (problems.length > 0) return { problems };
  const tools = isObject(body) ? body['tools'] : undefined;
  return { value: Array.isArray(tools) ? tools.map(String) : null };
}

/** What is admitted once these are too; tools that the server has no more stay, as they may come back, unless all are meant. */
export function admit(
  before: Admitted,
  server: { readonly name: string; readonly tools: readonly DiscoveredTool[] },
  wanted: readonly string[] | null,
): Checked<Admitted> {
  const named = (tool: DiscoveredTool): string => `${server.name}.${tool.name}`;
  const chosen = wanted === null ? server.tools : server.tools.filter((tool) => wanted.includes(named(tool)));
  const problems: readonly Problem[] = [
    ...(wanted ?? []).flatMap((name, at) =>
      server.tools.some((tool) => named(tool) === name) ? [] : problem(`tools[${at}]`, 'is not a tool that the server has'),
    ),
    ...chosen
      .filter(({ digest }) => digest === null)
      .flatMap((tool) => problem('tools', `${named(tool)} was discovered by a release that kept no digest; refresh the tool server first`)),
  ];
  if (problems.length > 0) return { problems };
  const now = admissionOf(chosen);
  const kept = wanted === null ? [] : before.filter(([tool]) => now.every(([other]) => other !== tool));
  return { value: [...kept, ...now].toSorted(byTool) };
}
