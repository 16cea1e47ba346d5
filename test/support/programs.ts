// The programs, run as a user runs them: the built ones, or a control plane from its sources. Each test starts its own
// and may kill them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Program {
  /** Its announcements: each line of standard output that has a name and a value, by name. */
  readonly announced: ReadonlyMap<string, string>;
  readonly pid: number;
  readonly log: () => string;
  /** Its exit code, null after a signal; resolves when it ends, for any reason. */
  readonly exit: Promise<number | null>;
  /** Sends the signal without waiting. */
  signal(name: NodeJS.Signals): void;
  /** Sends the signal and waits for the end; resolves with the exit code, null after a kill. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

interface Starting {
  readonly env: Readonly<Record<string, string>>;
  readonly until: string;
  /** Absent: this checkout. */
  readonly cwd?: string;
  /** Kills it, also before it has announced anything. */
  readonly kill?: AbortSignal | undefined;
}

/** `args` are Node's. Resolves once the program has announced `until`; rejects with its log if it ends before. */
export async function startProgram(args: readonly string[], { env, until, cwd = root, kill }: Starting): Promise<Program> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killNow = (): void => void child.kill('SIGKILL');
  kill?.addEventListener('abort', killNow, { once: true });
  if (kill?.aborted === true) killNow();
  const exit = new Promise<number | null>((done) => child.once('exit', done));
  const announced = new Map<string, string>();
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await new Promise<void>((ready, fail) => {
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more;
      for (const [, name, value] of text.matchAll(/^ {2}(\w+) +(\S+)\n/gm))
        if (name !== undefined && value !== undefined) announced.set(name, value);
      if (announced.has(until)) ready();
    });
    child.once('exit', (code) => fail(new Error(`${args.join(' ')} ended with ${code}:\n${log}`)));
  });
  kill?.removeEventListener('abort', killNow);
  return {
    announced,
    pid: child.pid ?? 0,
    log: () => log,
    exit,
    signal: (name) => void child.kill(name),
    end: (signal = 'SIGTERM') => end(child, signal),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
  return child.exitCode;
}

export interface ControlPlane extends Program {
  readonly rest: string;
  readonly grpc: string;
}

const controlPlaneArgs = {
  built: ['control-plane/bin.js', 'start'],
  source: ['--import', 'tsx', '--conditions=tollgate-source', 'control-plane/app/commands-main.ts', 'start'],
} as const;

export async function startControlPlane(
  env: Readonly<Record<string, string>>,
  from: keyof typeof controlPlaneArgs = 'built',
  kill?: AbortSignal,
): Promise<ControlPlane> {
  const program = await startProgram(controlPlaneArgs[from], {
    env: { TOLLGATE_PORT: '0', TOLLGATE_GRPC_PORT: '0', ...env },
    until: 'gRPC',
    kill,
  });
  return { ...program, rest: program.announced.get('REST') ?? '', grpc: program.announced.get('gRPC') ?? '' };
}

export interface SidecarProgram extends Program {
  readonly url: string;
}

const sidecarArgs = {
  built: ['sidecar/bin.js'],
  source: ['--import', 'tsx', '--conditions=tollgate-source', 'sidecar/app/main.ts'],
} as const;

export async function startSidecarProgram(
  env: Readonly<Record<string, string>>,
  from: keyof typeof sidecarArgs = 'built',
  kill?: AbortSignal,
): Promise<SidecarProgram> {
  const program = await startProgram(sidecarArgs[from], { env: { TOLLGATE_SIDECAR_PORT: '0', ...env }, until: 'hooks', kill });
  return { ...program, url: new URL(program.announced.get('hooks') ?? '').origin };
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly etag: string | null;
}

/** One JSON request with a key. */
export async function ask(
  url: string,
  key: string,
  { method, body }: { readonly method?: string; readonly body?: unknown } = {},
): Promise<Answer> {
  const asked = {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  // A connection ends with the stream that it carried (control-plane/http/stream-route.ts), and `fetch` may use it for
  // the next request at that moment. Therefore requests that only read are retried.
  const response = await fetch(url, asked).catch((error: unknown) => {
    if (asked.method !== 'GET') throw error;
    return fetch(url, asked);
  });
  const answered: unknown = await response.json();
  if (typeof answered !== 'object' || answered === null) throw new Error(`${url} answered ${JSON.stringify(answered)}`);
  return { status: response.status, body: { ...answered }, etag: response.headers.get('etag') };
}

/**
 * Asks until `done`, at most `timeoutMs`; between two questions the event loop runs, and the CPU rests for a short
 * time.
 */
export async function eventually<T>(question: () => Promise<T>, done: (answer: T) => boolean, timeoutMs = 20_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await question();
    if (done(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms; last: ${JSON.stringify(answer)}`);
    await new Promise((rest) => setTimeout(rest, 20));
  }
}
