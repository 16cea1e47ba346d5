// Starts our programs as child processes, in the way people start them: the environment contains the settings, and the
// two that serve print their addresses to standard output.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Stage } from './stage.ts';

interface ProgramOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /**
   * The words after which the program prints its addresses, e.g. `REST
   *
   * http://…`.
   */
  readonly announces: readonly string[];
}

export interface Program {
  /** Returns the address that the program printed after this word. */
  address(word: string): string;
  /** Tells the program to drain, and waits for its end. */
  stop(): Promise<void>;
}

const logLinesMax = 100;
const startMs = 60_000;
const stopMs = 20_000;

export function startControlPlane(
  stage: Stage,
  { workspace, ownerKey }: { readonly workspace: string; readonly ownerKey: string },
): Promise<Program> {
  const dataDir = join(stage.folder, 'control-plane');
  stage.undo(() => stopOrphan(dataDir));
  return startProgram(stage, {
    name: 'control plane',
    args: [binOf('control-plane'), 'start'],
    env: {
      TOLLGATE_PORT: '0',
      TOLLGATE_GRPC_PORT: '0',
      TOLLGATE_WORKSPACE: workspace,
      TOLLGATE_OWNER_KEY: ownerKey,
      TOLLGATE_DATA_DIR: dataDir,
    },
    announces: ['REST', 'gRPC'],
  });
}

/**
 * Stops the PostgreSQL of a control plane that was killed. It outlives the control plane, so that the next control
 * plane can adopt it. In the demo there is no next one.
 */
async function stopOrphan(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postgres', 'data', 'postmaster.pid');
  if (!existsSync(file)) return;
  process.kill(Number.parseInt(readFileSync(file, 'utf8'), 10), 'SIGQUIT');
  for (const deadline = performance.now() + stopMs; existsSync(file) && performance.now() < deadline; ) await delay(20);
}

export function startSidecar(
  stage: Stage,
  { controlPlane, key }: { readonly controlPlane: string; readonly key: string },
): Promise<Program> {
  return startProgram(stage, {
    name: 'sidecar',
    args: [binOf('sidecar')],
    env: {
      TOLLGATE_CONTROL_PLANE: controlPlane,
      TOLLGATE_KEY: key,
      TOLLGATE_SIDECAR_PORT: '0',
      // Its name stays when it is started again, so that the console shows that the newer one has replaced the older one.
      TOLLGATE_SIDECAR_ID: 'edge-1',
      TOLLGATE_SPOOL_DIR: join(stage.folder, 'sidecar'),
    },
    announces: ['hooks'],
  });
}

/**
 * Runs the command line as a person with this key does, and returns what it prints. Throws if the command fails.
 */
export async function runTollgate(
  stage: Stage,
  { rest, key }: { readonly rest: string; readonly key: string },
  words: readonly string[],
): Promise<string> {
  const env = { ...ownEnvironment(), TOLLGATE_URL: rest, TOLLGATE_KEY: key };
  const { stdout } = await promisify(execFile)(process.execPath, [binOf('cli'), ...words], { env, signal: stage.signal });
  return stdout;
}

const binOf = (name: string): string => fileURLToPath(new URL('bin.js', import.meta.resolve(`@tollgate/${name}/package.json`)));

async function startProgram(stage: Stage, { name, args, env, announces }: ProgramOptions): Promise<Program> {
  const log: string[] = [];
  stage.logs.set(name, log);
  const addresses = new Map<string, string>();
  let started = false;
  let stopped: Promise<void> | null = null;
  // Sends SIGTERM only once. A second SIGTERM would end the program at once.
  const stop = (): Promise<void> => {
    stopped ??= endOf(child).then((end) => {
      if (end !== 0 && !(end === 'SIGTERM' && !started)) throw new Error(`the ${name} did not stop cleanly (${end})`);
    });
    return stopped;
  };
  stage.undo(stop);
  // The child has its own process group. Thus Ctrl-C reaches only the demo, which then stops everything in order.
  const child = spawn(process.execPath, [...args], {
    env: { ...ownEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });

  const ready = new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      const [, word, address] = /^ {2}(\S+) {2}(\S+)$/.exec(line) ?? [];
      if (word !== undefined && address !== undefined) addresses.set(word, address);
      if (announces.every((announced) => addresses.has(announced))) resolve();
    });
  });
  createInterface(child.stderr).on('line', (line) => {
    log.push(line);
    if (log.length > logLinesMax) log.shift();
  });
  child.on('error', (error) => stage.fail(error));
  // `close` is emitted after the last line of the child's output.
  child.on('close', () => {
    if (stopped !== null) return;
    stopped = Promise.resolve();
    stage.fail(new Error(`the ${name} ended unexpectedly (${child.signalCode ?? child.exitCode})`));
  });
  const late = new AbortController();
  await Promise.race([ready, stage.failure, tooLate(name, late.signal)]).finally(() => late.abort());
  started = true;
  return { address: (word) => addresses.get(word) ?? '', stop };
}

async function tooLate(name: string, signal: AbortSignal): Promise<never> {
  await delay(startMs, undefined, { signal });
  throw new Error(`the ${name} has not started within ${startMs / 1000} s`);
}

/** Tells the process to drain. Returns its exit code, or the signal that ended it. */
async function endOf(child: ChildProcess): Promise<number | string | null> {
  const { pid } = child;
  if (pid !== undefined && child.exitCode === null && child.signalCode === null) {
    child.kill('SIGTERM');
    // If the process does not exit in time, its whole process group is killed, including its children.
    const timer = setTimeout(() => process.kill(-pid, 'SIGKILL'), stopMs);
    await once(child, 'exit');
    clearTimeout(timer);
  }
  return child.signalCode ?? child.exitCode;
}

/**
 * Returns our environment without the variables that configure Tollgate or a database, because the demo uses no
 * Tollgate or database that already exists.
 */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:TOLLGATE_|PG|DATABASE_URL$)/.test(name)));
}
