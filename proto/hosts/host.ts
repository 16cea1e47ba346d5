// A host is a coding agent that calls hooks before and after each tool call. Its input is read to an event, and its
// answer is text in exactly the host's format. The code is pure and uses no packages: `tollgate hook` loads it for each
// call, to refuse in the host's format if there is no sidecar.
import type { HostName, Tier } from '../contract/index.ts';

/** The MCP server of a tool, as far as a host reports it. */
export type ToolOwner =
  /** Both in their original spelling. */
  | { readonly kind: 'exact'; readonly name: string; readonly tool: string }
  /** The server in its original spelling, the tool in the host's spelling. */
  | { readonly kind: 'named'; readonly name: string; readonly tool: string }
  /**
   * A server and a tool in the host's spelling, in one text. Both may contain the joint. Or it is a tool of the host
   * itself.
   */
  | ({ readonly kind: 'joined'; readonly or?: JoinedNames } & JoinedNames)
  /**
   * An unknown server's tool. With a `joint`, the server's name precedes the tool, unless the joint is part of the
   * tool's own name.
   */
  | { readonly kind: 'unnamed'; readonly tool: string; readonly joint: ':' | null }
  /** The host's data about the server contradicts its name for the tool. `names` are the possible names. */
  | { readonly kind: 'disputed'; readonly names: readonly string[] }
  /** A host tool sends a request to the server in its input. `method` is the MCP method. */
  | { readonly kind: 'method'; readonly server: string; readonly method: string };

export interface JoinedNames {
  readonly text: string;
  readonly joint: '-' | '_' | '__' | ':';
}

/** A call in the host's terms. */
export interface HostCall {
  /** The host's name for the tool. */
  readonly tool: string;
  /** Null: a tool of the host itself. */
  readonly server: ToolOwner | null;
  readonly input: unknown;
  readonly sessionId: string;
  /** The host's id for the call. */
  readonly callId: string | null;
  readonly tier: Tier;
  /** The kind of sub-agent that calls. Empty for the agent that the user talks to. */
  readonly agent: string;
  /** The version of the host. */
  readonly version: string | null;
}

export interface BeforeEvent {
  readonly phase: 'before';
  /** In the host's spelling. */
  readonly name: string;
  readonly call: HostCall;
  /** Whether the answer may replace the input. */
  readonly replacesInput: boolean;
}

export interface AfterEvent {
  readonly phase: 'after';
  readonly name: string;
  readonly call: HostCall;
  readonly output: unknown;
  readonly isError: boolean;
  /** Whether the answer may replace the output. */
  readonly replacesOutput: boolean;
  /** Whether the host respects an answer. If not, the model receives the output whatever the answer is. */
  readonly heeded: boolean;
}

export type HostEvent =
  | BeforeEvent
  | AfterEvent
  /** An event that is not about a call. */
  | { readonly phase: 'other' }
  /** An event about a call that cannot be read, so it is refused. `problem` follows the words `the hook's input`. */
  | { readonly phase: 'unreadable'; readonly after: boolean; readonly problem: string };

/** The answer to a host, and its meaning. */
export interface Answered {
  readonly kind: 'allow' | 'change' | 'deny' | 'pass' | 'block' | 'none';
  readonly text: string;
}

export type ParseText = (text: string) => unknown;

export interface Host {
  readonly name: HostName;
  /** Display name. */
  readonly title: string;
  /**
   * `parse` parses an argument list given as JSON in a text, or returns the text itself. `version` is the host's
   * version, if it was given outside the event.
   */
  read(body: unknown, parse: ParseText, version?: string | null): HostEvent;
  readonly before: {
    allow(): string;
    /** Whether the host accepts this value in place of the input. */
    takes(event: BeforeEvent, changed: unknown): boolean;
    change(event: BeforeEvent, changed: unknown): string;
    /** `reason` is for the user and `advice` for the model. Neither is empty. */
    deny(reason: string, advice: string): string;
    /** Whether an answer denies, for tests that a hook works. */
    denies(answer: string): boolean;
  };
  readonly after: {
    pass(): string;
    takes(event: AfterEvent, changed: unknown): boolean;
    change(event: AfterEvent, changed: unknown): string;
    /** `output` absent: it could not be read. */
    block(reason: string, output?: unknown): string;
  };
  /** The answer to an event that is not about a call. */
  readonly neutral: string;
  /** The exit code of `tollgate hook` when it had to refuse without a sidecar. */
  readonly refusalExitCode: { readonly before: 0 | 2; readonly after: 0 | 2 };
}
