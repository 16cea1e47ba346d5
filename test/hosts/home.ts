// A user's home, with one coding agent, a folder to work in, and our command line. Each is used once, so that no test
// finds files of another.
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Driver, McpDoor, StartedAgent } from './driver.ts';
import type { Script, ScriptedModel, WantedCall } from './model.ts';
import { type ProgramEnd, runProgram } from './run-program.ts';
import type { Program, Stage } from './stage.ts';

/** Longer than a turn whose hook waits for a person for 50 s, or does not answer for 100 s. */
const turnMs = 180_000;
/** Longer than `doctor --held`, which waits as long as a hook. */
const commandMs = 90_000;

export interface Home extends StartedAgent {
  /** Runs `tollgate …`, by a program that hooks then start. */
  tollgate(program: Program, ...words: readonly string[]): Promise<ProgramEnd>;
  /** One turn of the agent, in which its model requests this call, or this command, as the script says. */
  turn(wanted: string | WantedCall, script?: Script): Promise<TurnEnd>;
  /** A file of the working folder; null: it does not exist. */
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
}

export interface TurnEnd extends ProgramEnd {
  /** The result that reached the model, of several calls all; null: none. */
  readonly told: string | null;
  /** The results that reached the model, one for each call. */
  readonly results: readonly string[];
  /** When the first result reached the model, in ms since 1970; null: none did. */
  readonly toldAt: number | null;
}

interface Making {
  readonly stage: Stage;
  readonly driver: Driver;
  readonly program: readonly string[];
  readonly model: ScriptedModel;
}

/** `door`: an MCP server of the sidecar that the agent knows. */
export async function makeHome({ stage, driver, program, model }: Making, door: McpDoor | null = null): Promise<Home> {
  const home = await mkdtemp(join(stage.folder, `${driver.host}-`));
  const folder = join(home, 'work');
  await mkdir(folder);
  for (const [name, text] of Object.entries(driver.settings(model.url, door))) await put(join(home, name), text);
  const path = [dirname(program.at(-1) ?? ''), process.env['PATH']].join(':');
  const env = { PATH: path, HOME: home, TERM: 'xterm', ...driver.env(home, model.url) };
  return {
    home,
    folder,
    program,
    env,
    tollgate: ({ path: own }, ...words) =>
      runProgram([process.execPath, own, ...words], { cwd: folder, env: { ...env, ...stage.connection }, limitMs: commandMs }),
    turn: async (wanted, script) => {
      const call = typeof wanted === 'string' ? driver.shell(wanted) : wanted;
      model.wants(call, script);
      const ended = await runProgram([...program, ...driver.turn('Write the note, please.')], { cwd: folder, env, limitMs: turnMs });
      if (!model.asked()) throw new Error(`${driver.title} did not offer its model ${call.tool}; it said:\n${ended.text.slice(-2_000)}`);
      return { ...ended, told: model.told(), results: model.results(), toldAt: model.toldAt() };
    },
    read: (name) => readFile(join(folder, name), 'utf8').catch(() => null),
    write: (name, text) => writeFile(join(folder, name), text),
  };
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
