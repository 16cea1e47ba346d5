import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { hasPassed, parts, readArguments, type Result, tableOf } from './long/parts.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const names = (words: readonly string[]): readonly string[] => {
  const asked = readArguments(words);
  return asked.kind === 'run' ? asked.parts.map(({ name }) => name) : [];
};

test('without a name, all parts of test:long run', () => {
  expect(names([])).toEqual(parts.map(({ name }) => name));
});

test('named parts run in the order of the parts, each once', () => {
  expect(names(['cluster', 'cases', 'cluster'])).toEqual(['cases', 'cluster']);
});

test('an unknown part is rejected with the list of known parts, and no part runs', () => {
  const problem =
    'test:long has no part case, --all: it has cases, shell, conditions, kills, approvals, trust, flood, tail, moved, writes, lists, python, typescript, release, times, cluster, and takes --list alone';
  expect(readArguments(['case', 'kills', '--all'])).toEqual({ kind: 'refused', problem });
  expect(readArguments(['--list', 'kills'])).toMatchObject({ kind: 'refused' });
});

test('a table shows for each part whether it passed, and its seconds', () => {
  const results: readonly Result[] = [
    { name: 'cases', outcome: 'passed', seconds: 1_204.6 },
    { name: 'cluster', outcome: 'failed', seconds: 3.2 },
    { name: 'kills', outcome: 'not run', seconds: 0 },
  ];
  expect(tableOf(results)).toEqual(['cases       passed    1205 s', 'cluster     failed       3 s', 'kills       not run      0 s']);
  expect(hasPassed(results)).toBe(false);
  expect(hasPassed(results.slice(0, 1))).toBe(true);
});

test('the command lists the parts, and exits with 2 when a part is unknown', () => {
  const run = (...words: readonly string[]) =>
    spawnSync(process.execPath, ['--import', 'tsx', 'test/long/run.ts', ...words], { cwd: root, encoding: 'utf8' });
  expect(run('--list')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      /^cases {7}.+\nshell {7}.+\nconditions {2}.+\nkills {7}.+\napprovals {3}.+\ntrust {7}.+\nflood {7}.+\ntail {8}.+\nmoved {7}.+\nwrites {6}.+\nlists {7}.+\npython {6}.+\ntypescript {2}.+\nrelease {5}.+\ntimes {7}.+\ncluster {5}.+\n$/,
    ),
  });
  expect(run('nothing')).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('no part nothing') });
});
