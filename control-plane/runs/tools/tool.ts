// The interface between the loop and a tool: a tool of a registered MCP server, or another agent.

export interface RunTool {
  /** `<server>.<tool>`, or `agents.<name>` for another agent. Policy and the audit log use this name. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ToolResult {
  /** JSON: the content that the server answered, without content that models cannot read. */
  readonly output: unknown;
  readonly isError: boolean;
}

/** The tools of a workspace's servers, for one run. It connects to a server at the first call of one of its tools. */
export interface Toolbox {
  readonly tools: readonly RunTool[];
  /**
   * Why that tool must not be called any more, in words: its server has changed or was removed since the run began.
   * Null: it may be called.
   */
  gone(name: string): string | null;
  /** Rejects only with the signal's reason. A failure of a server is a result that describes it. */
  call(name: string, input: unknown, context: ToolContext): Promise<ToolResult>;
  close(): Promise<void>;
}

export interface ToolContext {
  readonly signal: AbortSignal;
  /** The headers of trace context for the request: `traceparent`, `tracestate`; empty without telemetry. */
  readonly trace: Readonly<Record<string, string>>;
}
