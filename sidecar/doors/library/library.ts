// Defines the library's interface: runs of agents inside this process. A call is decided and recorded before its tool
// runs. The decision waits for the control plane only if the locally held part of a limit is used up, and then only for
// a short time.
import { AppError, type Tier } from '@tollgate/proto/contract';
import type { Claim, Hop } from '../../engine/decide/call.ts';
import type { StopReason } from '../../engine/decide/decision.ts';
import { type Delivery, deliver, type Outcome } from '../../engine/govern/deliver.ts';
import { type JudgedCall, judge, type ToolCall } from '../../engine/govern/govern.ts';
import type { Governing } from '../../engine/govern/governing.ts';
import { offers } from '../../engine/govern/offers.ts';
import { recorded, recordedForCaller } from '../../engine/govern/recorded.ts';
import { callerOf, childOf, type GovernedRun, openRun, stopOf } from '../../engine/govern/run.ts';
import type { Permit, Verdict } from '../../engine/govern/verdict.ts';
import { type CostReservation, type CostVerdict, createCosts, type Purse } from '../../engine/limits/costs.ts';
import { createNumbers, type Numbers } from '../../engine/redact/index.ts';
import { namesFor, ourName } from '../coding-agents/names.ts';
import { type ClaudeHooks, type ClaudeHooksOptions, claudeHooks, type HookedRun } from './claude-hooks.ts';
import { type DecideOptions, guarded } from './guarded.ts';
import { type GuardMcpOptions, guardMcpClient, isMcpClient, type McpClient, type McpGuard } from './mcp-client.ts';
import { type GuardToolSetOptions, guardToolSet, type ToolSet } from './tool-set.ts';

export interface RunOptions {
  /** A registered agent's id or name, or the name of an unregistered agent. */
  readonly agent: string;
  /** The mode in which the agent runs. */
  readonly tier: Tier;
  /**
   * The uid of the member that the agent runs for. If the key belongs to another member, it needs the scope
   * `govern.impersonate`.
   */
  readonly user?: string;
  /** The framework of the agent. It is the first part of its agent type. */
  readonly client?: { readonly name: string; readonly version?: string };
  /** Groups the calls of this run in the audit log. Absent: a new id is created. */
  readonly sessionId?: string;
}

export interface DelegateOptions {
  /** The tools that are delegated for the task. Absent: all tools of the parent run. */
  readonly tools?: readonly string[];
  readonly scopes?: readonly string[];
}

