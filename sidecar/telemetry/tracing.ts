// Defines the interface for tracing work. A run of the control plane has a span for the run, one for each model call
// and one for each tool call. A sidecar has one span for each governed call. A span never contains a payload. Without
// telemetry these functions do nothing, and nothing is loaded.
import type { TraceIds } from '@tollgate/proto/contract';
import type { GovernedRun } from '../engine/govern/run.ts';
import type { Verdict } from '../engine/govern/verdict.ts';

type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Trace context for a request made within a span: `traceparent`, `tracestate`. Empty without telemetry. */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface Span {
  set(attributes: Attributes): void;
  /** Marks the work of the span as failed, although nothing was thrown. `type`: the kind of failure, in one word. */
  fail(type: string): void;
  headers(): TraceHeaders;
  /**
   * The ids that entries store: the ids of this span if it is recorded, otherwise the ids of a remote parent span.
   * Null: there are no ids.
   */
  readonly trace: TraceIds | null;
}

export interface Tracing {
  /**
   * Runs `work` within a span. The span ends with the work, and is marked as failed if the work rejects. Work that
   * begins inside other work gets a nested span.
   */
  span<T>(operation: Operation, subject: string, attributes: Attributes, work: (span: Span) => Promise<T>): Promise<T>;
}

/** The value of `gen_ai.operation.name`. The name of a span consists of the operation and the subject. */
export type Operation = 'invoke_agent' | 'chat' | 'execute_tool';

const nothing: Span = { set: () => undefined, fail: () => undefined, headers: () => ({}), trace: null };

export const untraced: Tracing = { span: (_operation, _subject, _attributes, work) => work(nothing) };

/** Traces calls at the doors of a sidecar. It is present only if calls are traced. */
export interface CallTracing {
  /** Begins the span of one governed call, in the trace that the caller's headers name. */
  begin(tool: string, headers: Readonly<Record<string, unknown>>): CallSpan;
}

export interface CallSpan {
  /** Adds the decision to the span. A denial ends the span. */
  decided(verdict: Verdict, run: Pick<GovernedRun, 'decidedBy'>): void;
  /** Returns the trace headers for the request to the tool. */
  headers(): TraceHeaders;
  /**
   * The ids that entries store: the ids of this span if it is recorded, otherwise the ids that the caller named. Null:
   * there are no ids.
   */
  readonly trace: TraceIds | null;
  /**
   * Ends the span with the outcome of a permitted call. Without `outcome`, the outcome is reported in another place, or
   * not at all. Only the first call has an effect.
   */
  end(outcome?: CallOutcome): void;
}

export interface CallOutcome {
  readonly isError: boolean;
  /** What was done with the output. */
  readonly action: 'pass' | 'redact' | 'block';
}
