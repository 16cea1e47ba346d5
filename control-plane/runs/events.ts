// Defines the eight kinds of events that a run sends on its stream.
import type { ApprovalState } from '@tollgate/proto/contract';
import type { AwaitedApproval } from './waiting.ts';

export type RunEvent =
  | { readonly kind: 'text'; readonly data: { readonly delta: string } }
  | {
      readonly kind: 'tool_calls';
      readonly data: {
        readonly round: number;
        readonly calls: readonly { readonly callId: string; readonly tool: string; readonly input: unknown }[];
      };
    }
  /** One event for each call, before its result. */
  | { readonly kind: 'governance'; readonly data: GovernanceEvent }
  | {
      readonly kind: 'tool_result';
      readonly data: { readonly callId: string; readonly tool: string; readonly isError: boolean; readonly output: unknown };
    }
  /** The run waits for persons from now on. */
  | { readonly kind: 'approval_required'; readonly data: { readonly round: number; readonly calls: readonly AwaitedApproval[] } }
  /** A call that waited continues. Its `governance` event says whether it was made. */
  | { readonly kind: 'approval_decided'; readonly data: AwaitedApproval & { readonly state: ApprovalState; readonly by: string | null } }
  | { readonly kind: 'error'; readonly data: { readonly error: string } }
  | { readonly kind: 'done'; readonly data: RunResult };

export interface GovernanceEvent {
  readonly callId: string;
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly reason: string;
  readonly transform: 'log' | 'redact';
  readonly rule?: { readonly layer: string; readonly path: string; readonly revision: number };
}

/**
 * The reasons why a run ends without an error. `max_output`: the reply reached the maximum length of its model.
 * `refused`: the model refused to continue its reply.
 */
export const stopReasons = [
  'goal_complete',
  'max_tool_calls',
  'max_rounds',
  'max_budget',
  'max_duration',
  'max_output',
  'refused',
  'cancelled',
] as const;
export type RunStopReason = (typeof stopReasons)[number];

/** The result of a run, in the form in which the API returns it. */
export interface RunResult {
  readonly id: string;
  readonly status: 'completed';
  /** The agent's last text. */
  readonly output: string;
  /** The id of the root run. The audit log uses this id to group the tool calls of the run. */
  readonly conversationId: string;
  readonly usage: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly toolCallCount: number;
    /** May contain fractions of a cent. */
    readonly estimatedCostCents: number;
    readonly model: string;
    readonly durationMs: number;
  };
  readonly stopReason: RunStopReason;
}