export interface Run {
  /** The run's id. Its entries contain it as `sessionId`. */
  readonly id: string;
  /**
   * Decides one call and records the decision. Returns the verdict directly if the spool's durability is `kernel`,
   * otherwise a promise. Also returns a promise if a limit has no calls left in this process: then the control plane is
   * asked for more. Call the tool only with `permit.input`.
   *
   * If policy asks a person for the call, the promise resolves after `waitMs` at the latest. If there is no answer by
   * then, the verdict is a denial with `asked`: the id of the approval, and a promise of the verdict after the answer.
   */
  decide(call: ToolCall, options?: DecideOptions): Verdict | Promise<Verdict>;
  /** Records the outcome of a permitted call, and returns the part of its output that may reach the model. */
  report(permit: Permit, outcome: Outcome): Delivery | Promise<Delivery>;
  /**
   * Returns a governed form of the tool. It decides and records the call, redacts the input, calls the tool, redacts
   * the output and records the outcome. It throws `ToolDenied`. If policy asks a person for the call, it waits for the
   * answer as long as the rule says, and the tool receives a copy of the input as it was asked for. After `signal` is
   * aborted, it does not wait and makes no call.
   */
  guard<I, O>(
    tool: string,
    call: (input: I) => O | Promise<O>,
    options?: { readonly signal?: AbortSignal },
  ): (input: I) => Promise<Awaited<O>>;
  /** Counts a round of the model. More rounds than `maxToolRounds` end the run. */
  round(): void;
  /** The cap that ended the run. Null: the run may continue. */
  readonly stopped: StopReason | null;
  /**
   * Reserves `cents` of `maxBudgetCents` before they are spent. If less is available, reserves the available amount,
   * but only if it is at least `least`. Without `least` the amount is reserved as a whole or not at all. Amounts are
   * exact to a millionth of a cent. If the unspent budget is smaller than the required amount, the run ends.
   */
  reserveCost(cents: number, options?: { readonly least?: number }): CostVerdict;
  /**
   * Reports how much of a reservation was spent. Call it once for each reservation. If `cents` is absent, the whole
   * reservation was spent. The amount counts in full, even if it exceeds the reservation.
   */
  settleCost(reservation: CostReservation, cents?: number): void;
  /**
   * Returns the governed tools of a framework, with the same type: the tools by name of the AI SDK and Mastra, or the list
   * of the OpenAI Agents SDK and LangChain.js. A denial is the result of the tool, as a text for the model. A tool that
   * runs elsewhere cannot be governed here. Throws `AppError` if such a tool is not named in `ungoverned`, and `TypeError`
   * if the form of a tool is not recognised. Steps that a tool yields reach the caller immediately. If the policy redacts
   * the output, the caller receives only the last step, redacted.
   */
  guardTools<T extends ToolSet>(tools: T, options?: GuardToolSetOptions): T;
  /**
   * Returns an MCP client with a governed `callTool`, and with a `listTools` that shows what the policy permits. A
   * denial is returned as a result with `isError`. It contains a text for the model, and `_meta["tollgate/denial"]` for
   * programs.
   */
  guardTools<C extends McpClient>(client: C, options: GuardMcpOptions): C;
  /**
   * Returns the option `hooks` of the Claude Agent SDK. They decide each tool call of the session, its own tools and those
   * of MCP servers, and redact inputs and outputs. A denial is the result of the call. Calls of a subagent are made by a
   * delegated run. The hooks of one result serve one session. Throws `TypeError` if `waitMs` is wrong.
   */
  claudeHooks(options?: ClaudeHooksOptions): ClaudeHooks;
  /**
   * Creates a run of another agent for a delegated task. The tools, scopes and permissions of the new run are a subset
   * of those of this run. The new run has its own caps.
   */
  delegate(agent: string, options?: DelegateOptions): Run;
}

/** Starts a run for the sidecar's own key. Throws if the sidecar has no policy. After `connect` it has one. */
export function startRun(sidecar: Governing, { agent, tier, user, client = { name: 'tollgate' }, sessionId }: RunOptions): Run {
  const index = sidecar.cell.current;
  const key = index === null ? undefined : [...index.keysById.values()][0];
  // If the snapshot has no key, the key was revoked. The claim then names an unknown key, and every call is denied.
  const sub = user ?? key?.uid ?? `apikey:${key?.id ?? 'unknown'}`;
  const hop: Hop = { tier, client: client.name, agent };
  const id = sessionId ?? sidecar.govern.newId();
  const claim: Claim = { identity: { sub, keyId: key?.id ?? 'unknown' }, hops: [hop] };
  return createRun(sidecar, { claim, client, id, runChain: [id], numbers: createNumbers(), above: null }).self;
}

interface RunParts {
  readonly claim: Claim;
  readonly client: { readonly name: string; readonly version?: string };
  readonly id: string;
  readonly runChain: readonly string[];
  readonly numbers: Numbers;
  /** The budget of the run that delegated to this one. Null: there is no such run. */
  readonly above: Purse | null;
}

interface CreatedRun {
  readonly self: Run;
  /** The same run, for hooks. */
  readonly hooked: HookedRun;
}

