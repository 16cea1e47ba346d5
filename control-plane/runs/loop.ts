// The loop of a run: it alternates model calls and tool calls until the model requests no more tools, or until a cap,
// the budget, a cancel or an error ends it. Every end except an error has a stop reason. The sidecar enforces the caps
// when it decides a call: the call that reaches a cap is denied, and the run ends after that round.

import type { RunStopReason } from './events.ts';
import type { RequestedCall } from './model.ts';
import { type Reply, replyPaid } from './paid-reply.ts';
import { playRound, resumeRound } from './round.ts';
import type { RunParts } from './run-parts.ts';
import { RunStopped } from './stopped.ts';
import { shownArguments } from './tools/call-arguments.ts';
import type { ResumedRun } from './waiting.ts';

/**
 * Returns the stop reason, or `waits` if the run is stored as waiting for a person. `resumed`: the run continues from
 * there; null: it begins. Throws `RunStopped` of kind `ended`, and every error that is not a `RunStopped`.
 */
export async function runLoop(parts: RunParts, resumed: ResumedRun | null = null): Promise<RunStopReason | 'waits'> {
  try {
    return await play(parts, resumed);
  } catch (error) {
    // If the run was stopped, all work in progress failed for that reason, whatever the error says.
    const stopped: unknown = parts.signal.aborted ? parts.signal.reason : error;
    if (stopped instanceof RunStopped && stopped.stop !== 'ended') return stopped.stop;
    throw stopped;
  }
}

async function play(parts: RunParts, resumed: ResumedRun | null): Promise<RunStopReason | 'waits'> {
  const { governed } = parts;
  const seen = new Set<string>(resumed?.stored.seen);
  for (let round = resumed?.stored.round ?? 1; ; round++) {
    parts.signal.throwIfAborted();
    // After a freeze of the workspace or a suspension of the agent, the run must not spend more.
    if (governed.halted() !== null) return 'cancelled';
    const isResumed = resumed !== null && round === resumed.stored.round;
    const ended = await (isResumed ? playResumed(parts, resumed) : playTurn(parts, seen, round));
    if (ended !== null) return ended;
    if (governed.stopped !== null) return governed.stopped;
    // Some calls are refused before the caps are checked, for example because the tool does not exist. Such calls never
    // reach a cap, so the rounds are also limited here.
    if (round > governed.caps.maxToolRounds) return 'max_rounds';
  }
}

/** Continues the round that has waited. Null: the run continues with the next model call. */
async function playResumed(parts: RunParts, resumed: ResumedRun): Promise<'waits' | null> {
  if ((await resumeRound(parts, resumed)) === 'waits') return 'waits';
  sayAfter(parts, resumed.stored.after);
  // The next step is a model call.
  await parts.markContinued();
  return null;
}

/** Makes one model call, and the calls that it requests. Null: the run continues with the next model call. */
async function playTurn(parts: RunParts, seen: Set<string>, round: number): Promise<RunStopReason | 'waits' | null> {
  const { governed, conversation } = parts;
  const reply = await replyPaid(parts);
  const { text, pieces, finish } = reply;
  const calls = withOwnIds(callsOf(reply), seen, round);
  conversation.addReply({ text, toolCalls: calls.map(shownAgain), ...(pieces === undefined ? {} : { pieces }) });
  if (calls.length > 0) {
    governed.addRound();
    const after = reply.toolCalls.length > calls.length ? tooMany : null;
    if ((await playRound(parts, { ...reply, toolCalls: calls }, { round, seen: [...seen], after })) === 'waits') return 'waits';
    sayAfter(parts, after);
    return null;
  }
  conversation.keep({ role: 'assistant', text: governed.kept(text), toolCalls: [] });
  if (finish !== 'paused' && finish !== 'tool_calls') return stopReasonOf(reply);
  governed.addRound();
  conversation.say({ role: 'user', text: finish === 'paused' ? continuePrompt : noCall });
  return null;
}

const sayAfter = ({ conversation }: RunParts, text: string | null): void => {
  if (text !== null) conversation.say({ role: 'user', text });
};

const continuePrompt = 'Continue.';
const noCall = 'Your reply ended to call tools, and no call was in it. Call a tool by its name, or answer without one.';

/**
 * The largest number of calls in one reply. Each call is answered with text, and the next model call pays for that
 * text.
 */
const callsMax = 256;
const tooMany = `A reply can call at most ${callsMax} tools; the calls after the first ${callsMax} were not read.`;

/** The calls of a refused reply must not be made. */
const callsOf = ({ finish, toolCalls }: Reply): Reply['toolCalls'] => (finish === 'refused' ? [] : toolCalls.slice(0, callsMax));

/** The stop reason for the last reply. A reply that was cut off or refused does not reach the goal. */
function stopReasonOf({ finish, clamped }: Reply): RunStopReason {
  if (finish === 'refused') return 'refused';
  if (finish === 'length') return clamped ? 'max_budget' : 'max_output';
  return 'goal_complete';
}

/** Returns the call as the model sees it in the next round. */
const shownAgain = (call: RequestedCall): RequestedCall => ({ ...call, arguments: shownArguments(call.arguments) });

/**
 * Call ids come from the provider and are unique within a reply at best. This function makes them unique within the
 * run.
 */
function withOwnIds(calls: readonly RequestedCall[], seen: Set<string>, round: number): readonly RequestedCall[] {
  return calls.map((call, at) => {
    const callId = call.callId === '' || seen.has(call.callId) ? `${call.callId}-${round}.${at + 1}` : call.callId;
    seen.add(callId);
    return { ...call, callId };
  });
}
