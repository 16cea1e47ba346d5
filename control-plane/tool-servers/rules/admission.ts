// Defines which definitions of a server's tools are admitted. If the workspace pins definitions (`toolDefinitions:
// "pinned"`), only tools with an admitted definition can be used. An owner or admin admits definitions by registering
// the server, or later explicitly.
import { bounds, type ToolHints } from '@tollgate/proto/contract';
import { type Checked, isObject, type JsonSchema, list, problem, type Problem, record, text } from '@tollgate/proto/shape';
import { type DiscoveredTool, type RegisteredToolServer, toolServerBounds } from './tool-server.ts';

/** Digests by tool name without the server's name, sorted. */
export type AdmittedTools = readonly (readonly [tool: string, digest: string])[];

const byTool = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Returns the admission of all tools with their present definitions. Tools that were discovered before digests were
 * stored cannot be admitted.
 */
export const admissionOf = (tools: readonly DiscoveredTool[]): AdmittedTools =>
  tools.flatMap(({ name, digest }) => (digest === null ? [] : [[name, digest] as const])).toSorted(byTool);

export const isAdmitted = (admitted: AdmittedTools, { name, digest }: Pick<DiscoveredTool, 'name' | 'digest'>): boolean =>
  digest !== null && admitted.some(([tool, held]) => tool === name && held === digest);

/**
 * Returns the hints of the admitted definitions. `before`: the hints that were known. A definition that stays admitted
 * keeps its hints, also while the server reports another one.
 */
export function hintsOf(
  admitted: AdmittedTools,
  tools: readonly DiscoveredTool[],
  before: RegisteredToolServer['hints'],
): RegisteredToolServer['hints'] {
  const found = tools.flatMap(({ name, digest, hints }) =>
    digest === null || hints === undefined ? [] : [[name, digest, hints] as const],
  );
  const known = new Map<string, ToolHints>([...before, ...found].map(([tool, digest, hints]) => [definitionKey(tool, digest), hints]));
  return admitted.flatMap(([tool, digest]) => {
    const hints = known.get(definitionKey(tool, digest));
    return hints === undefined ? [] : [[tool, digest, hints] as const];
  });
}

/** A digest contains no space. */
const definitionKey = (tool: string, digest: string): string => `${digest} ${tool}`;

const request = record(
  {
    tools: list(
      toolServerBounds.tools,
      text(bounds.nameLength, () => null),
    ),
  },
  [],
);

/** The schema of an admission request in the API document. */
export const admitSchema: JsonSchema = request.schema;

/** Returns the tools to admit, as `<server>.<tool>`. Null: all discovered tools. */
export function parseAdmission(body: unknown): Checked<readonly string[] | null> {
  const problems = request.check(body, '');
  if (problems.length > 0) return { problems };
  const tools = isObject(body) ? body['tools'] : undefined;
  return { value: Array.isArray(tools) ? tools.map(String) : null };
}

/**
 * Returns the admitted definitions after this request. If the request names tools, the definitions of all other tools
 * stay admitted. This includes tools that the server no longer has, because they can return. If the request admits all
 * tools at once (`wanted` is null), the definitions of tools that the server no longer has are removed.
 */
export function admit(
  before: AdmittedTools,
  server: { readonly name: string; readonly tools: readonly DiscoveredTool[] },
  wanted: readonly string[] | null,
): Checked<AdmittedTools> {
  const named = (tool: DiscoveredTool): string => `${server.name}.${tool.name}`;
  const chosen = wanted === null ? server.tools : server.tools.filter((tool) => wanted.includes(named(tool)));
  const problems: readonly Problem[] = [
    ...(wanted ?? []).flatMap((name, at) =>
      server.tools.some((tool) => named(tool) === name) ? [] : problem(`tools[${at}]`, 'must be a tool of the server'),
    ),
    ...chosen
      .filter(({ digest }) => digest === null)
      .flatMap((tool) =>
        problem('tools', `${named(tool)} has no digest, because an older release discovered it; refresh the tool server first`),
      ),
  ];
  if (problems.length > 0) return { problems };
  const now = admissionOf(chosen);
  const kept = wanted === null ? [] : before.filter(([tool]) => now.every(([other]) => other !== tool));
  return { value: [...kept, ...now].toSorted(byTool) };
}
