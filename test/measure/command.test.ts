import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';
import { satisfies } from '../support/checkout/build.ts';
import { createCleanup } from '../support/checkout/cleanup.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const run = (...args: readonly string[]) => spawnSync(process.execPath, [folder, ...args], { encoding: 'utf8' });

describe('the arguments', () => {
  test('choose a commit, the static part and JSON', () => {
    expect(parseArguments(['--at', 'abc', '--static', '--json'])).toEqual({
      kind: 'run',
      options: { at: 'abc', staticOnly: true, json: true },
    });
    expect(parseArguments([])).toMatchObject({ options: { at: null, staticOnly: false, json: false } });
  });

  test.each([[['--all']], [['HEAD']], [['--at']], [['--at', '--json']]])('%j are refused', (given) => {
    expect(parseArguments(given)).toMatchObject({ kind: 'wrong' });
  });
});

describe('node test/measure', () => {
  test('refuses unknown arguments and commits with exit code 2', () => {
    expect(run('--everything')).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('unknown argument --everything') });
    const missing = 'f'.repeat(40);
    expect(run('--at', missing)).toMatchObject({ status: 2, stdout: '', stderr: `--at: ${missing} is no commit of this repository\n` });
  });

  test('prints its help', () => {
    expect(run('--help')).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('--at <commit>') });
  });
});

test('installed packages are reused only where each required one is present in the same version', () => {
  const installed = new Map([
    ['node_modules/a', '1'],
    ['node_modules/b', '2'],
  ]);
  expect(satisfies(installed, new Map([['node_modules/a', '1']]))).toBe(true);
  expect(satisfies(installed, new Map([['node_modules/a', '2']]))).toBe(false);
  expect(satisfies(installed, new Map([['node_modules/c', '1']]))).toBe(false);
});

test('temporary files are removed once, the last first, also where a step fails', async () => {
  const done: string[] = [];
  const cleanup = createCleanup();
  cleanup.add(() => void done.push('first'));
  cleanup.add(() => Promise.reject(new Error('stuck')));
  cleanup.add(() => void done.push('last'));
  expect(await Promise.all([cleanup.run(), cleanup.run()])).toEqual([['stuck'], ['stuck']]);
  expect(await cleanup.run()).toEqual([]);
  expect(done).toEqual(['last', 'first']);
});
