// Defines what a host is: a coding agent that calls hooks before and after each tool call. The host's input is
// converted to an event, and the answer is text in exactly the host's format. `tollgate hook` loads this code for each
// call, so that it can refuse in the host's format if there is no sidecar. Therefore the code is pure and uses no
// packages.
import type { HostName, Tier } from '../contract/index.ts';

/** The MCP server of a tool, as far as a host reports it. */
export type ToolOwner =
  /** Server and tool are both in their original spelling. */
  | { readonly kind: 'exact'; readonly name: string; readonly tool: string }
  /** The server is in its original spelling, and the tool is in the host's spelling. */
  | { readonly kind: 'named'; readonly name: string; readonly tool: string }
  /**
   * One text that contains server and tool in the host's spelling, with a joint between them. Each name may contain the
   * joint too. The text can also be the name of a tool of the host itself.
   */
  | ({ readonly kind: 'joined'; readonly or?: JoinedNames } & JoinedNames)
  /**
   * A tool whose server is unknown. If `joint` is set, the text before the joint in `tool` is the server's name. But
   * the joint can also be a part of the tool's own name.
   */
  | { readonly kind: 'unnamed'; readonly tool: string; readonly joint: ':' | null }
  /**
   * What the host reports about the server contradicts the host's name for the tool. `names` are the possible names.
   */
  | { readonly kind: 'disputed'; readonly names: readonly string[] }
  /**
   * A tool of the host that sends an MCP request to a server. The tool's input names the server. `method` is the MCP
   * method.
   */
  | { readonly kind: 'method'; readonly server: string; readonly method: string };

export interface JoinedNames {
  readonly text: string;
  readonly joint: '-' | '_' | '__' | ':';
}

/** A call as the host describes it. */
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
  /** The kind of sub-agent that makes the call. Empty: the agent that the user talks to makes it. */
  readonly agent: string;
  /** The version of the host. Null: it is unknown. */
  readonly version: string | null;
}

export interface BeforeEvent {
  readonly phase: 'before';
  /** The name of the event, in the host's spelling. */
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
  /**
   * An event about a call. The event cannot be read, so it is refused. `problem` follows the words `the hook's input`.
   */
  | { readonly phase: 'unreadable'; readonly after: boolean; readonly problem: string };

/** The answer to a host (`text`), and its meaning (`kind`). */
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
   * Reads the body of a hook request. `parse` parses a text that contains arguments as JSON, or returns the text
   * itself. `version` is the host's version, if it was given outside the event.
   */
  read(body: unknown, parse: ParseText, version?: string | null): HostEvent;
  readonly before: {
    allow(): string;
    /** Returns whether the host accepts this value in place of the input. */
    takes(event: BeforeEvent, changed: unknown): boolean;
    change(event: BeforeEvent, changed: unknown): string;
    /** Returns a denial. `reason` is for the user and `advice` for the model. Neither is empty. */
    deny(reason: string, advice: string): string;
    /** Returns whether an answer denies. This is used to test whether a hook works. */
    denies(answer: string): boolean;
  };
  readonly after: {
    pass(): string;
    takes(event: AfterEvent, changed: unknown): boolean;
    change(event: AfterEvent, changed: unknown): string;
    /** Returns an answer that withholds the output. `output` is absent if it could not be read. */
    block(reason: string, output?: unknown): string;
  };
  /** The answer to an event that is not about a call. */
  readonly neutral: string;
  /** The exit code of `tollgate hook` when it refuses because no sidecar answered. */
  readonly refusalExitCode: { readonly before: 0 | 2; readonly after: 0 | 2 };
}
