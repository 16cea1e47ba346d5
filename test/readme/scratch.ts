// Prepares the folder where a page is run: a copy of the current checkout, or a folder with the artefacts of a release
// alone. Each has a home of its own, so that the checkout keeps its files and the user's settings are neither read nor
// changed. Called by `main.ts`, and by test/release/main.ts.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Block } from './blocks.ts';

export interface Scratch {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

export function makeScratch(root: string): Scratch {
  // The path of a user's clone contains no symbolic link either.
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'tollgate-readme-')));
  const folder = join(top, 'tollgate');
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  for (const file of files.split('\0')) if (file !== '' && isThere(join(root, file))) copy(root, folder, file);
  for (const name of ['proto', 'sidecar', 'deploy/inject', 'cli', 'control-plane'])
    if (existsSync(join(root, name, 'dist'))) copy(root, folder, join(name, 'dist'));
  linkModules(root, folder);
  const home = join(top, 'home');
  mkdirSync(home);
  return { folder, env: environmentWith(home), remove: () => rmSync(top, { recursive: true, force: true }) };
}

/**
 * A folder with a copy of `artefacts` and nothing else: no program of the checkout is found by `PATH`, which has its
 * `node_modules/.bin` when npm starts this program.
 */
export function makeBareScratch(artefacts: string): Scratch {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'tollgate-release-test-')));
  const folder = join(top, 'folder');
  const home = join(top, 'home');
  for (const one of [folder, home]) mkdirSync(one);
  cpSync(artefacts, join(folder, 'artefacts'), { recursive: true });
  const env = environmentWith(home);
  const path = (env['PATH'] ?? '').split(delimiter).filter((one) => !/\bnode_modules\b|node-gyp-bin/.test(one));
  return { folder, env: { ...env, PATH: path.join(delimiter) }, remove: () => rmSync(top, { recursive: true, force: true }) };
}

/** A file that was removed but not committed is still listed. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function copy(root: string, folder: string, path: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  cpSync(join(root, path), join(folder, path), { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

/** A file that was removed but not committed is still listed. */
function linkModules(root: string, folder: string): void {
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name === '@tollgate' || name === '.bin') copy(root, folder, join('node_modules', name));
    else symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
}

/**
 * Without our variables, those that `npm run` sets, and those of agents; npm keeps its settings and its cache. Without
 * `CI` too, because a reader has a terminal: with it, the hook of a coding agent asks as tier `background`.
 */
function environmentWith(home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(TOLLGATE_|OTEL_|DATABASE_URL$|CI$|npm_|XDG_|CLAUDE|CODEX|CURSOR|GEMINI|COPILOT|INIT_CWD$|NODE_OPTIONS$)/.test(name),
  );
  const ofUser = process.env['HOME'] ?? homedir();
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(ofUser, '.npmrc'),
    npm_config_cache: process.env['npm_config_cache'] ?? join(ofUser, '.npm'),
    npm_config_update_notifier: 'false',
    ...(process.env['npm_config_registry'] === undefined ? {} : { npm_config_registry: process.env['npm_config_registry'] }),
  };
}

/** The ports that the commands and programs of the blocks use, and that another program uses now. */
export async function findTakenPorts(blocks: readonly Block[]): Promise<readonly number[]> {
  const run = blocks.filter(({ kind }) => kind !== 'text' && kind !== 'no-run').map(({ text }) => text);
  const named = run.join('\n').matchAll(/127\.0\.0\.1:(\d+)|_PORT=(\d+)|listen\((\d+)/g);
  const ports = new Set([...named].map(([, ...groups]) => Number(groups.find((group) => group !== undefined))));
  const taken: number[] = [];
  for (const port of ports) if (!(await isFree(port))) taken.push(port);
  return taken;
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
