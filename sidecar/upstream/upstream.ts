// Defines the interfaces between the MCP proxy and the tool servers behind it. `tool-servers.ts` reads the definitions
// (file, snapshot) and starts programs. The proxy decides about each message before a server receives it.
import type { Dispatcher } from 'undici';
import type { Index } from '../engine/decide/build-index.ts';

export interface ToolServers {
  /** Returns the server of that name, for callers that are governed by this snapshot. Null: there is no such server. */
  find(index: Index, name: string): ToolServer | null;
}

/**
 * A tool server. `find` returns the same object while the definition is unchanged, because the state of running
 * programs is stored by this object.
 */
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
       * Returns the agent that makes the connections. It connects only to public addresses if a workspace configured the address (and not this
       * sidecar's operator) and private ones are not allowed. It refuses others with an `UpstreamDown`.
       */
      readonly agent: () => Promise<Dispatcher>;
    }
  | {
      readonly kind: 'program';
      /** Starts a new process of the program on each call. Rejects with an `UpstreamDown`. */
      readonly open: (listener: ChannelListener) => Promise<Channel>;
    }
  | {
      readonly kind: 'unreachable';
      /** Why the server cannot be reached, and which setting to change. It is the text of an answer with status 503. */
      readonly problem: string;
    };

/** A connection to a program. It carries JSON-RPC in both directions, one message at a time, in order. */
export interface Channel {
  /**
   * Sends one message as JSON text without a line break. Resolves when the message was written to the program. Rejects
   * with an `UpstreamDown`.
   */
  send(message: string): Promise<void>;
  /** Ends the program. `closed` is called when the program has exited. May be called repeatedly. */
  close(): void;
}

export interface ChannelListener {
  /**
   * Receives one message exactly as the program wrote it. Its maximum size is `upstreamBounds.messageBytes`, or less if
   * the channel was opened with a smaller limit. A longer message ends the channel. The channel reads nothing more
   * until the returned promise has settled, so a flood of messages waits in the program and not here.
   */
  message(bytes: Uint8Array): void | Promise<void>;
  /**
   * The program is being ended: it receives no more messages. `closed` is called after it has exited. Called at most
   * once, with the same reason as `closed`.
   */
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
   * Timeout until a server begins to answer. Some servers answer only after their work is done. A client that stops
   * waiting ends the request earlier.
   */
  headersMs: 1_800_000,
} as const;
