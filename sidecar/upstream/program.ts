// Runs a program that uses MCP on its standard streams, behind the proxy of a sidecar and in a run of a control plane
// alike. It is started once for each opened channel, because a session has state that must not be shared. It receives its configured variables, and those of ours that any program needs.
// Its standard error is discarded, because it may contain data that the program received. It leads its own process
// group, so its child processes end with it.
//
// States of a channel: starting → open → ending (its input is closed; SIGTERM follows after `endMs`, and SIGKILL
// `killMs` later) → gone (its group is killed, its remaining output is delivered, then `closed` is called once).
import { type ChildProcess, spawn } from 'node:child_process';
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
  /** What `programEnvironment` gives. The variables of the command are added, and override these. */
  readonly env: Readonly<Record<string, string>>;
  /** The largest line that is read. Default: `upstreamBounds.messageBytes`. */
  readonly messageBytes?: number;
}

export interface StartedProgram {
  readonly channel: Channel;
  readonly pid: number | undefined;
  /** Whether it has written a line. */
  readonly hasSpoken: () => boolean;
  /** False: it is being ended or has exited, and no message reaches it. */
  readonly isOpen: () => boolean;
  /** Ends it as `channel.close` does, with SIGTERM after `afterMs`. */
  readonly end: (afterMs: number) => void;
}

/** How long a program may run after its input was closed, in ms. Then it gets SIGTERM. */
const endMs = 500;
/** How long after SIGTERM it gets SIGKILL, in ms. */
const killMs = 1_000;
/** Time to read the remaining output after the exit, because the reader may be slow. */
const lastWordsMs = 1_000;

/** Variables that any program needs. */
const inherited = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

export function programEnvironment(ours: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const values = inherited.map((name) => [name, ours[name]] as const);
  // Some shells export functions in this form, and a shell that receives one executes it.
  return Object.fromEntries(values.flatMap(([name, value]) => (value === undefined || value.startsWith('()') ? [] : [[name, value]])));
}

/** Resolves when the program runs. Rejects with an `UpstreamDown`. */
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
      child.once('spawn', () => resolve(attend(child, listener, deps)));
    } catch (error) {
      // Arguments that are too long, for example.
      fail(error);
    }
  });
}

function startProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'could not be started: there is no such program, or no such folder to start it in';
  return code === 'EACCES' ? 'could not be started: it may not be executed' : 'could not be started';
}

function attend(child: ChildProcess, listener: ChannelListener, deps: StartDeps): StartedProgram {
  const { clock, messageBytes = upstreamBounds.messageBytes } = deps;
  const { pid, stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('the program was started without its stdin and stdout pipes');
  let spoken = false;
  let gone = false;
  /** The reason why we end it. The program's own exit status is then not reported. */
  let problem: string | null = null;
  let silent = false;
  let timers: readonly Timer[] = [];
  /** Whether we have sent it a signal. */
  let forced = false;

  const signal = (name: NodeJS.Signals): void => {
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch {
      // The group has already ended.
    }
  };
  const press = (afterMs = endMs): void => {
    if (gone || timers.length > 0) return;
    stdin.end();
    const force = (name: NodeJS.Signals): void => {
      forced = true;
      signal(name);
    };
    timers = [clock.after(afterMs, () => force('SIGTERM')), clock.after(afterMs + killMs, () => force('SIGKILL'))];
  };
  const end = (why: string, afterMs = endMs): void => {
    if (problem === null) {
      problem = why;
      listener.ending?.(why);
    }
    press(afterMs);
  };
  const read = async (): Promise<void> => {
    try {
      for await (const line of linesOf(stdout, messageBytes)) {
        spoken = true;
        await listener.message(line);
      }
    } catch (error) {
      end(whyUnread(error, messageBytes));
    }
    // No more output can come. Usually the program has ended.
    silent = true;
    press();
  };
  const endOf = (code: number | null, killedBy: string | null): string => {
    if (code !== null) return `exited with ${code}`;
    return silent && forced ? 'closed its standard output' : `was ended by ${killedBy ?? 'a signal'}`;
  };

  stdin.on('error', () => end('no longer takes input'));
  stdout.on('error', () => undefined);
  child.on('error', () => undefined);
  const reading = read();
  child.once('exit', (code, killedBy) => {
    gone = true;
    for (const timer of timers) timer.cancel();
    problem ??= endOf(code, killedBy);
    const words = problem;
    // Kills its child processes too, which could otherwise keep its streams open.
    signal('SIGKILL');
    stdin.destroy();
    let told = false;
    const tell = (): void => {
      if (told) return;
      told = true;
      late.cancel();
      stdout.destroy();
      listener.closed(words);
    };
    const late = clock.after(lastWordsMs, tell);
    void reading.then(tell);
  });

  const send = (message: string): Promise<void> =>
    new Promise((resolve, reject) => {
      if (gone || problem !== null) return reject(new UpstreamDown(problem ?? 'has ended'));
      stdin.write(`${message}\n`, (error) => (error == null ? resolve() : reject(new UpstreamDown(problem ?? 'has ended'))));
    });
  return {
    channel: { send, close: () => end('was closed') },
    pid,
    hasSpoken: () => spoken,
    isOpen: () => !gone && problem === null,
    end: (afterMs) => end('was closed', afterMs),
  };
}

function whyUnread(error: unknown, messageBytes: number): string {
  if (error instanceof LineTooLong) return `wrote a line of more than ${messageBytes} bytes`;
  return error instanceof MessageTooLarge ? `wrote ${error.what}` : 'could not be read from';
}
