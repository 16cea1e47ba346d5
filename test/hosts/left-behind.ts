// What is left of us in a home once our hooks are uninstalled. A second home has the same agent and the same turn, and
// never had our hooks: every file of settings must be byte for byte equal to the one there, except for the paths of the
// two homes and the times at which an agent wrote.
import { appendFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allow, type Bench, holds, install } from './bench.ts';
import { type Home, makeHome } from './home.ts';
import type { Program } from './stage.ts';

export async function leftBehind(bench: Bench): Promise<string> {
  const { stage, driver } = bench;
  await stage.policy(allow);
  const program = await stage.program();
  const [ours, theirs] = [await makeHome(bench), await makeHome(bench)];
  await install(ours, bench, program);
  await driver.trust?.(ours);
  for (const home of [ours, theirs]) await home.turn('printf ran > note.txt');
  await uninstall(ours, bench, program);
  const left = [...(await namesOfOurs(ours)), ...(await settingsThatDiffer(bench, ours, theirs))];
  if (left.length > 0) return `left: ${left.join(', ')}`;
  return (await keepsTrust(bench, program)) ? holds : 'a hook of the user is no longer trusted';
}

async function uninstall(home: Home, { driver }: Bench, program: Program): Promise<void> {
  const { code, text } = await home.tollgate(program, 'hooks', 'uninstall', driver.host);
  if (code !== 0) throw new Error(`hooks uninstall ${driver.host} ended with ${code}:\n${text}`);
}

/** Whether a trusted hook of the user after ours stays trusted through a second install and `uninstall`. */
async function keepsTrust(bench: Bench, program: Program): Promise<boolean> {
  const { settingsFile, ownHook, host, trust } = bench.driver;
  if (ownHook === undefined) return true;
  const home = await makeHome(bench);
  await install(home, bench, program);
  await appendFile(join(home.home, settingsFile), ownHook.text);
  await trust?.(home);
  const again = await home.tollgate(program, 'hooks', 'install', host, '--agent', 'other');
  if (again.code !== 0) throw new Error(`a second hooks install ${host} ended with ${again.code}:\n${again.text}`);
  await uninstall(home, bench, program);
  return ownHook.isTrusted(home);
}

/** Files that only we create. */
async function namesOfOurs({ home }: Home): Promise<readonly string[]> {
  const all = await readdir(home, { recursive: true });
  return all.filter((name) => name.includes('tollgate')).toSorted();
}

async function settingsThatDiffer({ driver, model }: Bench, ours: Home, theirs: Home): Promise<readonly string[]> {
  const names = new Set([driver.settingsFile, ...Object.keys(driver.settings(model.url, null))]);
  const differ: string[] = [];
  for (const name of names) {
    const [mine, other] = await Promise.all([ours, theirs].map(({ home }) => contentOf(home, name)));
    if (mine !== other) differ.push(name);
  }
  return differ;
}

const contentOf = (home: string, name: string): Promise<string | null> =>
  readFile(join(home, name), 'utf8').then(
    (text) => text.replaceAll(home, '~').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'then'),
    () => null,
  );
