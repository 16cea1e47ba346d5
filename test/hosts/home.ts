// A user's home, with one coding agent, a folder to work in, and our command line. Each is used once, so that no test
// finds files of another.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Driver, StartedAgent } from './driver.ts';
import type { ScriptedModel, WantedCall } from './model.ts';
import type { Program, Stage } from './stage.ts';

/** Longer than a turn whose hooks wait for their own time limit of 10 s, before a call and after it. */
const turnMs = 60_000;
const commandMs = 30_000;

export interface Home extends StartedAgent {
  /** Runs `tollgate …`, by a program that hooks then start. */
  tollgate(program: Program, ...words: readonly string[]): Promise<ProgramEnd>;
  /** One turn of the agent, in which its model requests this call, or this command. */
  turn(wanted: string | WantedCall): Promise<TurnEnd>;
  /** A file of the working folder; null: it does not exist. */
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
}

interface ProgramEnd {
  readonly code: number | null;
  readonly text: string;
}

interface TurnEnd extends ProgramEnd {
  /** The result that reached the model; null: none. */
  readonly told: string | null;
}

interface Making {
  readonly stage: Stage;
  readonly driver: Driver;
  readonly program: readonly string[];
  readonly model: ScriptedModel;
}

export async function makeHome({ stage, driver, program, model }: Making): Promise<Home> {
  const home = await mkdtemp(join(stage.folder, `${driver.host}-`));
  const folder = join(home, 'work');
  await mkdir(folder);
  for (const [name, text] of Object.entries(driver.settings(model.url))) await put(join(home, name), text);
  const path = [dirname(program.at(-1) ?? ''), process.env['PATH']].join(':');
  const env = { PATH: path, HOME: home, TERM: 'xterm', ...driver.env(home, model.url) };
  return {
    home,
    folder,
    program,
    env,
    tollgate: ({ path: own }, ...words) =>
      run([process.execPath, own, ...words], { cwd: folder, env: { ...env, ...stage.connection }, limitMs: commandMs }),
    turn: async (wanted) => {
      const call = typeof wanted === 'string' ? driver.shell(wanted) : wanted;
      model.wants(call);
      const ended = await run([...program, ...driver.turn('Write the note, please.')], { cwd: folder, env, limitMs: turnMs });
      if (!model.asked()) throw new Error(`${driver.title} did not offer its model ${call.tool}; it said:\n${ended.text.slice(-2_000)}`);
      return { ...ended, told: model.told() };
    },
    read: (name) => readFile(join(folder, name), 'utf8').catch(() => null),
    write: (name, text) => writeFile(join(folder, name), text),
  };
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

interface Running {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
}

async function run([program = '', ...words]: readonly string[], { cwd, env, limitMs }: Running): Promise<ProgramEnd> {
  // In a process group of its own, so that no process that it started outlives it.
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (more: string) => (text += more));
  const limit = AbortSignal.timeout(limitMs);
  limit.addEventListener('abort', () => endGroup(child), { once: true });
  const [exit]: unknown[] = await once(child, 'exit');
  endGroup(child);
  if (limit.aborted)
    throw new Error(`${program} ${words.join(' ')} did not end within ${limitMs / 1_000} s; it said:\n${text.slice(-2_000)}`);
  return { code: typeof exit === 'number' ? exit : null, text };
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // No process is left.
  }
}
