// What a tool is to the loop: one of a registered MCP server, or another agent.

export interface RunTool {
  /** `<server>.<tool>`, or `agents.<name>` for another agent: what policy and the audit log call it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ToolResult {
  /** JSON: the content that the server answered, without what no model can read. */
  readonly output: unknown;
  readonly isError: boolean;
}

/** The tools of a workspace's servers, for one run. Connects when a server's tool is first called. */
export interface Toolbox {
  readonly tools: readonly RunTool[];
  /** Why that tool may not be called any more, in words: its server is not there as it was when the run began; null: it may. */
  gone(name: string): string | null;
  /** Rejects only with the signal's reason; what a server does wrong is a result that says so. */
  call(name: string, input: unknown, context: ToolContext): Promise<ToolResult>;
  close(): Promise<void>;
}

export interface ToolContext {
  readonly signal: AbortSignal;
  /** Headers of trace context for the request: `traceparent`, `tracestate`; empty without telemetry. */
  readonly trace: Readonly<Record<string, string>>;
}
