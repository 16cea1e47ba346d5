// Runs a program that uses MCP on its standard streams. It is started once for each opened channel, because a session
// has state that must not be shared. It receives its configured variables, and those of ours that any program needs.
// Its standard error is discarded, because it may contain data that the program received. It leads its own process
// group, so its child processes end with it.
//
// States of a channel: starting → open → ending (its input is closed; SIGTERM follows after `endMs`, and SIGKILL after
// three times as long) → gone (its group is killed, its remaining output is delivered, then `closed` is called once).
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

export interface Started {
  readonly channel: Channel;
  /** Whether it has written a line. */
  readonly hasSpoken: () => boolean;
}

const endMs = 500;
/** Time to read the remaining output after the exit, because the reader may be slow. */
const lastWordsMs = 1_000;

/** Variables that any program needs. */
const inherited = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

export const programEnvironment = (ours: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(inherited.flatMap((name) => (ours[name] === undefined ? [] : [[name, ours[name]]])));

/** Resolves when the program runs. Rejects with an `UpstreamDown`. `env`: variables in addition to its own. */
export function startProgram(
  { clock, env }: { readonly clock: Pick<Clock, 'after'>; readonly env: Readonly<Record<string, string>> },
  command: Command,
  listener: ChannelListener,
): Promise<Started> {
  const child = spawn(command.program, [...command.args], {
    env: { ...env, ...command.env },
    ...(command.cwd === null ? {} : { cwd: command.cwd }),
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  } as const);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new UpstreamDown(startProblem(error))));
    child.once('spawn', () => resolve(attend(child, listener, clock)));
  });
}

function startProblem(error: Error): string {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'could not be started: there is no such program, or no such folder to start it in';
  return code === 'EACCES' ? 'could not be started: it may not be executed' : 'could not be started';
}

function attend(child: ChildProcess, listener: ChannelListener, clock: Pick<Clock, 'after'>): Started {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('a program was started without its streams');
  let spoken = false;
  let gone = false;
  /** The reason why we end it. The program's own exit status is then not reported. */
  let problem: string | null = null;
  let silent = false;
  let timers: readonly Timer[] = [];

  const signal = (name: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, name);
    } catch {
      // The group has already ended.
    }
  };
  const press = (): void => {
    if (gone || timers.length > 0) return;
    stdin.end();
    timers = [clock.after(endMs, () => signal('SIGTERM')), clock.after(3 * endMs, () => signal('SIGKILL'))];
  };
  const end = (why: string): void => {
    problem ??= why;
    press();
  };
  const read = async (): Promise<void> => {
    try {
      for await (const line of linesOf(stdout, upstreamBounds.messageBytes)) {
        spoken = true;
        await listener.message(line);
      }
    } catch (error) {
      end(whyUnread(error));
    }
    // No more output can come. Usually the program has ended.
    silent = true;
    press();
  };
  const endOf = (code: number | null, killedBy: string | null): string => {
    if (code !== null) return `exited with ${code}`;
    return silent && timers.length > 0 ? 'closed its standard output' : `was ended by ${killedBy ?? 'a signal'}`;
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
  return { channel: { send, close: () => end('was closed') }, hasSpoken: () => spoken };
}

function whyUnread(error: unknown): string {
  if (error instanceof LineTooLong) return `wrote a line of more than ${upstreamBounds.messageBytes} bytes`;
  return error instanceof MessageTooLarge ? `wrote ${error.what}` : 'could not be read from';
}
