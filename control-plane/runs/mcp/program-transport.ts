// A transport for the MCP client that talks to a program. `@tollgate/sidecar/upstream` starts, reads and ends the
// program, as it does for the proxy. The program and its child processes form their own process group, and the whole
// group is ended together. Ctrl-C in the terminal of the control plane does not reach this group. So runs can finish.
//
// A program may crash at the first request of the newest protocol. The client therefore creates a second instance of
// this class, which starts a second process of the program. It sends that request to the second process and then
// disposes of the second instance. The client does this only if the transport has the members `stderr`, `pid`,
// `_serverParams` and `_dispose`. The SDK's own transport has them too.
import { deserializeMessage, type JSONRPCMessage, SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client';
import { systemClock } from '@tollgate/sidecar/engine';
import { readMessage, type StartedProgram, startProgram, UpstreamDown } from '@tollgate/sidecar/upstream';

interface ProgramParams {
  readonly command: string;
  readonly args: readonly string[];
  /** The variables of the program's definition. */
  readonly env: Readonly<Record<string, string>>;
  /** The variables that every program receives. */
  readonly inherited: Readonly<Record<string, string>>;
  /** The largest size of one message. A larger message ends the connection. */
  readonly bytesMax: number;
  /**
   * Called if a process of the program cannot be started. This includes the second process that the client may start.
   */
  readonly unstarted?: (problem: UpstreamDown) => void;
}

export class ProgramTransport implements Transport {
  onclose?: () => void;
  /** An `UpstreamDown` means that the program delivers no more messages. */
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stderr = null;
  readonly _serverParams: ProgramParams;
  #starting: Promise<StartedProgram> | null = null;
  #started: StartedProgram | null = null;
  /**
   * True: this side ends the program. From then on, the messages of the program and the reason of its end are dropped.
   */
  #leaving = false;
  readonly #exited: Promise<void>;
  #markExited: () => void = () => undefined;

  constructor(params: ProgramParams) {
    this._serverParams = params;
    this.#exited = new Promise((resolve) => {
      this.#markExited = resolve;
    });
  }

  get pid(): number | null {
    return this.#started?.pid ?? null;
  }

  async start(): Promise<void> {
    const { command, args, env, inherited, bytesMax, unstarted } = this._serverParams;
    this.#starting = startProgram(
      { clock: systemClock, env: inherited, messageBytes: bytesMax },
      { program: command, args, env, cwd: null },
      {
        message: (bytes) => this.#read(bytes),
        ending: (problem) => this.#fail(problem),
        closed: (problem) => {
          this.#fail(problem);
          this.#started = null;
          this.#markExited();
          this.onclose?.();
        },
      },
    );
    try {
      this.#started = await this.#starting;
    } catch (error) {
      if (error instanceof UpstreamDown) unstarted?.(error);
      throw error;
    }
  }

  /**
   * Passes a message to `onmessage`. Output that is not a message is skipped. For a message that is too large, throws a
   * `MessageTooLarge`. This error ends the program.
   */
  #read(bytes: Uint8Array): void {
    const message = readMessage(bytes);
    if (message === null || this.#leaving) return;
    try {
      this.onmessage?.(deserializeMessage(message.text));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #fail(problem: string): void {
    if (!this.#leaving) this.onerror?.(new UpstreamDown(problem));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#started?.isOpen() !== true) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected');
    await this.#started.channel.send(JSON.stringify(message));
  }

  close(): Promise<void> {
    return this.#end((started) => started.channel.close());
  }

  _dispose(): Promise<void> {
    return this.#end((started) => started.end(0));
  }

  async #end(how: (started: StartedProgram) => void): Promise<void> {
    this.#leaving = true;
    const started = await this.#starting?.catch(() => null);
    if (started == null) return;
    how(started);
    await this.#exited;
  }
}
