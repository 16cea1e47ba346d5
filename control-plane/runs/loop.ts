// The loop of a run: model, tools, model, until the model asks for no more tools, or a cap, the budget, a cancel or an error ends it.
// Each way out but an error is a stop reason. Caps are those of the sidecar's decision: the call that reaches one is denied, and the
// run ends with the round.

import type { RunStopReason } from './events.ts';
import type { RequestedCall } from './model.ts';
import { type Reply, replyPaid } from './paid-reply.ts';
import { playRound } from './round.ts';
import type { RunParts } from './run-parts.ts';
import { RunStopped } from './stopped.ts';
import { shownArguments } from './tools/call-arguments.ts';

/** Throws `RunStopped` of kind `ended`, and whatever else went wrong. */
export async function runLoop(parts: RunParts): Promise<RunStopReason> {
  try {
    return await play(parts);
  } catch (error) {
    // What was in flight failed because the run was stopped, however it says so.
    const stopped: unknown = parts.signal.aborted ? parts.signal.reason : error;
    if (stopped instanceof RunStopped && stopped.stop !== 'ended') return stopped.stop;
    throw stopped;
  }
}

async function play(parts: RunParts): Promise<RunStopReason> {
  const { governed, conversation, signal } = parts;
  const seen = new Set<string>();
  for (let round = 1; ; round++) {
    signal.throwIfAborted();
    // Who froze the workspace or suspended the agent wants it to spend nothing more.
    if (governed.halted() !== null) return 'cancelled';
    const reply = await replyPaid(parts);
    const { text, pieces, finish } = reply;
    const calls = withOwnIds(callsOf(reply), seen, round);
    conversation.heard({ text, toolCalls: calls.map(shownAgain), ...(pieces === undefined ? {} : { pieces }) });
    if (calls.length > 0) {
      governed.addRound();
      await playRound(parts, round, { ...reply, toolCalls: calls });
      if (reply.toolCalls.length > calls.length) conversation.say({ role: 'user', text: tooMany });
    } else {
      conversation.keep({ role: 'assistant', text: governed.kept(text), toolCalls: [] });
      if (finish !== 'paused' && finish !== 'tool_calls') return stopReasonOf(reply);
      governed.addRound();
      conversation.say({ role: 'user', text: finish === 'paused' ? goOn : noCall });
    }
    if (governed.stopped !== null) return governed.stopped;
    // Calls that are refused before the caps are looked at, because there is no such tool, say, reach none.
    if (round > governed.caps.maxToolRounds) return 'max_rounds';
  }
}

const goOn = 'Go on.';
const noCall = 'Your reply ended to call tools, and no call was in it. Call a tool by its name, or answer without one.';

/** Of one reply: each is answered in words, which the next model call pays for. */
const callsMax = 256;
const tooMany = `A reply can call at most ${callsMax} tools; the calls after the first ${callsMax} were not read.`;

/** Of a reply that the model did not go on with, the calls are not to be made. */
const callsOf = ({ finish, toolCalls }: Reply): Reply['toolCalls'] => (finish === 'refused' ? [] : toolCalls.slice(0, callsMax));

/** Of the last reply: one that was cut off is no goal, nor is one that was refused. */
function stopReasonOf({ finish, clamped }: Reply): RunStopReason {
  if (finish === 'refused') return 'refused';
  if (finish === 'length') return clamped ? 'max_budget' : 'max_output';
  return 'goal_complete';
}

/** As the model is shown it in the next round. */
const shownAgain = (call: RequestedCall): RequestedCall => ({ ...call, arguments: shownArguments(call.arguments) });

/** Ids are a provider's, and unique in a reply at best; in a run each call has its own. */
function withOwnIds(calls: readonly RequestedCall[], seen: Set<string>, round: number): readonly RequestedCall[] {
  return calls.map((call, at) => {
    const callId = call.callId === '' || seen.has(call.callId) ? `${call.callId}-${round}.${at + 1}` : call.callId;
    seen.add(callId);
    return { ...call, callId };
  });
}
