// Lists the coding agents that send requests by their own hooks, and defines how a workspace adds to the tables that
// map their tool names to ours. The doors are `sidecar/doors/coding-agents`.
import { nameProblem, wildcardPrefix } from './names.ts';

/** The programs whose hooks a sidecar answers, at `/hooks/<host>`. */
export const hosts = ['claude-code', 'codex', 'cursor', 'gemini-cli', 'copilot-cli', 'opencode', 'cline'] as const;
export type HostName = (typeof hosts)[number];

export const isHost = (value: unknown): value is HostName => (hosts as readonly unknown[]).includes(value);

/**
 * Part of a workspace's settings in the snapshot: for each host, in the order of `hosts`, its names with ours, sorted.
 */
export type CompiledToolNames = readonly (readonly [HostName, readonly (readonly [theirs: string, ours: string])[]])[];

/** A workspace that adds nothing. */
export const plainToolNames: CompiledToolNames = [];

/** How many names of each host a workspace may have. */
export const toolNamesMax = 1_000;

/** Returns why a host's name cannot be mapped to this name of ours. Null: it can. */
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
  /** How many characters at its end are as the host wrote them. 0 if one name is mapped to one name. */
  readonly kept: number;
}

/**
 * Looks up `theirs` in the table: its exact name, otherwise the longest wildcard that matches its beginning. Null: the
 * table has no match.
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
