// What is left of limits and caps, as far as sidecars have told: entries that they still hold are not counted. Limits are
// counted by the evaluator's own windows over the calls of one window, caps over the attempts of each run that was
// active within the hour.
import { setImmediate } from 'node:timers/promises';
import { compileAgent } from '../../compile/compile.ts';
import { knownFrom, recordedCall } from '../../compile/recorded-call.ts';
import { recordedPolicyOf } from '../../compile/recorded-policy.ts';
import type { WorkspaceState } from '../../compile/state.ts';
import { createUsageCount, type UsageCount, type UsedLimit } from '../../compile/usage.ts';
import type { AuditPosition } from '../../domain/audit/audit-query.ts';
import { unauthenticated } from '../../domain/refusal.ts';
import { type RecordedRuns, readNewestReceived, readReplay, readRuns } from '../../store/audit-replay.ts';
import { readWorkspaceState } from '../../store/workspace-state.ts';
import { type Deps, readOperation } from '../operation.ts';

export interface UsageFilters {
  /** Of the caller that a call began with. */
  readonly sub?: string;
  /** The exact name of an agent. */
  readonly agent?: string;
}

export interface UsedCap {
  readonly sessionId: string;
  readonly agent: string;
  readonly agentId: string;
  readonly sub: string;
  readonly maxToolCalls: number;
  readonly toolCalls: number;
  readonly left: number;
  readonly since: string;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const max = { entries: 100_000, limits: 1_000, sessions: 1_000 } as const;

/** A decision that got as far as the caps counts as an attempt. */
const attempts = [
  'allowed',
  'policy_denied',
  'rate_limited',
  'redaction_unsupported',
  'cap_duration',
  'cap_tool_rounds',
  'cap_tool_calls',
  'cap_budget',
] as const;

export const readUsage = readOperation('usage.read', async (deps, actor, { sub = null, agent = null }: Nullable<UsageFilters>) => {
  const { pool, clock, defaults } = deps;
  const now = clock();
  const state = await readWorkspaceState(pool, actor.workspaceId);
  if (state === null) throw unauthenticated('the workspace of this key is gone');
  const count = createUsageCount(recordedPolicyOf(state, state.documents, defaults), { sub, agent });
  const truncated = await countWindow(deps, actor.workspaceId, { state, now, count });
  const limits: readonly UsedLimit[] = count.usedAt(now.getTime());
  // No run is longer than a day.
  const active = new Date(now.getTime() - hourMs);
  const counted = new Date(now.getTime() - dayMs);
  const runs = await readRuns(pool, actor.workspaceId, { active, counted, attempts, sub, agent, max });
  const asOf = await readNewestReceived(pool, actor.workspaceId);
  return {
    now: now.toISOString(),
    asOf: asOf?.toISOString() ?? null,
    windowSeconds: defaults.windowSeconds,
    limits: limits.slice(0, max.limits),
    caps: capsOf(state, runs),
    truncated: truncated || limits.length > max.limits || runs.cut,
  };
});

type Nullable<T> = { readonly [K in keyof T]?: T[K] | null };

interface Window {
  readonly state: WorkspaceState;
  readonly now: Date;
  readonly count: UsageCount;
}

/** Whether there were more entries than may be read. */
async function countWindow({ pool, defaults }: Deps, workspaceId: number, { state, now, count }: Window): Promise<boolean> {
  const known = knownFrom(state);
  const since = new Date((Math.floor(now.getTime() / 1000) - defaults.windowSeconds) * 1000);
  let read = 0;
  for (let after: AuditPosition | null = null; ; ) {
    const page = await readReplay(pool, workspaceId, { since, until: now, after });
    for (const entry of page.entries) count.take(recordedCall(entry, known));
    read += page.rows;
    if (page.after === null) return false;
    if (read >= max.entries) return true;
    after = page.after;
    await setImmediate();
  }
}

/** Of agents that there are no longer, no caps hold. */
function capsOf({ agents }: WorkspaceState, { runs }: RecordedRuns): readonly UsedCap[] {
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return runs.flatMap(({ sessionId, agentId, sub, attempts: toolCalls, since }) => {
    const agent = byId.get(agentId);
    if (agent === undefined) return [];
    const { maxToolCalls } = compileAgent(agent);
    const left = Math.max(0, maxToolCalls - toolCalls);
    return [{ sessionId, agent: agent.name, agentId, sub, maxToolCalls, toolCalls, left, since: since.toISOString() }];
  });
}
