// Lists the coding agents whose own hooks send requests to a sidecar. Maps the tool names of these agents to ours, by a
// table that each workspace can define. The doors for these agents are in `sidecar/doors/coding-agents`.
import { nameProblem, wildcardPrefix } from './names.ts';

/** The programs whose hooks a sidecar answers, at `/hooks/<host>`. */
export const hosts = ['claude-code', 'codex', 'cursor', 'gemini-cli', 'copilot-cli', 'opencode', 'cline'] as const;
export type HostName = (typeof hosts)[number];

export const isHost = (value: unknown): value is HostName => (hosts as readonly unknown[]).includes(value);

/**
 * Part of a workspace's settings in the snapshot. For each host, in the order of `hosts`: pairs of the host's name for
 * a tool and our name, sorted.
 */
export type CompiledToolNames = readonly (readonly [HostName, readonly (readonly [theirs: string, ours: string])[]])[];

/** The value for a workspace that maps no names. */
export const plainToolNames: CompiledToolNames = [];

/** The maximum number of names that a workspace may map for each host. */
export const toolNamesMax = 1_000;

/** Returns why the host's name `theirs` cannot be mapped to our name `ours`. Null: it can be mapped. */
export function broughtNameProblem(theirs: string, ours: string): string | null {
  const problem = nameProblem(ours);
  if (problem !== null) return problem;
  const isMany = wildcardPrefix(theirs) !== null;
  if (isMany && wildcardPrefix(ours) === null) return 'must end in .* _* /* :* or -*, as the name that it stands for does';
  if (!isMany && ours.endsWith('*')) return 'must be one name, as the name that it stands for is';
  return null;
}

export interface BroughtName {
  readonly ours: string;
  /**
   * How many characters at the end of `ours` are copied from the host's name. 0 if the table maps exactly this name.
   */
  readonly kept: number;
}

/**
 * Looks up `theirs` in the table. An exact name is preferred. Otherwise the longest wildcard that matches its beginning
 * is used. Null: the table has no match.
 */
export function broughtName(table: ReadonlyMap<string, string>, theirs: string): BroughtName | null {
  const exact = table.get(theirs);
  if (exact !== undefined && wildcardPrefix(theirs) === null) return { ours: exact, kept: 0 };
  for (let end = theirs.length; end > 0; end--) {
    const ours = table.get(`${theirs.slice(0, end)}*`);
    const prefix = ours === undefined || wildcardPrefix(`${theirs.slice(0, end)}*`) === null ? null : wildcardPrefix(ours);
    if (prefix !== null) return { ours: prefix + theirs.slice(end), kept: theirs.length - end };
  }
  return null;
}

export const broughtBy = (table: ReadonlyMap<string, string>, theirs: string): string | null => broughtName(table, theirs)?.ours ?? null;
