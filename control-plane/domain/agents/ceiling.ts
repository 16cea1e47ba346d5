// How far a member may go with an agent. What owners and admins require of agents (scopes, delegation) would bind nobody if whoever may
// write agents could give them all of it. Pure.
import { bounds, nameProblem, namesTool } from '@tollgate/proto/contract';
import { described, fields, integer, list, oneOf, type Problem, type Shape, text } from '../shape.ts';
import { type AgentFields, capBounds } from './agent.ts';

/** Of the workspace; what it does not name is free, but for `scopes` and `canDelegate`. */
export interface AgentCeiling {
  /** As in an agent: an ending `*` for all that begin so. */
  readonly enabledTools?: readonly string[];
  readonly scopes?: readonly string[];
  readonly canDelegate?: boolean;
  readonly maxToolCalls?: number;
  readonly maxBudgetCents?: number;
}

const name: Shape = {
  check: text(bounds.nameLength, nameProblem).check,
  schema: { type: 'string', minLength: 1, maxLength: bounds.nameLength },
};
const names = (max: number): Shape => list(max, name);

export const agentCeiling = described(
  'what members may give agents; absent: no scope and no delegating that the agent lacks, and all else. Owners and admins are free',
  fields({
    enabledTools: names(1000),
    scopes: names(200),
    canDelegate: oneOf(true, false),
    maxToolCalls: integer(0, capBounds.maxToolCalls.max),
    maxBudgetCents: integer(0, capBounds.maxBudgetCents.max),
  }),
);

/** Every field that a member's write would bring above the ceiling, with both. `before`: the agent as it is, or null for a new one. */
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

/** In whatever order, and however often. */
const isSame = (a: readonly string[] | undefined, b: readonly string[]): boolean =>
  a !== undefined && b.every((name) => a.includes(name)) && a.every((name) => b.includes(name));

function shown(all: readonly string[]): string {
  if (all.length === 0) return 'nothing';
  const first = all.slice(0, shownMax).map((name) => JSON.stringify(name));
  return `${first.join(', ')}${all.length > shownMax ? ` and ${all.length - shownMax} more` : ''}`;
}