function createRun(sidecar: Governing, { claim, client, id, runChain, numbers, above }: RunParts): CreatedRun {
  const { govern } = sidecar;
  const run = openRun(sidecar, { claim, numbers, facts: { sessionId: id, client, runChain, chainClaimed: false } });
  const { usage } = run;
  const purse: Purse = {
    usage,
    above,
    held: 0,
    cap: () => callerOf(run).profile?.maxBudgetCents ?? null,
  };
  const costs = createCosts(purse, () => stopOf(govern, run));
  // Calls the methods of `self`, so code that wraps these methods sees every call.
  const guard: McpGuard = {
    decide: (call, options) => self.decide(call, options),
    report: (permit, outcome) => self.report(permit, outcome),
    now: () => govern.clock.now(),
    offers: (tool) => offers(govern, run, tool),
  };

  const self: Run = {
    id,
    decide: (call, options) => decideCall(sidecar, run, call, options),
    report: (permit, outcome) => recorded(sidecar, deliver(govern, run, permit, outcome)),
    guard: <I, O>(tool: string, call: (input: I) => O | Promise<O>, { signal }: { readonly signal?: AbortSignal } = {}) => {
      // The type is still `I`, because redaction, and the copy that conditions read, keep the shape of the value.
      const work = (input: unknown): unknown => call(input as I);
      return (input: I) => guarded(guard, { tool, input }, work, signal) as Promise<Awaited<O>>;
    },
    guardTools: <T extends ToolSet | McpClient>(tools: T, options: GuardToolSetOptions & Partial<GuardMcpOptions> = {}): T =>
      guardEither(guard, tools, options),
    reserveCost: (cents, { least = cents } = {}) => costs.reserve(cents, least),
    settleCost: (reservation, cents = reservation.cents) => costs.settle(reservation, cents),
    round: () => usage.addRound(),
    get stopped() {
      return usage.stopped;
    },
    claudeHooks: (options = {}) => claudeHooks(hooked, options),
    delegate: (agent, handed) => delegated(agent, handed).self,
  };
  const delegated = (agent: string, handed: DelegateOptions = {}): CreatedRun => {
    const childId = govern.newId();
    const child = childOf(claim, { agent, ...handed });
    return createRun(sidecar, { claim: child, client, id: childId, runChain: [...runChain, childId], numbers, above: purse });
  };
  const hooked: HookedRun = {
    ...guard,
    nameOf: (call) => ourName(namesFor(govern.cell, run), 'claude-code', call),
    delegate: (agent) => delegated(agent).hooked,
  };
  return { self, hooked };
}

function decideCall(
  sidecar: Governing,
  run: GovernedRun,
  call: ToolCall,
  { waitMs: holdMs = 0, signal, onAsked }: DecideOptions = {},
): Verdict | Promise<Verdict> {
  const judged = judge(sidecar.govern, run, call, {
    forwards: true,
    holdMs,
    ...(signal === undefined ? {} : { gone: signal }),
    // An error of the program must not end the hold.
    ...(onAsked === undefined ? {} : { onHeld: (id: string) => queueMicrotask(() => onAsked(id)) }),
  });
  if (!(judged instanceof Promise)) return recorded(sidecar, judged);
  const waitable = judged.then((settled) => withQuestion(sidecar, run, settled));
  return signal === undefined ? recorded(sidecar, waitable) : recordedForCaller(sidecar, waitable, signal);
}

/** Adds the question to the denial of a call that waits for a person. */
function withQuestion(sidecar: Governing, run: GovernedRun, judged: JudgedCall): JudgedCall {
  const { result, pending } = judged;
  if (pending === undefined || result.allowed) return judged;
  let deciding: Promise<Verdict> | null = null;
  const asked = {
    id: pending.id,
    get decided(): Promise<Verdict> {
      deciding ??= Promise.resolve(decideCall(sidecar, run, pending.call, { waitMs: Number.POSITIVE_INFINITY }));
      return deciding;
    },
  };
  return { ...judged, result: { ...result, asked } };
}

function guardEither<T extends ToolSet | McpClient>(guard: McpGuard, tools: T, options: GuardToolSetOptions): T {
  // A value that is not a client is a tool set, because the overloads accept nothing else.
  // The type is still `T`: the names and tools are the same, and each governed method has the same form.
  if (typeof tools !== 'object' || tools === null || !isMcpClient(tools)) return guardToolSet(guard, tools, options) as T;
  const { server } = options;
  if (server === undefined)
    throw new AppError({
      code: 'bad_request',
      publicMessage: '"guardTools" needs the option "server" for an MCP client; set it to the name of the tool server in the policy',
    });
  return guardMcpClient(guard, tools, { server });
}
