// The table of the page equals the stored one, and has every cell. `npm run test:hosts` runs the agents themselves.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readArguments } from './arguments.ts';
import { checkNames } from './checks.ts';
import { drivers } from './drivers/index.ts';
import { gapsIn, renderTable, replaceTable, type Table } from './table.ts';

const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8');
const expected: Table = JSON.parse(read('expected.json'));
const page = read('../../docs/doors/coding-agents.md');

test('every agent has every cell, for the installed version', () => {
  expect(gapsIn(expected)).toEqual([]);
});

test('the page shows the stored table', () => {
  expect(replaceTable(page, renderTable(expected))).toBe(page);
});

test('a missing or unknown cell, version or agent is reported', () => {
  const [first] = drivers;
  const row = first === undefined ? undefined : expected.hosts[first.host];
  if (first === undefined || row === undefined) throw new Error('there is no agent');
  const { deny: _, ...cells } = row.cells;
  const hosts = {
    ...expected.hosts,
    [first.host]: { version: '0.0.1', cells: { ...cells, other: 'holds' } },
    emacs: { version: '1', cells: {} },
  };
  expect(gapsIn({ ...expected, hosts })).toEqual([
    `${first.host} must be of version ${first.package.version}`,
    `${first.host} deny is missing`,
    `${first.host} other is no check`,
    'emacs is not run',
  ]);
});

test('a page without its marks is not written', () => {
  expect(() => replaceTable('# Agents\n', '| |')).toThrow('hosts:begin');
  expect(() => replaceTable('<!-- hosts:end --><!-- hosts:begin -->', '| |')).toThrow('hosts:begin');
});

test('names of agents and checks select cells, and others are refused', () => {
  expect(readArguments([])).toEqual({ kind: 'run', drivers, checks: checkNames, write: false });
  expect(readArguments(['doctor', 'codex', 'deny', '--write'])).toEqual({
    kind: 'run',
    drivers: drivers.filter(({ host }) => host === 'codex'),
    checks: ['deny', 'doctor'],
    write: true,
  });
  expect(readArguments(['emacs', 'codex'])).toMatchObject({
    kind: 'refused',
    problem: expect.stringContaining('nothing of emacs: it has claude-code'),
  });
});
