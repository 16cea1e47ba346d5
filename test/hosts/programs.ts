// Installs the programs of coding agents from npm, each with its exact version, in a folder outside of the tree:
// TOLLGATE_TEST_HOSTS_DIR, else ${XDG_CACHE_HOME:-~/.cache}/tollgate-hosts. An installed version is not changed.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Driver } from './driver.ts';

const run = promisify(execFile);
const installMs = 300_000;

const cacheFolder = (): string => {
  const { TOLLGATE_TEST_HOSTS_DIR: named, XDG_CACHE_HOME: cache } = process.env;
  return named || join(cache || join(homedir(), '.cache'), 'tollgate-hosts');
};

/** Returns the command that starts it. */
export async function installProgram(driver: Driver): Promise<readonly string[]> {
  const { name, version } = driver.package;
  const folder = join(cacheFolder(), `${driver.host}-${version}`);
  const own = join(folder, 'node_modules', name);
  const program = join(folder, 'node_modules', '.bin', driver.program);
  if ((await versionIn(own)) !== version || !existsSync(join(folder, 'installed'))) {
    await mkdir(folder, { recursive: true });
    await run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--prefix', folder, `${name}@${version}`], {
      timeout: installMs,
    });
    if (driver.afterInstall !== undefined) await run(process.execPath, [join(own, driver.afterInstall)], { timeout: installMs });
    await run('touch', [join(folder, 'installed')]);
  }
  if (!existsSync(program)) throw new Error(`${name}@${version} has no program ${driver.program}`);
  return driver.node === undefined ? [program] : ['npx', '-y', '-p', `node@${driver.node}`, 'node', program];
}

async function versionIn(folder: string): Promise<string | null> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => '{}');
  const { version }: { version?: string } = JSON.parse(text);
  return version ?? null;
}
