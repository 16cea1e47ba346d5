// Builds the end of a run for the records and for the caller.
import { AppError } from '@tollgate/proto/contract';
import type { RunProgress } from './rules/run.ts';
import type { RunStopReason } from './events.ts';
import { ProviderFailed } from './model.ts';
import type { RunEnd } from './records.ts';
import type { RunParts } from './run-parts.ts';
import { RunStopped } from './stopped.ts';

export type RunOutcome = { readonly stopReason: RunStopReason } | { readonly failure: AppError };

export const progressOf = ({ governed, conversation }: Pick<RunParts, 'governed' | 'conversation'>): RunProgress => ({
  rounds: governed.rounds,
  toolCalls: governed.toolCalls,
  promptTokens: conversation.promptTokens,
  completionTokens: conversation.completionTokens,
});

export function endOf(ended: RunOutcome, { conversation, governed }: RunParts): RunEnd {
  const failed = 'failure' in ended;
  const { unfinished } = conversation;
  if (unfinished !== '') conversation.keep({ role: 'assistant', text: governed.kept(unfinished), toolCalls: [] });
  return {
    status: failed ? 'failed' : ended.stopReason === 'cancelled' ? 'cancelled' : 'completed',
    stopReason: failed ? null : ended.stopReason,
    output: governed.kept(conversation.output),
    error: failed ? ended.failure.publicMessage : null,
    ...progressOf({ governed, conversation }),
    transcript: conversation.kept,
  };
}

export function failureOf(error: unknown): AppError {
  if (error instanceof ProviderFailed)
    return new AppError({ code: 'upstream_failed', publicMessage: `the model provider failed: ${error.message}`, cause: error });
  if (error instanceof RunStopped)
    return new AppError({
      code: 'unavailable',
      publicMessage: 'the run was ended: its control plane sent no heartbeat for a while',
    });
  return AppError.from(error);
}
