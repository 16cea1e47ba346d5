// A host is a coding agent that asks by hooks of its own before and after each call of a tool. What it sends is read to an
// event; what it is answered is text, exactly as it wants it. Pure, and without packages: `tollgate hook` loads it for each
// call, to refuse in the host's own words where there is no sidecar.
import type { HostName, Tier } from '@tollgate/proto/contract';

/** Whose tool it is, as far as a host says: an MCP server's. */
export type ToolOwner =
  /** Both as the server and its tool are called. */
  | { readonly kind: 'exact'; readonly name: string; readonly tool: string }
  /** The server as it is called, the tool as the host writes it. */
  | { readonly kind: 'named'; readonly name: string; readonly tool: string }
  /** A server and a tool as the host writes them, in one text, where both may hold what joins them; or a tool of the host's own. */
  | ({ readonly kind: 'joined'; readonly or?: JoinedNames } & JoinedNames)
  /** Some server's; it stands before the tool if `joint` does and is not the tool's own. */
  | { readonly kind: 'unnamed'; readonly tool: string; readonly joint: ':' | null }
  /** The host says of the server what does not agree with its name for the tool: the names that this makes. */
  | { readonly kind: 'disputed'; readonly names: readonly string[] }
  /** What a tool of the host's own asks of the server that its input names, in MCP's word for it. */
  | { readonly kind: 'method'; readonly server: string; readonly method: string };

export interface JoinedNames {
  readonly text: string;
  readonly joint: '-' | '_' | '__' | ':';
}

/** A call as a host names it. */
export interface HostCall {
  /** Its own name for the tool. */
  readonly tool: string;
  /** Null: its own. */
  readonly server: ToolOwner | null;
  readonly input: unknown;
  readonly sessionId: string;
  /** Its own id for the call. */
  readonly callId: string | null;
  readonly tier: Tier;
  /** The kind of sub-agent that calls; empty for the agent that the user talks to. */
  readonly agent: string;
  /** Of the host. */
  readonly version: string | null;
}

export interface BeforeEvent {
  readonly phase: 'before';
  /** As the host writes it. */
  readonly name: string;
  readonly call: HostCall;
  /** Whether the answer may bring another input. */
  readonly replacesInput: boolean;
}

export interface AfterEvent {
  readonly phase: 'after';
  readonly name: string;
  readonly call: HostCall;
  readonly output: unknown;
  readonly isError: boolean;
  /** Whether the answer may bring another output. */
  readonly replacesOutput: boolean;
  /** Whether the host heeds an answer to it. Where it does not, the model has the output whatever is said here. */
  readonly heeded: boolean;
}

export type HostEvent =
  | BeforeEvent
  | AfterEvent
  /** Of something else than a call. */
  | { readonly phase: 'other' }
  /** Of a call, and cannot be read: refused. `problem` in words that follow `the hook's input`. */
  | { readonly phase: 'unreadable'; readonly after: boolean; readonly problem: string };

/** What a host is told, and in a word what that means. */
export interface Answered {
  readonly kind: 'allow' | 'change' | 'deny' | 'pass' | 'block' | 'none';
  readonly text: string;
}

export type ParseText = (text: string) => unknown;

export interface Host {
  readonly name: HostName;
  /** For people. */
  readonly title: string;
  /** `parse`: of an argument list that is JSON in a text, or the text itself. `version`: of the host, where it was said beside the event. */
  read(body: unknown, parse: ParseText, version?: string | null): HostEvent;
  readonly before: {
    allow(): string;
    /** Whether it takes this in the place of the input. */
    takes(event: BeforeEvent, changed: unknown): boolean;
    change(event: BeforeEvent, changed: unknown): string;
    /** `reason` for the user, `advice` for the model; neither is empty. */
    deny(reason: string, advice: string): string;
    /** Whether an answer denies: for those who want to see that a hook works. */
    denies(answer: string): boolean;
  };
  readonly after: {
    pass(): string;
    takes(event: AfterEvent, changed: unknown): boolean;
    change(event: AfterEvent, changed: unknown): string;
    /** `output` absent: it could not be read. */
    block(reason: string, output?: unknown): string;
  };
  /** For an event of something else than a call. */
  readonly neutral: string;
  /** With what code `tollgate hook` ends where it had to refuse by itself. */
  readonly refusalExitCode: { readonly before: 0 | 2; readonly after: 0 | 2 };
}
