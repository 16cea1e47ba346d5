// Connects to the standard streams of a program that is a tool server. The program and its child processes form their
// own process group. Ctrl-C in the terminal of the control plane does not reach them, so that runs can finish. They are
// ended together.
//
// A program may crash at the first request of the newest protocol. The client therefore sends this request to a second
// process of the program, with a second instance of this class, and disposes of it. The client recognises a transport
// that allows this by the members `stderr`, `pid`, `_serverParams` and `_dispose`, which the SDK's own transport has.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { type JSONRPCMessage, ReadBuffer, SdkError, SdkErrorCode, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';

interface ProgramParams {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The largest size of one message. A larger message is an error and ends the connection. */
  readonly bytesMax: number;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** How long a program may run after its input was closed, in ms. Then it gets SIGTERM. */
const endMs = 500;
/** How long after SIGTERM the program gets SIGKILL, in ms. */
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
    // The environment is HOME, LOGNAME, PATH, SHELL, TERM and USER, the given variables, and no other variable of this
    // process.
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

  /** Returns false when the buffer contains no whole message. An invalid message is skipped. */
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
      // All processes of the group have ended.
    }
  };
  child.stdin.end();
  const timers = [setTimeout(send, afterMs, 'SIGTERM'), setTimeout(send, afterMs + killMs, 'SIGKILL')];
  if (child.exitCode === null && child.signalCode === null) await new Promise((exited) => child.once('exit', exited));
  for (const timer of timers) clearTimeout(timer);
  // Ends the child processes that the program left running.
  send('SIGKILL');
  child.stdout.destroy();
}
