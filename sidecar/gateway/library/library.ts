// The library's door: runs of agents inside this process. A call is decided and recorded before its tool is reached; it
// waits for the control plane only where what is held of a limit has run dry, and then for a moment.
import { AppError, type Tier } from '@tollgate/proto/contract';
import type { Claim, Hop } from '../../decide/call.ts';
import type { StopReason } from '../../decide/decision.ts';
import { type Delivery, deliver, type Outcome } from '../../govern/deliver.ts';
import { judge, type ToolCall } from '../../govern/govern.ts';
import type { Governing } from '../../govern/governing.ts';
import { offers } from '../../govern/offers.ts';
import { recorded } from '../../govern/recorded.ts';
import { callerOf, childOf, openRun, stopOf } from '../../govern/run.ts';
import type { Permit, Verdict } from '../../govern/verdict.ts';
import { createNumbers, type Numbers } from '../../redact/index.ts';
import { type CostReservation, type CostVerdict, createCosts, type Purse } from './costs.ts';
import { guarded } from './guarded.ts';
import { type GuardMcpOptions, guardMcpClient, isMcpClient, type McpClient, type McpGuard } from './mcp-client.ts';
import { type GuardToolSetOptions, guardToolSet, type ToolSet } from './tool-set.ts';

export interface RunOptions {
  /** A registered agent's id or name, or the name of one that is not registered. */
  readonly agent: string;
  /** How the agent runs. */
  readonly tier: Tier;
  /** The uid of the member it runs for, which a key other than theirs may name with scope `govern.impersonate`. */
  readonly user?: string;
  /** What the agent is built with; the first part of its agent type. */
  readonly client?: { readonly name: string; readonly version?: string };
  /** Groups the calls of this run in the audit log; made if absent. */
  readonly sessionId?: string;
}

export interface DelegateOptions {
  /** What the task is handed down with; absent: all that the parent has. */
  readonly tools?: readonly string[];
  readonly scopes?: readonly string[];
}

export interface Run {
  /** The run's id: `sessionId` of its entries. */
  readonly id: string;
  /**
   * Decides one call and records the decision. The answer itself where the spool's durability is `kernel`, else a
   * promise of it; a promise too where a limit has run dry here and more of it is asked for. Call the tool only with `permit.input`.
   */
  decide(call: ToolCall): Verdict | Promise<Verdict>;
  /** Records what a permitted call came to, and answers what of its output may reach the model. */
  report(permit: Permit, outcome: Outcome): Delivery | Promise<Delivery>;
  /** The tool, governed: decides, redacts the input, calls it, redacts the output, records. Throws `ToolDenied`. */
  guard<I, O>(tool: string, call: (input: I) => O | Promise<O>): (input: I) => Promise<Awaited<O>>;
  /** Counts a round of the model; more than `maxToolRounds` end the run. */
  round(): void;
  /** The cap that ended the run, or null while it may go on. */
  readonly stopped: StopReason | null;
  /**
   * Puts so many cents of `maxBudgetCents` aside before they are spent, or what there is of them if that is at least `least`;
   * absent: all or nothing. Fractions count to a millionth of a cent. Where not even that is left, the run has ended.
   */
  reserveCost(cents: number, options?: { readonly least?: number }): CostVerdict;
  /** What was spent of what was put aside, once for each; absent: all of it. It counts in full, also where it was more. */
  settleCost(reservation: CostReservation, cents?: number): void;
  /**
   * The tools of an AI SDK tool set, governed, the set's type unchanged. Throws `AppError` where a tool has no `execute`,
   * which nobody here can govern, unless it is named in `ungoverned`. Steps that a tool yields reach the caller as they
   * come, unless policy redacts its output: then only the last one does, redacted.
   */
  guardTools<T extends ToolSet>(tools: T, options?: GuardToolSetOptions): T;
  /**
   * An MCP client whose `callTool` is governed and whose `listTools` shows what policy permits. A denial is a result that
   * says `isError`, with a text for the model and `_meta["tollgate/denial"]` for programs.
   */
  guardTools<C extends McpClient>(client: C, options: GuardMcpOptions): C;
  /** A run of another agent that this one hands a task to: no more tools, scopes and permissions than this one's; caps of its own. */
  delegate(agent: string, options?: DelegateOptions): Run;
}

/** Starts a run for the sidecar's own key. Throws where no policy is held: `connect` has waited for it. */
export function startRun(sidecar: Governing, { agent, tier, user, client = { name: 'tollgate' }, sessionId }: RunOptions): Run {
  const index = sidecar.cell.current;
  const key = index === null ? undefined : [...index.keysById.values()][0];
  // Without a key in the snapshot the key was revoked; the claim still names it, and every call is denied.
  const sub = user ?? key?.uid ?? `apikey:${key?.id ?? 'unknown'}`;
  const hop: Hop = { tier, client: client.name, agent };
  const id = sessionId ?? sidecar.govern.newId();
  const claim: Claim = { identity: { sub, keyId: key?.id ?? 'unknown' }, hops: [hop] };
  return createRun(sidecar, { claim, client, id, runChain: [id], numbers: createNumbers(), above: null });
}

interface RunParts {
  readonly claim: Claim;
  readonly client: { readonly name: string; readonly version?: string };
  readonly id: string;
  readonly runChain: readonly string[];
  readonly numbers: Numbers;
  /** Of the run that delegated to this one. */
  readonly above: Purse | null;
}

function createRun(sidecar: Governing, { claim, client, id, runChain, numbers, above }: RunParts): Run {
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
  // By way of the run's own methods, so that whoever watches those sees every call.
  const guard: McpGuard = {
    decide: (call) => self.decide(call),
    report: (permit, outcome) => self.report(permit, outcome),
    now: () => govern.clock.now(),
    offers: (tool) => offers(govern, run, tool),
  };

  const self: Run = {
    id,
    decide: (call) => recorded(sidecar, judge(govern, run, call, { forwards: true })),
    report: (permit, outcome) => recorded(sidecar, deliver(govern, run, permit, outcome)),
    guard: <I, O>(tool: string, call: (input: I) => O | Promise<O>) => {
      // Redaction keeps the shape of what it changes.
      const work = (input: unknown): unknown => call(input as I);
      return (input: I) => guarded(guard, { tool, input }, work) as Promise<Awaited<O>>;
    },
    guardTools: <T extends ToolSet | McpClient>(tools: T, options: GuardToolSetOptions & Partial<GuardMcpOptions> = {}): T =>
      guardEither(guard, tools, options),
    reserveCost: (cents, { least = cents } = {}) => costs.reserve(cents, least),
    settleCost: (reservation, cents = reservation.cents) => costs.settle(reservation, cents),
    round: () => usage.addRound(),
    get stopped() {
      return usage.stopped;
    },
    delegate: (agent, handed = {}) => {
      const childId = govern.newId();
      const child = childOf(claim, { agent, ...handed });
      return createRun(sidecar, { claim: child, client, id: childId, runChain: [...runChain, childId], numbers, above: purse });
    },
  };
  return self;
}

function guardEither<T extends ToolSet | McpClient>(guard: McpGuard, tools: T, options: GuardToolSetOptions): T {
  // What is no client is a set: the overloads take nothing else.
  if (!isMcpClient(tools)) return guardToolSet<ToolSet>(guard, tools, options) as T;
  const { server } = options;
  if (server === undefined)
    throw new AppError({
      code: 'bad_request',
      publicMessage: 'guardTools of an MCP client needs { server }: what policy calls the server',
    });
  return guardMcpClient(guard, tools, { server });
}
