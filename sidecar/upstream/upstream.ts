// Interfaces between the MCP proxy and the tool servers behind it. `tool-servers.ts` reads the definitions (file,
// snapshot) and starts programs. The proxy decides about each message before a server receives it.
import type { Dispatcher } from 'undici';
import type { Index } from '../engine/decide/build-index.ts';

export interface ToolServers {
  /** The server of that name for callers governed by this snapshot. Null: there is no such server. */
  find(index: Index, name: string): ToolServer | null;
}

/** The same object is returned while the definition is unchanged, because running state is stored by it. */
export interface ToolServer {
  /** The name in the policy: its tool `t` is `<name>.t`. */
  readonly name: string;
  readonly reach: Reach;
  /**
   * `toolDefinitionDigest` of each admitted definition, by tool name. Null: the workspace does not require admission.
   */
  readonly admitted: ReadonlyMap<string, string> | null;
}

export type Reach =
  | {
      readonly kind: 'http';
      readonly url: URL;
      /** The server's own credentials. They override the client's headers. */
      readonly headers: Readonly<Record<string, string>>;
      /**
       * If a workspace, and not this sidecar's operator, configured the address, connects only to public addresses. It
       * refuses others with an `UpstreamDown`.
       */
      readonly dispatcher: Dispatcher;
    }
  | {
      readonly kind: 'program';
      /** Starts a new process of the program on each call. Rejects with an `UpstreamDown`. */
      readonly open: (listener: ChannelListener) => Promise<Channel>;
    }
  | {
      readonly kind: 'unreachable';
      /** What is missing and where to configure it, for a 503. */
      readonly problem: string;
    };

/** JSON-RPC in both directions, one message at a time, in order. */
export interface Channel {
  /**
   * Sends one message as JSON text without a line break. Resolves when it is passed on. Rejects with an `UpstreamDown`.
   */
  send(message: string): Promise<void>;
  /** Ends the program. `closed` is called when it has exited. May be called repeatedly. */
  close(): void;
}

export interface ChannelListener {
  /**
   * Receives one message as written, of at most `upstreamBounds.messageBytes`, or of less if the channel was opened with
   * a smaller limit. A longer message ends the channel. The
   * channel reads nothing more until the returned promise has settled, so a flood waits in the program and not here.
   */
  message(bytes: Uint8Array): void | Promise<void>;
  /** No more messages come, and `closed` is called after the program has exited. Called at most once, as `closed`. */
  ending?(problem: string): void;
  /** The channel is closed. Called once, with a reason without secrets, such as `exited with 1`. */
  closed(problem: string): void;
}

export { MessageTooLarge, UpstreamDown } from './wire/upstream-down.ts';

/** Limits on what the proxy accepts from a tool server. */
export const upstreamBounds = {
  /** One message: a JSON body, an event of a stream, a line of a program. */
  messageBytes: 16 * 1_048_576,
  /** Concurrent exchanges with one server, in total and for one key. */
  exchanges: 1_000,
  exchangesOfKey: 250,
  /** Programs of one server. Each session of the older revisions is one program. */
  programs: 32,
  /** Programs of one server for one key. */
  programsOfKey: 8,
  connectMs: 10_000,
  /**
   * Timeout until a server begins to answer. Some servers answer only after their work is done. A client that does not
   * wait ends it earlier.
   */
  headersMs: 1_800_000,
} as const;
