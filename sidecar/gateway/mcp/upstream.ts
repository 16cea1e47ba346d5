// What the MCP proxy knows of the tool servers behind it. Where they come from (file, snapshot) and how programs are
// started is `gateway/upstreams`; what is said to them is decided here, before they hear it.
import type { Dispatcher } from 'undici';
import type { Index } from '../../decide/build-index.ts';

export interface ToolServers {
  /** The server of that name for whoever is governed by this snapshot; null: there is none. */
  find(index: Index, name: string): ToolServer | null;
}

/** The same object for as long as its definition is the same: what runs behind it is kept by it. */
export interface ToolServer {
  /** As in policy: its tool `t` is `<name>.t`. */
  readonly name: string;
  readonly reach: Reach;
  /** `toolDefinitionDigest` of each admitted definition by tool name; null: the workspace does not ask for admission. */
  readonly admitted: ReadonlyMap<string, string> | null;
}

export type Reach =
  | {
      readonly kind: 'http';
      readonly url: URL;
      /** Its own credentials; they win over whatever a client sends. */
      readonly headers: Readonly<Record<string, string>>;
      /** Connects to public addresses only where a workspace, and not this sidecar's operator, has said where the server is; refuses others with an `UpstreamDown`. */
      readonly dispatcher: Dispatcher;
    }
  | {
      readonly kind: 'program';
      /** Starts the program once more; each opening is a process of its own. Rejects with an `UpstreamDown`. */
      readonly open: (listener: ChannelListener) => Promise<Channel>;
    }
  | {
      readonly kind: 'unreachable';
      /** What is missing and where it belongs, for a 503. */
      readonly problem: string;
    };

/** JSON-RPC both ways, one message at a time, in order. */
export interface Channel {
  /** One message as JSON text without a line break. Resolves once it is handed over; rejects with an `UpstreamDown`. */
  send(message: string): Promise<void>;
  /** Ends the program; `closed` is called once it is gone. May be called again. */
  close(): void;
}

export interface ChannelListener {
  /**
   * One message as it was written, of at most `upstreamBounds.messageBytes`; a longer one ends the channel. Nothing more
   * is read until what it returns has settled, so that a flood waits in the program and not here.
   */
  message(bytes: Uint8Array): void | Promise<void>;
  /** Nothing comes or goes any more. Called once, in words without secrets: `exited with 1`. */
  closed(problem: string): void;
}

export { MessageTooLarge, UpstreamDown } from './wire/upstream-down.ts';

/** How much of a tool server the proxy puts up with. */
export const upstreamBounds = {
  /** One message: a JSON body, an event of a stream, a line of a program. */
  messageBytes: 16 * 1_048_576,
  /** Of what is open to one server at the same time, and of that with one key. */
  exchanges: 1_000,
  exchangesOfKey: 250,
  /** Programs of one server, a session of the older revisions each. */
  programs: 32,
  /** Of them with one key. */
  programsOfKey: 8,
  connectMs: 10_000,
  /** Until a server begins to answer, which some do only once they are done; a client that does not wait ends it sooner. */
  headersMs: 1_800_000,
} as const;
