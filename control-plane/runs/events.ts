// What happens in a run, as it is told while it goes on: the six kinds of the stream, in the order of the decisions.

export type RunEvent =
  | { readonly kind: 'text'; readonly data: { readonly delta: string } }
  | {
      readonly kind: 'tool_calls';
      readonly data: {
        readonly round: number;
        readonly calls: readonly { readonly callId: string; readonly tool: string; readonly input: unknown }[];
      };
    }
  /** One for each call, before its result. */
  | { readonly kind: 'governance'; readonly data: GovernanceEvent }
  | {
      readonly kind: 'tool_result';
      readonly data: { readonly callId: string; readonly tool: string; readonly isError: boolean; readonly output: unknown };
    }
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

/** What ends a run, those of the loop first: `max_output` a reply as long as the model's may be, `refused` one it would not go on with. */
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

/** The run result of the API. */
export interface RunResult {
  readonly id: string;
  readonly status: 'completed';
  /** The agent's last text. */
  readonly output: string;
  /** That of the root run: what its tool calls are grouped by in the audit log. */
  readonly conversationId: string;
  readonly usage: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly toolCallCount: number;
    /** With fractions of a cent. */
    readonly estimatedCostCents: number;
    readonly model: string;
    readonly durationMs: number;
  };
  readonly stopReason: RunStopReason;
}
