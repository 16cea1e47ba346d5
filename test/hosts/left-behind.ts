// What is left of us in a home once our hooks are uninstalled. A second home has the same agent and the same turn, and never had us: every
// file of settings is to be byte for byte the one there, but for the paths of the two homes and the times at which an agent wrote.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allow, type Bench, holds, install } from './bench.ts';
import { type Home, makeHome } from './home.ts';

export async function leftBehind(bench: Bench): Promise<string> {
  const { stage, driver } = bench;
  await stage.policy(allow);
  const program = await stage.program();
  const [ours, theirs] = [await makeHome(bench), await makeHome(bench)];
  await install(ours, bench, program);
  await driver.trust?.(ours);
  for (const home of [ours, theirs]) await home.turn('printf ran > note.txt');
  const { code, text } = await ours.tollgate(program, 'hooks', 'uninstall', driver.host);
  if (code !== 0) throw new Error(`hooks uninstall ${driver.host} ended with ${code}:\n${text}`);
  const left = [...(await namesOfOurs(ours)), ...(await settingsThatDiffer(bench, ours, theirs))];
  return left.length === 0 ? holds : `left: ${left.join(', ')}`;
}

/** Files that nobody but us makes. */
async function namesOfOurs({ home }: Home): Promise<readonly string[]> {
  const all = await readdir(home, { recursive: true });
  return all.filter((name) => name.includes('tollgate')).toSorted();
}

async function settingsThatDiffer({ driver, model }: Bench, ours: Home, theirs: Home): Promise<readonly string[]> {
  const names = new Set([driver.settingsFile, ...Object.keys(driver.settings(model.url))]);
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
