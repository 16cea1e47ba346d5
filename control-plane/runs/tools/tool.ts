// Defines the interface between the loop and a tool: a tool of a registered MCP server, or another agent.

export interface RunTool {
  /** `<server>.<tool>`, or `agents.<name>` for another agent. Policy and the audit log use this name. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ToolResult {
  /** A JSON value: the content of the server's answer, without content that models cannot read. */
  readonly output: unknown;
  readonly isError: boolean;
}

/**
 * The tools of a workspace's servers, for one run. The toolbox connects to a server when a tool of this server is
 * called for the first time.
 */
export interface Toolbox {
  readonly tools: readonly RunTool[];
  /**
   * Returns why the tool must not be called any more, in words: its server has changed or was removed since the run
   * began. Null: it may be called.
   */
  gone(name: string): string | null;
  /** Rejects only with the signal's reason. If a server fails, resolves with a result that describes the failure. */
  call(name: string, input: unknown, context: ToolContext): Promise<ToolResult>;
  close(): Promise<void>;
}

export interface ToolContext {
  readonly signal: AbortSignal;
  /** The trace headers for the request: `traceparent`, `tracestate`; empty without telemetry. */
  readonly trace: Readonly<Record<string, string>>;
}
