// Runs a program that uses MCP on its standard streams, behind the proxy of a sidecar or in a run of a control plane.
// The program is started once for each opened channel, because a session has state that must not be shared. It receives
// its configured variables, and those of our variables that any program needs. Its standard error is discarded, because
// it may contain data that the program received. It leads its own process group, so its child processes end with it.
//
// States of a channel: starting → open → ending (its input is closed; SIGTERM follows after `endMs`, and SIGKILL
// `killMs` later) → gone (its group is killed, its remaining output is delivered, then `closed` is called once).
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock, Timer } from '../base/clock.ts';
import { type Channel, type ChannelListener, MessageTooLarge, UpstreamDown, upstreamBounds } from './upstream.ts';
import { LineTooLong, linesOf } from './lines.ts';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
}

export interface StartDeps {
  readonly clock: Pick<Clock, 'after'>;
  /** The result of `programEnvironment`. The variables of the command are added to these, and override them. */
  readonly env: Readonly<Record<string, string>>;
  /** The largest line that is read. Default: `upstreamBounds.messageBytes`. */
  readonly messageBytes?: number;
}

export interface StartedProgram {
  readonly channel: Channel;
  readonly pid: number | undefined;
  /** Returns whether the program has written a line. */
  hasSpoken(): boolean;
  /** Returns whether the program can still receive messages. False: it is being ended or has exited. */
  isOpen(): boolean;
  /** Ends the program in the same way as `channel.close`, but SIGTERM follows after `afterMs`. */
  end(afterMs: number): void;
}

/** How long a program may run after its input was closed, in ms. Then it gets SIGTERM. */
const endMs = 500;
/** How long after SIGTERM the program gets SIGKILL, in ms. */
const killMs = 1_000;
/** The maximum time to deliver the remaining output after the exit, in ms. The receiver of the output may be slow. */
const lastWordsMs = 1_000;

/** Variables that any program needs. */
const inherited = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

export function programEnvironment(ours: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const values = inherited.map((name) => [name, ours[name]] as const);
  // Some shells export functions in this form, and a shell that receives one executes it.
  return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined || value.startsWith('()') ? [] : [[name, value]])));
}

/** Starts a program. Resolves when the program runs. Rejects with an `UpstreamDown`. */
export function startProgram(deps: StartDeps, command: Command, listener: ChannelListener): Promise<StartedProgram> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(new UpstreamDown(startProblem(error), { cause: error }));
    try {
      const child = spawn(command.program, [...command.args], {
        env: { ...deps.env, ...command.env },
        ...(command.cwd === null ? {} : { cwd: command.cwd }),
        stdio: ['pipe', 'pipe', 'ignore'],
        detached: true,
      } as const);
      child.once('error', fail);
      child.once('spawn', () => resolve(new RunningProgram(child, listener, deps)));
    } catch (error) {
      // `spawn` itself throws if, for example, the arguments are too long.
      fail(error);
    }
  });
}

function startProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'could not be started: there is no such program, or no such folder to start it in';
  return code === 'EACCES' ? 'could not be started: it may not be executed' : 'could not be started';
}

/** A program that runs, from its start to its end. */
class RunningProgram implements StartedProgram {
  readonly pid: number | undefined;
  readonly channel: Channel = { send: (message) => this.#send(message), close: () => this.#end('was closed') };
  readonly #stdin: Writable;
  readonly #stdout: Readable;
  readonly #listener: ChannelListener;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #messageBytes: number;
  readonly #reading: Promise<void>;
  #hasSpoken = false;
  #isGone = false;
  /** The reason why we end the program. If it is set, the program's own exit status is not reported. */
  #problem: string | null = null;
  /** True: no more output of the program can be read. */
  #isSilent = false;
  #timers: readonly Timer[] = [];
  /** True: we have sent a signal to the program. */
  #isForced = false;

  constructor(child: ChildProcess, listener: ChannelListener, { clock, messageBytes = upstreamBounds.messageBytes }: StartDeps) {
    const { pid, stdin, stdout } = child;
    if (stdin === null || stdout === null) throw new Error('a program must be started with pipes for stdin and stdout');
    this.pid = pid;
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#listener = listener;
    this.#clock = clock;
    this.#messageBytes = messageBytes;
    stdin.on('error', () => this.#end('no longer takes input'));
    stdout.on('error', () => undefined);
    child.on('error', () => undefined);
    this.#reading = this.#read();
    child.once('exit', (code, killedBy) => this.#exited(code, killedBy));
  }

  hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  isOpen(): boolean {
    return !this.#isGone && this.#problem === null;
  }

  end(afterMs: number): void {
    this.#end('was closed', afterMs);
  }

  #send(message: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen()) return reject(new UpstreamDown(this.#problem ?? 'has ended'));
      this.#stdin.write(`${message}\n`, (error) => (error == null ? resolve() : reject(new UpstreamDown(this.#problem ?? 'has ended'))));
    });
  }

  async #read(): Promise<void> {
    try {
      for await (const line of linesOf(this.#stdout, this.#messageBytes)) {
        this.#hasSpoken = true;
        await this.#listener.message(line);
      }
    } catch (error) {
      this.#end(whyUnread(error, this.#messageBytes));
    }
    // No more output can come. Usually the program has ended.
    this.#isSilent = true;
    this.#closeInput();
  }

  #end(why: string, afterMs = endMs): void {
    if (this.#problem === null) {
      this.#problem = why;
      this.#listener.ending?.(why);
    }
    this.#closeInput(afterMs);
  }

  /**
   * Closes the program's input. The program should then end by itself. If it does not end within `afterMs`, it gets
   * signals.
   */
  #closeInput(afterMs = endMs): void {
    if (this.#isGone || this.#timers.length > 0) return;
    this.#stdin.end();
    this.#timers = [
      this.#clock.after(afterMs, () => this.#force('SIGTERM')),
      this.#clock.after(afterMs + killMs, () => this.#force('SIGKILL')),
    ];
  }

  #force(name: NodeJS.Signals): void {
    this.#isForced = true;
    this.#signal(name);
  }

  #signal(name: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, name);
    } catch {
      // The group has already ended.
    }
  }

  #exited(code: number | null, killedBy: string | null): void {
    this.#isGone = true;
    for (const timer of this.#timers) timer.cancel();
    const words = (this.#problem ??= this.#endOf(code, killedBy));
    // Kills the program's child processes, which could otherwise keep its streams open.
    this.#signal('SIGKILL');
    this.#stdin.destroy();
    void this.#outputRead().then(() => {
      this.#stdout.destroy();
      this.#listener.closed(words);
    });
  }

  /** Resolves when the remaining output was delivered, or after `lastWordsMs`. */
  #outputRead(): Promise<void> {
    return new Promise((resolve) => {
      const late = this.#clock.after(lastWordsMs, resolve);
      void this.#reading.then(() => {
        late.cancel();
        resolve();
      });
    });
  }

  #endOf(code: number | null, killedBy: string | null): string {
    if (code !== null) return `exited with ${code}`;
    return this.#isSilent && this.#isForced ? 'closed its standard output' : `was ended by ${killedBy ?? 'a signal'}`;
  }
}

function whyUnread(error: unknown, messageBytes: number): string {
  if (error instanceof LineTooLong) return `wrote a line of more than ${messageBytes} bytes`;
  return error instanceof MessageTooLarge ? `wrote ${error.what}` : 'could not be read from';
}
