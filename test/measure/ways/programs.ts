// Starts a Node program under the inspector, and records which of its functions run. Called by surroundings.ts.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cleanup } from '../../support/checkout/cleanup.ts';
import { type Inspector, openInspector } from './inspector.ts';

const startMs = 60_000;
const endMs = 15_000;

export interface Program {
  readonly name: string;
  readonly child: ChildProcess;
  /** Coverage since the previous call. */
  takeCoverage(): Promise<unknown>;
  /** The end of its output, for people. */
  log(): string;
}

interface Starting {
  readonly name: string;
  /** Arguments of Node, after `--inspect`. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends the program, whatever its state. */
  readonly cleanup: Cleanup;
}

/** Resolves once coverage is recorded; the program continues its start meanwhile. */
export async function startProgram({ name, args, cwd, env, cleanup }: Starting): Promise<Program> {
  const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let inspector: Inspector | null = null;
  cleanup.add(() => endProgram(child, inspector));
  let written = '';
  const keep = (text: string): void => {
    written = `${written}${text}`.slice(-20_000);
  };
  child.stdout?.setEncoding('utf8').on('data', keep);
  const log = (): string => written.split('\n').slice(-12).join('\n').trim();
  const url = await readInspectorUrl(child, keep, () => `${name} ended before it could be inspected:\n${log()}`);
  const opened = await openInspector(url);
  inspector = opened;
  await opened.send('Profiler.enable');
  await opened.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return { name, child, log, takeCoverage: async () => (await opened.send('Profiler.takePreciseCoverage'))['result'] };
}

function readInspectorUrl(child: ChildProcess, keep: (text: string) => void, ended: () => string): Promise<string> {
  return new Promise((done, fail) => {
    let text = '';
    child.stderr?.setEncoding('utf8').on('data', (more: string) => {
      keep(more);
      text = text.length > 10_000 ? text : text + more;
      const url = /^Debugger listening on (ws:\S+)$/m.exec(text)?.[1];
      if (url !== undefined) done(url);
    });
    child.once('exit', () => fail(new Error(ended())));
    child.once('error', fail);
  });
}

async function endProgram(child: ChildProcess, inspector: Inspector | null): Promise<void> {
  inspector?.close();
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), endMs);
  await exited;
  clearTimeout(late);
}

/** Sends requests until `url` answers 200; rejects where the program ends before, or takes too long. */
export async function untilReady(program: Program, url: string): Promise<void> {
  const { name, child } = program;
  const deadline = Date.now() + startMs;
  let last = 'no answer';
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} ended before it was ready:\n${program.log()}`);
    try {
      const { status } = await fetch(url);
      if (status === 200) return;
      last = `status ${status}`;
    } catch {
      // It does not listen yet.
    }
    await delay(50);
  }
  throw new Error(`${name} was not ready within ${startMs / 1_000} s (${url}: ${last}):\n${program.log()}`);
}

/** The next message of the program; null: it ended. */
export function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((done) => {
    const onMessage = (message: unknown): void => {
      child.off('exit', onExit);
      done(message);
    };
    const onExit = (): void => {
      child.off('message', onMessage);
      done(null);
    };
    child.once('message', onMessage).once('exit', onExit);
  });
}
