// Reports what is left of limits and caps, as far as sidecars have sent their entries. For limits, the evaluator's own
// functions count the calls of the last window. For caps, the attempts of each run are counted if the run was active
// within the last hour. The cost of runs and the steps of approvals come from their own tables, and are exact.
import { performance } from 'node:perf_hooks';
import { compileAgent, replayedPolicyOf } from '@tollgate/sidecar/engine/compile';
import type { WorkspaceState } from '../../workspaces/rules.ts';
import { unauthenticated } from '../../base/refusal.ts';
import { knownFrom, replayedCall } from '../../policies/evaluate/replayed-call.ts';
import { createUsageCount, type UsageCount, type UsedLimit } from '../../policies/evaluate/usage.ts';
import { type ReplayedRuns, readNewestReceived, readReplay, readRuns } from '../store/audit-replay.ts';
import { isUnavailable } from '../../base/unavailable.ts';
import { readWorkspaceState } from '../../workspaces/store/workspace-state.ts';
import { type OperationDeps, readOperation } from '../../access/operation.ts';
import { countAnswers } from '../../approvals/operations/count-answers.ts';
import { readSpend } from '../../runs/operations/books/read-spend.ts';
import { type ReplayDeps, replayTurns, takeTurn } from './replay.ts';

export interface UsageFilters {
  /** The subject with which a call began. For a delegated call, this is its `originSub`. */
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
/** Maximum time of the whole work. After it, the answer contains what was found so far. */
const workMs = 10_000;
const max = { entries: 100_000, limits: 1_000, sessions: 1_000, users: 1_000 } as const;

/** The codes of calls that count as attempts. These calls reached the check of the caps. */
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

export const readUsage = readOperation('usage.read', async (deps, actor, filters: Nullable<UsageFilters>, { signal }) => {
  const { readingPool, clock, defaults } = deps;
  const { sub = null, agent = null } = filters;
  const now = clock();
  const endsAt = performance.now() + workMs;
  const question: Question = {
    workspaceId: actor.workspaceId,
    now,
    leftMs: () => endsAt - performance.now(),
    ...(signal === undefined ? {} : { signal }),
  };
  const state = await readWorkspaceState(readingPool, actor.workspaceId);
  if (state === null) throw unauthenticated('the workspace of this key no longer exists');
  const policy = replayedPolicyOf(state, state.documents, defaults);
  const count = createUsageCount(policy, { sub, agent });
  const truncated = await withinTime(question, () => countWindow(deps, { ...question, readsInput: policy.readsInput }, state, count), true);
  const limits: readonly UsedLimit[] = count.usedAt(now.getTime());
  const runs = await withinTime(question, () => runsOf(deps, question, { sub, agent }), { runs: [], cut: true });
  const spend = await readSpend(deps, { workspaceId: actor.workspaceId, now, sub, limit: max.users });
  const day = { workspaceId: actor.workspaceId, since: new Date(`${spend.day}T00:00:00Z`), sub, limit: max.users };
  const answers = await withinTime(question, () => countAnswers(deps, day, Math.max(1, question.leftMs())), { users: [], isCut: true });
  const asOf = await readNewestReceived(readingPool, actor.workspaceId);
  return {
    now: now.toISOString(),
    asOf: asOf?.toISOString() ?? null,
    windowSeconds: defaults.windowSeconds,
    limits: limits.slice(0, max.limits),
    uncertain: count.uncertain(),
    caps: capsOf(state, runs),
    spend,
    approvals: { day: spend.day, resetsAt: spend.resetsAt, users: answers.users },
    truncated: truncated || count.cut() || limits.length > max.limits || runs.cut || answers.isCut,
  };
});

type Nullable<T> = { readonly [K in keyof T]?: T[K] | null };

interface Question {
  readonly workspaceId: number;
  readonly now: Date;
  /** What is left of the maximum time of the whole answer. */
  readonly leftMs: () => number;
  readonly signal?: AbortSignal;
}

/** Returns the result of `read`, or `otherwise` if the time is up first. Throws if the caller has disconnected. */
async function withinTime<T>({ leftMs, signal }: Question, read: () => Promise<T>, otherwise: T): Promise<T> {
  signal?.throwIfAborted();
  if (leftMs() <= 0) return otherwise;
  try {
    return await read();
  } catch (reason) {
    if (leftMs() <= 0 && isUnavailable(reason)) return otherwise;
    throw reason;
  }
}

/**
 * Counts the calls of the last window. Returns true if entries were left out, because there were too many or the time
 * was up.
 */
async function countWindow(
  { readingPool, defaults }: OperationDeps,
  { workspaceId, now, leftMs, signal, readsInput }: Question & { readonly readsInput: boolean },
  state: WorkspaceState,
  count: UsageCount,
): Promise<boolean> {
  const known = knownFrom(state);
  const windowFrom = new Date((Math.floor(now.getTime() / 1000) - defaults.windowSeconds) * 1000);
  const replay: ReplayDeps = {
    read: (range) => readReplay(readingPool, workspaceId, range, Math.max(1, leftMs())),
    stopwatch: () => performance.now(),
  };
  let read = 0;
  for await (const turn of replayTurns(replay, { since: windowFrom, until: now, readsInput })) {
    signal?.throwIfAborted();
    // There are more entries at this point, because otherwise `replayTurns` would have ended.
    if (leftMs() <= 0 || (turn.rows > 0 && read >= max.entries)) return true;
    read += turn.rows;
    await takeTurn(turn, replay.stopwatch, (entry) => {
      count.take(replayedCall(entry, known, readsInput));
      return true;
    });
  }
  return false;
}

function runsOf(
  { readingPool }: OperationDeps,
  { workspaceId, now, leftMs }: Question,
  filters: { readonly sub: string | null; readonly agent: string | null },
) {
  const active = new Date(now.getTime() - hourMs);
  // The attempts of the last day are counted, because no run is longer than a day.
  const counted = new Date(now.getTime() - dayMs);
  return readRuns(readingPool, workspaceId, { active, counted, attempts, ...filters, max }, Math.max(1, leftMs()));
}

/** Agents that no longer exist have no caps. */
function capsOf({ agents }: WorkspaceState, { runs }: ReplayedRuns): readonly UsedCap[] {
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  return runs.flatMap(({ sessionId, agentId, sub, attempts: toolCalls, since }) => {
    const agent = byId.get(agentId);
    if (agent === undefined) return [];
    const { maxToolCalls } = compileAgent(agent);
    const left = Math.max(0, maxToolCalls - toolCalls);
    return [{ sessionId, agent: agent.name, agentId, sub, maxToolCalls, toolCalls, left, since: since.toISOString() }];
  });
}
