// Which tables of a host's names a sidecar accepts, and what a table translates a name to.
import { broughtBy } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { verifySnapshot } from '../../../../sidecar/engine/snapshot/verify.ts';
import { entriesOf, messageOf, rawEntry, settings } from '../../../support/snapshots.ts';

const verify = (toolNames: unknown) =>
  verifySnapshot(
    messageOf(entriesOf().map((entry) => (entry.key === 'settings' ? rawEntry('settings', { ...settings(), toolNames }) : entry))),
    'acme',
  );

test('a control plane of an older version sends no table', () => {
  const { toolNames: _, ...before } = settings();
  const verified = verifySnapshot(
    messageOf(entriesOf().map((entry) => (entry.key === 'settings' ? rawEntry('settings', before) : entry))),
    'acme',
  );
  expect(verified.ok && verified.snapshot.settings.toolNames).toEqual([]);
});

test('a table is accepted unchanged', () => {
  const toolNames = [
    [
      'codex',
      [
        ['Bash', 'shell'],
        ['gh__*', 'github.*'],
      ],
    ],
  ];
  const verified = verify(toolNames);
  expect(verified.ok && verified.snapshot.settings.toolNames).toEqual(toolNames);
});

test.each([
  [{}, 'toolNames: must be a list'],
  [[['emacs', []]], 'must be claude-code or codex'],
  [
    [
      ['codex', []],
      ['codex', []],
    ],
    'must not contain a name twice',
  ],
  [
    [
      [
        'codex',
        [
          ['Bash', 'a'],
          ['Bash', 'b'],
        ],
      ],
    ],
    'must not contain a name twice',
  ],
  [[['codex', [['Bash', '']]]], 'must not be empty'],
  [[['codex', [['gh.*', 'github']]]], 'must end in .*'],
  [[['codex', [['Bash', 'a.*']]]], 'must be one name'],
  [[['codex', Array.from({ length: 1_001 }, (_, at) => [`t${at}`, 'x'])]], 'must contain at most 1000 names'],
])('%j is rejected', (toolNames, words) => {
  expect(verify(toolNames)).toMatchObject({ ok: false, code: 'entry_invalid', message: expect.stringContaining(words) });
});

test.each([
  ['Bash', 'shell'],
  ['gh__issue', 'github.issue'],
  ['gh__repo__merge', 'repo.merge'],
  ['gh__', 'github.'],
  ['gh_', null],
  ['bash', null],
  ['Bash ', null],
  ['__proto__', null],
  ['plain*', 'plain'],
])('%j becomes %j', (theirs, ours) => {
  const table = new Map([
    ['Bash', 'shell'],
    ['gh__*', 'github.*'],
    ['gh__repo__*', 'repo.*'],
    ['plain*', 'plain'],
  ]);
  expect(broughtBy(table, theirs)).toBe(ours);
});
