// The section `toolNames` of the workspace document: maps the tool names of a coding agent to the names that rules use.
import {
  bounds,
  broughtNameProblem,
  childPath,
  type HostName,
  hosts,
  keyedPath,
  nameProblem,
  toolNamesMax,
} from '@tollgate/proto/contract';
import { described, entries, fields, isObject, problem, type Problem, type Shape, text } from '@tollgate/proto/shape';

/**
 * The section as it is stored and returned: the merged content of the writes. Each pair maps a name to a name, or a
 * wildcard to a wildcard.
 */
export type ToolNamesDocument = Readonly<Partial<Record<HostName, Readonly<Record<string, string>>>>>;

const name = { type: 'string', minLength: 1, maxLength: bounds.nameLength };
const ours: Shape = { ...text(bounds.nameLength, nameProblem), schema: name };

const names = described(
  'its name or wildcard, with ours: the exact name before the longest wildcard',
  entries({ problem: nameProblem, schema: name, max: toolNamesMax, inBrackets: true }, ours),
);

const tables = described(
  "names that hosts give tools, each with the workspace's own name for the tool, which rules use",
  fields(Object.fromEntries(hosts.map((host) => [host, names]))),
);

export const toolNamesSection: Shape = {
  check: (value, path) => {
    const wrong = tables.check(value, path);
    return wrong.length > 0 ? wrong : pairProblems(value, path);
  },
  schema: tables.schema,
};

/**
 * Returns the problems of the pairs. For example, a wildcard matches many names and cannot be mapped to a single name.
 */
function pairProblems(value: unknown, path: string): readonly Problem[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([host, table]) =>
    Object.entries(isObject(table) ? table : {}).flatMap(([name, ours]) => {
      const wrong = broughtNameProblem(name, String(ours));
      return wrong === null ? [] : problem(keyedPath(childPath(path, host), name), wrong);
    }),
  );
}
