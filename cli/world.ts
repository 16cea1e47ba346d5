// Describes what a command-line program uses of its process. `process-world.ts` creates it from the real process; tests
// create their own. Apart from `process-world.ts` and `hook-main.ts`, nothing in this folder reads the environment, the
// clock or a stream of the process.
import type { Readable, Writable } from 'node:stream';

export interface Sink extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/**
 * Asks the user at the terminal, on standard error. Each function throws a Failure when the user leaves, for example
 * with Ctrl-C.
 */
export interface Prompts {
  readonly secret: (message: string) => Promise<string>;
  readonly text: (message: string) => Promise<string>;
  /**
   * Asks for y or N; an empty answer is no. `about`: lines below the question, which the caller has escaped and broken at
   * the width of the terminal.
   */
  readonly confirm: (message: string, about?: readonly string[]) => Promise<boolean>;
}

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** The user's home folder. */
  readonly home: string;
  /** The folder in which the program was started. */
  readonly cwd: string;
  /** How a shell starts this program: `"/…/node" "/…/bin.js"`. */
  readonly self: string;
  readonly stdin: Readable;
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Null when there is no terminal. */
  readonly prompts: Prompts | null;
  readonly now: () => Date;
  readonly random: () => number;
  /** Resolves after `ms`, or as soon as the signal is aborted. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Returns a signal. After this call, Ctrl-C and SIGTERM abort the signal and no longer end the process. */
  readonly interruption: () => AbortSignal;
}
