// What is told of work to whoever traces it: of a run of the control plane a span for the run, one for each model call, one for each tool
// call; of a sidecar one for each governed call. Never a payload. Without telemetry nothing happens here, and nothing is loaded.
import type { TraceIds } from '@tollgate/proto/contract';
import type { GovernedRun } from '../govern/run.ts';
import type { Verdict } from '../govern/verdict.ts';

type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Trace context for a request made within a span: `traceparent`, `tracestate`; empty without telemetry. */
export type TraceHeaders = Readonly<Record<string, string>>;

export interface Span {
  set(attributes: Attributes): void;
  /** What it stands for came to nothing, though nothing was thrown. `type`: of what kind, in one word. */
  fail(type: string): void;
  headers(): TraceHeaders;
  /** For entries: its own ids where it is recorded, else those of the span that it is within; null: there is none. */
  readonly trace: TraceIds | null;
}

export interface Tracing {
  /** Runs `work` within a span, which ends with it, and as an error where it rejects. Spans nest as their work does. */
  span<T>(operation: Operation, subject: string, attributes: Attributes, work: (span: Span) => Promise<T>): Promise<T>;
}

/** `gen_ai.operation.name`; a span is named by it and by its subject. */
export type Operation = 'invoke_agent' | 'chat' | 'execute_tool';

const nothing: Span = { set: () => undefined, fail: () => undefined, headers: () => ({}), trace: null };

export const untraced: Tracing = { span: (_operation, _subject, _attributes, work) => work(nothing) };

/** For the doors of a sidecar, which have it only where calls are traced. */
export interface CallTracing {
  /** Begins the span of one governed call, in the trace that the caller's headers name. */
  begin(tool: string, headers: Readonly<Record<string, unknown>>): CallSpan;
}

export interface CallSpan {
  /** A denial ends it. */
  decided(verdict: Verdict, run: Pick<GovernedRun, 'decidedBy'>): void;
  /** For the request to the tool. */
  headers(): TraceHeaders;
  /** For entries: its own ids where it is recorded, else those that its caller named; null: there are none. */
  readonly trace: TraceIds | null;
  /** What came of a permitted call; absent: that is told elsewhere, or nowhere. Once; further times change nothing. */
  end(outcome?: CallOutcome): void;
}

export interface CallOutcome {
  readonly isError: boolean;
  /** What became of the output. */
  readonly action: 'pass' | 'redact' | 'block';
}
