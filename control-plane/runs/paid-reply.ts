// Makes and pays one model call. The largest possible cost is reserved before the call. The real cost is settled after
// the call, whether the call succeeded or failed. If the real cost is unknown, the whole reservation counts as spent.
import type { Span } from '@tollgate/sidecar/telemetry';
import type { Agent } from '../agents/rules/agent.ts';
import { costOf, mostItCanCost, outputTokensFor, outputTokensLeast, type PricedRequest } from './rules/cost.ts';
import { centsFromMicrocents } from './rules/money.ts';
import { untilAborted } from '../base/until-aborted.ts';
import { type ModelEvent, type OfferedTool, ProviderFailed, type TokenUsage } from './model.ts';
import type { MoneyReservation } from './money.ts';
import type { RunParts } from './run-parts.ts';
import { RunStopped } from './stopped.ts';
import { systemPrompt } from './system-prompt.ts';

export type Reply = Extract<ModelEvent, { kind: 'reply' }> & {
  /**
   * Whether the maximum length of the reply was reduced because too little money is left. False if money is missing
   * only because other runs have reserved it.
   */
  readonly clamped: boolean;
  /** The tools that the model could call. */
  readonly offered: readonly OfferedTool[];
};

/**
 * The maximum length of a reply in tokens, even if the budget and the model allow more. Other runs of the user need to
 * reserve money too, and a reply that is interrupted costs the whole reservation.
 */
const outputTokensMost = 32_768;
/**
 * With this many tokens, replies are rarely cut off. If the money allows fewer, the call waits for money that other
 * runs have reserved.
 */
const outputTokensEnough = 4_096;

/** Throws `RunStopped` when too little money is left. Also throws every error of the model. */
export async function replyPaid(parts: RunParts): Promise<Reply> {
  const { money, run, rates, model, models, governed, conversation, system, workbench } = parts;
  const real = rates.of(model);
  const dearest = rates.dearestOf(model);
  if (real === null || dearest === null) throw new Error(`the model ${model} must have a price before a run uses it, but it has none`);
  const tools = workbench.offered(governed);
  const priced: PricedRequest = { inputBytes: conversation.bytes + bytesWithoutMessages(system, tools), rates: dearest };
  const outputTokensMax = Math.max(outputTokensLeast, Math.min(outputTokensMost, models.outputLimit(model)));
  const wanted = {
    least: mostItCanCost(priced, outputTokensLeast),
    enough: mostItCanCost(priced, Math.min(outputTokensEnough, outputTokensMax)),
    most: mostItCanCost(priced, outputTokensMax),
  };
  const reserved = granted(parts, await money.reserve(run, wanted, parts.signal));
  const maxOutputTokens = outputTokensFor(reserved.amount, priced, outputTokensMax);
  const bill: Bill = { received: false, underWay: false, usage: null, failure: null };
  try {
    const reply = await receiveReply(parts, tools, maxOutputTokens, bill);
    return { ...reply, clamped: !reserved.shared && maxOutputTokens < outputTokensMax, offered: tools };
  } catch (error) {
    bill.failure = error;
    throw error;
  } finally {
    const known = bill.usage !== null && bill.usage.inputTokens > 0 ? costOf(bill.usage, real) : null;
    const spent = Math.min(reserved.amount, known ?? (wasRefused(bill) ? 0 : reserved.amount));
    governed.addCost(centsFromMicrocents(spent));
    await money.settle(run, reserved.reservationId, spent, parts.signal);
  }
}

/**
 * Returns the minimum amount, in µ¢, that must be reserved for the first model call of a run with this input; 0 for a
 * free model. The size of the offered tools is not included.
 */
export function leastOf(
  rates: RunParts['rates'],
  { model, systemPrompt: instructions }: Pick<Agent, 'model' | 'systemPrompt'>,
  { input, context }: { readonly input: string; readonly context: Readonly<Record<string, string>> },
): number {
  const dearest = rates.dearestOf(model);
  const bytes = bytesWithoutMessages(systemPrompt(instructions, context), []) + Buffer.byteLength(input);
  return dearest === null ? 0 : mostItCanCost({ inputBytes: bytes, rates: dearest }, outputTokensLeast);
}

interface Bill {
  /** Whether output has begun. */
  received: boolean;
  /** Whether the provider is processing a request; false between two attempts. */
  underWay: boolean;
  usage: TokenUsage | null;
  failure: unknown;
}

/**
 * Whether the provider did not accept the request, or refused every attempt so far. In both cases nothing is billed.
 */
const wasRefused = ({ received, underWay, failure }: Bill): boolean =>
  !received && (!underWay || (failure instanceof ProviderFailed && !failure.billed));

function granted({ log, run }: Pick<RunParts, 'log' | 'run'>, reserved: MoneyReservation): Extract<MoneyReservation, { kind: 'granted' }> {
  switch (reserved.kind) {
    case 'granted':
      return reserved;
    case 'exhausted':
      log.info({ run: run.id, bound: reserved.bound }, 'the remaining money of a run is too little for another model call');
      throw new RunStopped('max_budget');
    case 'ended':
      throw new RunStopped('ended');
  }
}

const bytesWithoutMessages = (system: string, tools: readonly OfferedTool[]): number => Buffer.byteLength(JSON.stringify([system, tools]));

function receiveReply(
  parts: RunParts,
  tools: readonly OfferedTool[],
  maxOutputTokens: number,
  bill: Bill,
): Promise<Extract<ModelEvent, { kind: 'reply' }>> {
  const { model, system, conversation, signal, models, emit, tracing } = parts;
  return tracing.span('chat', model, { 'gen_ai.request.model': model, 'gen_ai.request.max_tokens': maxOutputTokens }, async (span) => {
    signal.throwIfAborted();
    const underWay = (is: boolean): void => {
      bill.underWay = is;
    };
    const reply = models.reply({ model, system, messages: [...conversation.messages], tools, maxOutputTokens, signal, underWay });
    const stream = reply[Symbol.asyncIterator]();
    underWay(true);
    try {
      for (;;) {
        const next = await untilAborted(stream.next(), signal);
        bill.received ||= next.done !== true;
        if (next.done === true) throw new ProviderFailed('the provider did not complete its reply', null, true);
        if (next.value.kind === 'reply') return billed(next.value, bill, parts, span);
        conversation.addDelta(next.value.delta);
        await emit({ kind: 'text', data: { delta: next.value.delta } });
      }
    } finally {
      // The result of `return` is not awaited, because the stream may never react to it.
      stream.return?.().catch(() => undefined);
    }
  });
}

function billed(reply: Extract<ModelEvent, { kind: 'reply' }>, bill: Bill, { conversation }: RunParts, span: Span): typeof reply {
  const { usage, finish } = reply;
  bill.usage = usage;
  // The tokens are counted before the cost is settled, because the settlement may fail.
  if (usage !== null) conversation.count(usage);
  span.set({ 'gen_ai.response.finish_reasons': [finish] });
  if (usage !== null) span.set({ 'gen_ai.usage.input_tokens': usage.inputTokens, 'gen_ai.usage.output_tokens': usage.outputTokens });
  return reply;
}
