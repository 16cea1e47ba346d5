// The standard streams of a program that is a tool server. It and what it starts are a process group of their own: Ctrl-C in the
// terminal of the control plane does not reach them, so that runs may finish, and they end together.
//
// The client asks a program that may not survive the newest protocol's first question in a second one, that it makes of this class and
// disposes of: it knows the SDK's own transport for that by `stderr`, `pid`, `_serverParams` and `_dispose`.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { type JSONRPCMessage, ReadBuffer, SdkError, SdkErrorCode, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';

interface ProgramParams {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Of one message; more is an error, and the end. */
  readonly bytesMax: number;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** A program that does not end with its input is asked to after so long. */
const endMs = 500;
/** And ended so long after that. */
const killMs = 1_000;

export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stderr = null;
  readonly _serverParams: ProgramParams;
  readonly #buffer: ReadBuffer;
  #child: Child | null = null;

  constructor(params: ProgramParams) {
    this._serverParams = params;
    this.#buffer = new ReadBuffer({ maxBufferSize: params.bytesMax });
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  start(): Promise<void> {
    const { command, args, env } = this._serverParams;
    // HOME, LOGNAME, PATH, SHELL, TERM and USER, what is given, and nothing else of ours.
    const options = { env: { ...getDefaultEnvironment(), ...env }, detached: true } as const;
    const child = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child = child;
    const report = (error: Error): void => this.onerror?.(error);
    child.stdin.on('error', report);
    child.stdout.on('error', report);
    child.stdout.on('data', (bytes: Buffer) => this.#hear(bytes));
    child.once('close', () => {
      this.#child = null;
      this.onclose?.();
    });
    return new Promise((started, failed) => {
      child.once('spawn', started);
      child.on('error', (error) => {
        failed(error);
        report(error);
      });
    });
  }

  #hear(bytes: Buffer): void {
    try {
      this.#buffer.append(bytes);
    } catch (error) {
      this.#complain(error);
      void this.close();
      return;
    }
    while (this.#hearOne());
  }

  /** False: no whole message is left. One that is none is skipped. */
  #hearOne(): boolean {
    try {
      const message = this.#buffer.readMessage();
      if (message !== null) this.onmessage?.(message);
      return message !== null;
    } catch (error) {
      this.#complain(error);
      return true;
    }
  }

  #complain(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {};
    if (stdin === undefined) return Promise.reject(new SdkError(SdkErrorCode.NotConnected, 'Not connected'));
    return new Promise((sent) => {
      if (stdin.write(serializeMessage(message))) sent();
      else stdin.once('drain', sent);
    });
  }

  close(): Promise<void> {
    return this.#end(endMs);
  }

  _dispose(): Promise<void> {
    return this.#end(0);
  }

  async #end(afterMs: number): Promise<void> {
    const child = this.#child;
    this.#child = null;
    this.#buffer.clear();
    if (child !== null) await end(child, afterMs);
  }
}

async function end(child: Child, afterMs: number): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const send = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-pid, signal);
    } catch {
      // All of them have ended.
    }
  };
  child.stdin.end();
  const timers = [setTimeout(send, afterMs, 'SIGTERM'), setTimeout(send, afterMs + killMs, 'SIGKILL')];
  if (child.exitCode === null && child.signalCode === null) await new Promise((exited) => child.once('exit', exited));
  for (const timer of timers) clearTimeout(timer);
  // What it has started and left behind.
  send('SIGKILL');
  child.stdout.destroy();
}
