// Decides one event of a host in the same way as every other endpoint does, and answers in the host's format.
import { nameProblem } from '@tollgate/proto/contract';
import { deliver, unannounced } from '../../engine/govern/deliver.ts';
import { refuse } from '../../engine/decide/refusal.ts';
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';
import { type JudgedCall, judge, type ToolCall } from '../../engine/govern/govern.ts';
import { recordedInTurn, takenBack } from '../../engine/govern/recorded.ts';
import { type DecidedCall, denialText, type Verdict } from '../../engine/govern/verdict.ts';
import type { Log } from '../../base/log.ts';
import type { Sidecar } from '../sidecar.ts';
import type { Headers } from '../entrance/caller-headers.ts';
import type { Entrance, LetIn } from '../entrance/entrance.ts';
import type { ClaimedCall } from '../sessions/pending-calls.ts';
import type { CallerClaim, Session } from '../sessions/sessions.ts';
import { traceNamedBy, traceOfCall } from '../traced-call.ts';
import { type AfterEvent, type Answered, type BeforeEvent, canaryTool, type Host, type HostCall } from '@tollgate/proto/hosts';
import { namesFor, ourName } from './names.ts';

type Door = Pick<Entrance, 'sidecar' | 'metrics' | 'sessions' | 'tracing'>;

/** The time, in ms, in which a decision that was made before the deadline must be recorded. */
const recordMs = 250;

interface Caller extends LetIn {
  readonly host: Host;
  readonly headers: Headers;
  /**
   * The tier in a header of the request. The header has priority over the tier in the event. Null: no header gives a
   * tier.
   */
  readonly tier: 'background' | null;
  /** The name, in a header, of the agent that the user talks to. Empty: no header gives a name. */
  readonly agent: string;
  /** Deadline of the answer, by the sidecar's clock. */
  readonly until: number;
  /** How long the hook waits for the answer of a person, in ms, and whether it still does. */
  readonly waitMs: number;
  readonly waiter: DisconnectSignal;
}

export async function answerBefore(door: Door, asked: Caller & { readonly event: BeforeEvent }): Promise<Answered> {
  const { sidecar, metrics, tracing } = door;
  const { host, event } = asked;
  const startedAt = sidecar.govern.clock.now();
  const { session, call } = calling(door, asked, event.call);
  const forwards = (changed: unknown): boolean => event.replacesInput && host.before.takes(event, changed);
  const span = tracing?.begin(call.tool, asked.headers);
  const { until, waitMs: holdMs, waiter } = asked;
  const judging = judge(
    sidecar.govern,
    session.run,
    { ...call, trace: traceOfCall(span, asked.headers) },
    { forwards, until, holdMs, waiter },
  );
  const verdict = await stillWaiting(sidecar, judging, waiter, await recordedInTurn(sidecar, judging, until + recordMs));
  metrics.decided(verdict.decision, sidecar.govern.clock.now() - startedAt);
  span?.decided(verdict, session.run);
  span?.end();
  if (!verdict.allowed) return { kind: 'deny', text: host.before.deny(verdict.reason, denialText(verdict)) };
  session.pending.add(call, verdict);
  const changed = verdict.decision.transform === 'redact' && verdict.findings.length > 0;
  return changed ? { kind: 'change', text: host.before.change(event, verdict.input) } : { kind: 'allow', text: host.before.allow() };
}

/** A use of an approval is given back if its hook has ended before it was answered. */
async function stillWaiting(
  sidecar: Sidecar,
  judging: JudgedCall | Promise<JudgedCall>,
  waiter: DisconnectSignal,
  verdict: Verdict,
): Promise<Verdict> {
  if (!verdict.allowed || verdict.decision.approval === null || !waiter.aborted) return verdict;
  const ended = (await judging).notMade?.(hookEnded);
  return ended === undefined ? verdict : takenBack(sidecar, ended);
}

const hookEnded = refuse('caller_gone', 'the hook ended before it received the answer, so the approval was not used');

interface AfterEventCall extends Caller {
  readonly event: AfterEvent;
  readonly log: Log;
}

