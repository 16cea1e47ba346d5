// Finds programs of hosts on PATH and asks them for their version. Also finds coding agents on this machine that cannot
// have hooks of ours: their calls are governed in another way, or not governed.
import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';
import type { World } from '../world.ts';
import { type OnPlatform, pathsOf, platformOf, programPaths } from './paths.ts';

type Here = Pick<World, 'env'> & OnPlatform;

const timeoutMs = 5_000;
const textMax = 4_096;

/** Returns the first program that exists. */
export async function findProgram(here: Here, names: readonly string[]): Promise<string | null> {
  for (const path of programPaths(names, here)) if (await isThere(path)) return path;
  return null;
}

export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Returns the version that the host's program prints. Null: there is no program, or it prints no version. */
export async function versionOf(here: Here, names: readonly string[]): Promise<string | null> {
  const program = await findProgram(here, names);
  return program === null ? null : versionIn(await said(here, program));
}

/** Returns the version in a text. It contains no characters that a shell or a header could interpret. */
const versionIn = (text: string): string | null => /\b\d{1,9}(?:\.\d{1,9}){1,3}(?:-[\w.]{1,40})?/.exec(text)?.[0] ?? null;

/** Whether `version` is older than `than`. Compares only the numbers. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('-')[0]?.split('.').map(Number) ?? []);
  for (const at of [0, 1, 2, 3]) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function said(here: Here, program: string): Promise<string> {
  return new Promise((done) => {
    // A batch file can be started only by a shell.
    const isBatch = platformOf(here) === 'win32' && /\.(?:cmd|bat)$/i.test(program);
    const child = spawn(isBatch ? `"${program}"` : program, ['--version'], {
      env: { ...here.env },
      shell: isBatch,
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (text = (text + piece).slice(0, textMax)));
    child.on('error', () => done(''));
    child.on('close', () => done(text));
  });
}

interface Agent {
  readonly title: string;
  readonly programs: readonly string[];
  /** The parts of the folder's path in the user's home. */
  readonly folder: readonly string[];
}

const agents: readonly Agent[] = [
  { title: 'Windsurf', programs: ['windsurf'], folder: ['.codeium', 'windsurf'] },
  { title: 'Aider', programs: ['aider'], folder: ['.aider'] },
  { title: 'Qwen Code', programs: ['qwen'], folder: ['.qwen'] },
];

export const ungovernedTitles: readonly string[] = agents.map(({ title }) => title);

export interface Ungoverned {
  readonly title: string;
  readonly found: string;
}

export async function findUngoverned(here: Here & Pick<World, 'home'>): Promise<readonly Ungoverned[]> {
  const seen = await Promise.all(
    agents.map(async ({ title, programs, folder }) => {
      const path = pathsOf(here).join(here.home, ...folder);
      const found = (await isThere(path)) ? path : await findProgram(here, programs);
      return found === null ? [] : [{ title, found }];
    }),
  );
  return seen.flat();
}
