// Governs the calls of the Claude Agent SDK by its hooks. The SDK makes a call if a hook fails or takes too long.
// Therefore each answer is a regular one, a wait for a person ends before the SDK's own limit, and `onFailure` blocks.
import { nameProblem } from '@tollgate/proto/contract';
import { type AfterEvent, type BeforeEvent, claudeCode, type HostCall } from '@tollgate/proto/hosts';
import { LRUCache } from 'lru-cache';
import { type Permit, ToolDenied } from '../../engine/govern/verdict.ts';
import type { OurName } from '../coding-agents/names.ts';
import type { Guard } from './guarded.ts';

export interface ClaudeHooksOptions {
  /** How long a call waits for a person at most, in ms. Default 10 minutes. The rule may set a shorter time. */
  readonly waitMs?: number;
}

/** The option `hooks` of the SDK's `query`. */
export interface ClaudeHooks {
  readonly PreToolUse: ClaudeMatcher[];
  readonly PostToolUse: ClaudeMatcher[];
  readonly PostToolUseFailure: ClaudeMatcher[];
  readonly SubagentStop: ClaudeMatcher[];
}

export interface ClaudeMatcher {
  readonly hooks: ClaudeHook[];
  /** In seconds. */
  readonly timeout: number;
  readonly onFailure: 'block';
}

export type ClaudeHook = (input: object, toolUseId: string | undefined, options: { readonly signal: AbortSignal }) => Promise<ClaudeAnswer>;

export interface ClaudeAnswer {
  readonly decision?: 'block';
  readonly reason?: string;
  readonly hookSpecificOutput?:
    | {
        readonly hookEventName: 'PreToolUse';
        readonly permissionDecision?: 'deny';
        readonly permissionDecisionReason?: string;
        readonly updatedInput?: Record<string, unknown>;
      }
    | { readonly hookEventName: 'PostToolUse'; readonly updatedToolOutput: unknown };
}

/** A run, as far as hooks need it. */
export interface HookedRun extends Guard {
  /** Returns the name in the policy of the SDK's tool. */
  nameOf(call: HostCall): OurName;
  delegate(agent: string): HookedRun;
}

interface PendingCall {
  readonly run: HookedRun;
  readonly permit: Permit;
  readonly startedAt: number;
}

interface Hooked {
  readonly run: HookedRun;
  readonly waitMs: number;
  /** The runs of subagents, by the SDK's id. */
  readonly subagents: LRUCache<string, HookedRun>;
  /** The permitted calls, by the SDK's id. */
  readonly pending: LRUCache<string, PendingCall>;
}

// More than a session has at once. The output of an evicted call is withheld.
const pendingMax = 10_000;
const subagentsMax = 1_000;
/** A decision waits for the ledger and for the record of the call too: see `connect`. */
const marginMs = 60_000;
const waitDefaultMs = 600_000;
// The SDK's timer cannot be longer.
const waitMaxMs = 2 ** 31 - 1 - marginMs;

export function claudeHooks(run: HookedRun, { waitMs = waitDefaultMs }: ClaudeHooksOptions): ClaudeHooks {
  if (!(waitMs >= 0 && waitMs <= waitMaxMs)) throw new TypeError(`claudeHooks: waitMs must be from 0 to ${waitMaxMs}`);
  const hooked: Hooked = { run, waitMs, subagents: new LRUCache({ max: subagentsMax }), pending: new LRUCache({ max: pendingMax }) };
  const timeout = Math.ceil((waitMs + marginMs) / 1_000);
  const matchers = (hook: ClaudeHook): ClaudeMatcher[] => [{ hooks: [hook], timeout, onFailure: 'block' }];
  const after: ClaudeHook = async (input) => answered(await afterCall(hooked, input));
  return {
    PreToolUse: matchers(async (input, _id, { signal }) => answered(await beforeCall(hooked, input, signal))),
    PostToolUse: matchers(after),
    PostToolUseFailure: matchers(after),
    SubagentStop: matchers(async (input) => {
      if ('agent_id' in input && typeof input.agent_id === 'string') hooked.subagents.delete(input.agent_id);
      return {};
    }),
  };
}

const answered = (text: string): ClaudeAnswer => JSON.parse(text) as ClaudeAnswer;

async function beforeCall(hooked: Hooked, input: object, signal: AbortSignal): Promise<string> {
  const { before } = claudeCode;
  const refused = (words: string): string => before.deny(words, words);
  try {
    const event = claudeCode.read(input, (text) => text);
    if (event.phase !== 'before') return refused('The call was not made: the hook could not read it.');
    return await decided(hooked, event, { run: runOf(hooked, input, event.call), signal });
  } catch {
    return refused('The call was not made: it could not be decided.');
  }
}

async function decided(
  { waitMs, pending }: Hooked,
  event: BeforeEvent,
  { run, signal }: { readonly run: HookedRun; readonly signal: AbortSignal },
): Promise<string> {
  const { input, callId } = event.call;
  const { tool, also, problem } = run.nameOf(event.call);
  const verdict = await run.decide(
    {
      tool,
      input,
      isOwnInput: true,
      ...(also === undefined ? {} : { also }),
      ...(problem === undefined ? {} : { flaw: { code: 'tool_ambiguous', words: problem } }),
    },
    { waitMs, signal },
  );
  const { before } = claudeCode;
  if (!verdict.allowed) return before.deny(verdict.reason, new ToolDenied(verdict).message);
  // Without an id its output would be withheld.
  if (callId === null || !before.takes(event, verdict.input)) return before.deny('', 'The call was not made: the hook could not read it.');
  pending.set(callId, { run, permit: verdict, startedAt: run.now() });
  const changed = verdict.decision.transform === 'redact' && verdict.findings.length > 0;
  return changed ? before.change(event, verdict.input) : before.allow();
}

async function afterCall({ pending }: Hooked, input: object): Promise<string> {
  const { after } = claudeCode;
  const withheld = 'The output is withheld: the call was not decided here.';
  try {
    const event = claudeCode.read(input, (text) => text);
    if (event.phase !== 'after') return after.block(withheld);
    const { callId } = event.call;
    const call = callId === null ? undefined : pending.get(callId);
    if (callId === null || call === undefined) return after.block(withheld, event.output);
    pending.delete(callId);
    return await delivered(call, event);
  } catch {
    return after.block(withheld);
  }
}

async function delivered({ run, permit, startedAt }: PendingCall, event: AfterEvent): Promise<string> {
  const { after } = claudeCode;
  const outcome = { output: event.output, isError: event.isError, durationMs: run.now() - startedAt };
  const { action, output, decision } = await run.report(event.heeded ? permit : shown(permit), outcome);
  if (!event.heeded || action === 'pass') return after.pass();
  if (action === 'redact' && after.takes(event, output)) return after.change(event, output);
  return after.block(decision?.reason ?? 'The output is withheld.', event.output);
}

/** The SDK has already shown the error of a failed call. The entry counts the findings and does not claim a redaction. */
const shown = (permit: Permit): Permit => ({ ...permit, decision: { ...permit.decision, transform: 'log' } });

/** A subagent is a hop of the chain below the agent that the user talks to. */
function runOf({ run, subagents }: Hooked, input: object, { agent }: HostCall): HookedRun {
  const id: unknown = 'agent_id' in input ? input.agent_id : undefined;
  if (typeof id !== 'string' || nameProblem(agent) !== null) return run;
  const known = subagents.get(id) ?? run.delegate(agent);
  subagents.set(id, known);
  return known;
}
