// The library's door: runs of agents inside this process. A call is decided and recorded before its tool is reached;
// nothing here waits for the control plane.
import type { Tier } from '@tollgate/proto/contract';
import { bindCaller } from '../decide/bind.ts';
import type { Claim, Hop } from '../decide/call.ts';
import type { StopReason } from '../decide/decision.ts';
import { createRunUsage } from '../limits/usage.ts';
import type { Governing } from '../sidecar.ts';
import { createNumbers, type Numbers } from '../redact/index.ts';
import { type Delivery, deliver, type Outcome } from './deliver.ts';
import { type GovernedRun, judge, type ToolCall } from './govern.ts';
import { recorded } from './recorded.ts';
import { errorFrom, messageOf, thrownData } from './thrown.ts';
import { denialOf, type Permit, ToolDenied, type Verdict } from './verdict.ts';

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
   * promise of it. Call the tool only with `permit.input`.
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
  return createRun(sidecar, { claim, client, id, runChain: [id], numbers: createNumbers() });
}

interface RunParts {
  readonly claim: Claim;
  readonly client: { readonly name: string; readonly version?: string };
  readonly id: string;
  readonly runChain: readonly string[];
  readonly numbers: Numbers;
}

function createRun(sidecar: Governing, { claim, client, id, runChain, numbers }: RunParts): Run {
  const index = sidecar.cell.current;
  if (index === null) throw new Error('no policy is held yet');
  const usage = createRunUsage(sidecar.counters, { originSub: claim.identity.sub, startedAt: sidecar.govern.clock.now() });
  const run: GovernedRun = {
    facts: { sessionId: id, client, runChain, chainClaimed: false },
    claim,
    usage,
    numbers,
    caller: bindCaller(index, claim),
  };

  const self: Run = {
    id,
    decide: (call) => recorded(sidecar, judge(sidecar.govern, run, call, true)),
    report: (permit, outcome) => recorded(sidecar, deliver(sidecar.govern, run, permit, outcome)),
    guard: (tool, call) => (input) => guarded(self, sidecar, { tool, input }, call),
    round: () => usage.addRound(),
    get stopped() {
      return usage.stopped;
    },
    delegate: (agent, { tools, scopes } = {}) => {
      const parent = claim.hops.at(-1);
      const childId = sidecar.govern.newId();
      const hop: Hop = {
        tier: 'subagent',
        client: parent?.client ?? client.name,
        agent,
        ...(tools === undefined ? {} : { handedTools: tools }),
        ...(scopes === undefined ? {} : { handedScopes: scopes }),
      };
      const child: Claim = { ...claim, hops: [...claim.hops, hop] };
      return createRun(sidecar, { claim: child, client, id: childId, runChain: [...runChain, childId], numbers });
    },
  };
  return self;
}

async function guarded<I, O>(
  run: Run,
  { govern }: Governing,
  { tool, input }: { readonly tool: string; readonly input: I },
  call: (input: I) => O | Promise<O>,
): Promise<Awaited<O>> {
  const verdict = await run.decide({ tool, input });
  if (!verdict.allowed) throw new ToolDenied(verdict);
  const startedAt = govern.clock.now();
  const report = (output: unknown, isError: boolean): Delivery | Promise<Delivery> =>
    run.report(verdict, { output, isError, durationMs: govern.clock.now() - startedAt });
  let output: Awaited<O>;
  let isError: boolean;
  try {
    // Redaction keeps the shape of what it changes.
    output = await call(verdict.input as I);
    isError = saysError(output);
  } catch (error) {
    throw await reportThrown(verdict, error, report);
  }
  return delivered(verdict, await report(output, isError)) as Awaited<O>;
}

/** What its caller gets for what a tool threw. */
async function reportThrown(
  permit: Permit,
  thrown: unknown,
  report: (output: unknown, isError: true) => Delivery | Promise<Delivery>,
): Promise<unknown> {
  const redacts = permit.decision.transform === 'redact';
  const output = delivered(permit, await report(redacts ? thrownData(thrown) : messageOf(thrown), true));
  // The words of a denial were redacted where it was made.
  return redacts && !(thrown instanceof ToolDenied) ? errorFrom(output) : thrown;
}

function delivered(permit: Permit, { action, output, decision }: Delivery): unknown {
  if (action !== 'block' || decision === null) return output;
  throw new ToolDenied(denialOf(permit.tool, permit.requestId, decision, permit.findings));
}

/** MCP tools report their failures as results. */
const saysError = (output: unknown): boolean =>
  typeof output === 'object' && output !== null && 'isError' in output && output.isError === true;
