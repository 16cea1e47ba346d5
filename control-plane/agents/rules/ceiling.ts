// Limits what a member can set in an agent. Owners and admins can require that an agent has certain scopes, or the
// permission to delegate. Without this limit, such requirements would have no effect, because every person who can
// write agents could give them everything that is required. Pure.
import { namesTool } from '@tollgate/proto/contract';
import type { AgentCeiling } from '@tollgate/sidecar/engine/compile';
import type { Problem } from '@tollgate/proto/shape';
import type { AgentFields } from './agent.ts';

/**
 * Returns every field that a member's write would set above the ceiling, with both values. `before`: the agent before
 * the write, or null for a new one.
 */
export function aboveCeiling(before: AgentFields | null, after: AgentFields, ceiling: AgentCeiling): readonly Problem[] {
  const free = { scopes: before?.scopes ?? [], canDelegate: before?.canDelegate ?? false };
  return [
    ...aboveNames('enabledTools', before, after, ceiling.enabledTools),
    ...aboveNames('scopes', before, after, ceiling.scopes ?? free.scopes),
    ...(after.canDelegate && !(ceiling.canDelegate ?? free.canDelegate) && before?.canDelegate !== true
      ? [{ path: 'canDelegate', message: 'may not be set to true by a member' }]
      : []),
    ...aboveCap('maxToolCalls', before, after, ceiling.maxToolCalls),
    ...aboveCap('maxBudgetCents', before, after, ceiling.maxBudgetCents),
  ];
}

const shownMax = 5;

function aboveNames(
  field: 'enabledTools' | 'scopes',
  before: AgentFields | null,
  after: AgentFields,
  most: readonly string[] | undefined,
): readonly Problem[] {
  if (most === undefined || isSame(before?.[field], after[field])) return [];
  const above = after[field].filter((name) => !(field === 'scopes' ? most.includes(name) : namesTool(most, name)));
  return above.length === 0 ? [] : [{ path: field, message: `may not be given ${shown(above)} by a member; at most ${shown(most)}` }];
}

function aboveCap(
  field: 'maxToolCalls' | 'maxBudgetCents',
  before: AgentFields | null,
  after: AgentFields,
  most: number | undefined,
): readonly Problem[] {
  if (most === undefined || before?.[field] === after[field] || after[field] <= most) return [];
  return [{ path: field, message: `may be set to at most ${most} by a member, is ${after[field]}` }];
}

/** Compares as sets: order and duplicates do not matter. */
const isSame = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && b.every((name) => a.includes(name)) && a.every((name) => b.includes(name));

function shown(all: readonly string[]): string {
  if (all.length === 0) return 'nothing';
  const first = all.slice(0, shownMax).map((name) => JSON.stringify(name));
  return `${first.join(', ')}${all.length > shownMax ? ` and ${all.length - shownMax} more` : ''}`;
}
