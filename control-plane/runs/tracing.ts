// What a run tells of itself to whoever traces it: a span for the run, one for each model call, one for each tool call. Never a
// payload. Without telemetry nothing happens here.

type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface Span {
  set(attributes: Attributes): void;
  /** What it stands for came to nothing, though nothing was thrown. `type`: of what kind, in one word. */
  fail(type: string): void;
  /** Trace context for a request made within it: `traceparent`, `tracestate`; empty without telemetry. */
  headers(): Readonly<Record<string, string>>;
}

export interface Tracing {
  /** Runs `work` within a span, which ends with it, and as an error where it rejects. Spans nest as their work does. */
  span<T>(operation: Operation, subject: string, attributes: Attributes, work: (span: Span) => Promise<T>): Promise<T>;
}

/** `gen_ai.operation.name`; a span is named by it and by its subject. */
export type Operation = 'invoke_agent' | 'chat' | 'execute_tool';

const nothing: Span = { set: () => undefined, fail: () => undefined, headers: () => ({}) };

export const untraced: Tracing = { span: (_operation, _subject, _attributes, work) => work(nothing) };