export async function answerAfter(door: Door, asked: AfterEventCall): Promise<Answered> {
  const { sidecar } = door;
  const { host, event, log } = asked;
  const { session, call } = calling(door, asked, event.call);
  const pending = session.pending.take(call, isToolOf(event.call, call.tool));
  const known = pending ?? unannounced(sidecar.govern, session.run, { ...call, trace: traceNamedBy(asked.headers) });
  const durationMs = pending === null ? 0 : sidecar.govern.clock.now() - pending.decidedAt;
  const outcome = { output: event.output, isError: event.isError, durationMs };
  const judged = deliver(
    sidecar.govern,
    session.run,
    event.heeded ? known : shown(known),
    outcome,
    (changed) => event.replacesOutput && host.after.takes(event, changed),
  );
  const { action, output, findings, decision } = await recordedInTurn(sidecar, judged, asked.until + recordMs);
  if (!event.heeded) {
    if (action === 'block' || (findings.length > 0 && known.decision.transform === 'redact'))
      log.warn(
        { host: host.name, tool: call.tool, kinds: findings.map(({ kind }) => kind) },
        'the host showed its model an output that policy blocks or redacts',
      );
    return { kind: 'pass', text: host.after.pass() };
  }
  switch (action) {
    case 'pass':
      return { kind: 'pass', text: host.after.pass() };
    case 'redact':
      return { kind: 'change', text: host.after.change(event, output) };
    case 'block':
      return { kind: 'block', text: host.after.block(decision?.reason ?? 'the output is withheld', event.output) };
  }
}

/**
 * Returns a function that checks whether a pending call has the tool of this outcome. Cursor does not name the server
 * of an outcome, but it named the server in the event before the call.
 */
const isToolOf =
  ({ server }: HostCall, ours: string) =>
  (tool: string): boolean =>
    tool === ours || (server?.kind === 'unnamed' && tool.endsWith(`.${server.tool}`));

/**
 * Returns the call with the transform `log`, for a host that ignores answers. Such a host has already shown the output.
 * The entry counts the findings and does not claim that they were redacted.
 */
const shown = (call: DecidedCall): DecidedCall => ({ ...call, decision: { ...call.decision, transform: 'log' } });

function calling(
  { sidecar, sessions }: Pick<Door, 'sidecar' | 'sessions'>,
  { host, identity, tier, agent }: Caller,
  call: HostCall,
): { readonly session: Session; readonly call: ClaimedCall & Pick<ToolCall, 'flaw' | 'also' | 'isOwnInput'> } {
  const { tool, input, callId } = call;
  const session = sessions.find(identity, claimedOf(host, call, { tier, agent }));
  // The check uses the host's own name, so that a workspace's table cannot rename this tool.
  if (tool === canaryTool) return { session, call: { tool, input, callId, flaw: { code: 'call_malformed', words: canaryWords } } };
  const { tool: named, also, problem } = ourName(namesFor(sidecar.govern.cell, session.run), host.name, call);
  return {
    session,
    call: {
      tool: named,
      input,
      isOwnInput: true,
      callId,
      ...(also === undefined ? {} : { also }),
      ...(problem === undefined ? {} : { flaw: { code: 'tool_ambiguous', words: problem } }),
    },
  };
}

const canaryWords = `${JSON.stringify(canaryTool)} is denied by every sidecar, so that a caller can test whether a denial blocks`;

function claimedOf(host: Host, { sessionId, agent, tier, version }: HostCall, said: Pick<Caller, 'tier' | 'agent'>): CallerClaim {
  const subagent = nameProblem(agent) === null ? agent : '';
  return {
    sessionId,
    // In the chain, a sub-agent of the host is below the agent that the user talks to, if that agent has a name.
    chain: said.agent === '' ? [subagent] : subagent === '' || subagent === said.agent ? [said.agent] : [said.agent, subagent],
    delegatedTools: null,
    tier: said.tier ?? tier,
    client: version === null || nameProblem(version) !== null ? { name: host.name } : { name: host.name, version },
  };
}
