// `tollgate audit checkpoint`, `keys`, `gaps`, `export --proof` and `verify`, over files.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { entry, lost, records, ship, spool } from '../control-plane/spool.ts';
import { createCli, folder, jsonOf, run } from './cli.ts';

let rest: Rest;
let tollgate: ReturnType<typeof createCli>;
beforeAll(async () => {
  rest = await createRest();
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
});
afterAll(() => rest.close());

/** Without a control plane, as an auditor runs it. */
const verify = (...words: readonly string[]) => run(['audit', 'verify', ...words]);

test('a kept checkpoint proves an export: whole, from a checkpoint on, and offline', async () => {
  const at = folder();
  const [log, tail, early, late, keys] = ['log', 'tail', 'early', 'late', 'keys'].map((name) => join(at, name)) as [
    string,
    string,
    string,
    string,
    string,
  ];
  await ship(
    rest,
    spool('a'),
    records(1, 3, () => entry({ input: { text: 'tab\t\u202e \u0085 ünïcödé' } })),
  );
  expect(await tollgate(['audit', 'checkpoint', '-o', early])).toMatchObject({
    code: 0,
    out: '',
    err: expect.stringContaining('a checkpoint of 3 items'),
  });
  await ship(rest, spool('a'), [lost(4, 'never arrived', 5), ...records(6, 9)]);
  const printed = await tollgate(['audit', 'checkpoint']);
  expect(printed.out).toMatch(/^tollgate\.audit\/acme\/[0-9a-f]{32}\n8\n/);
  writeFileSync(late, printed.out);
  expect((await tollgate(['audit', 'checkpoint', '--size', '8'])).out).toBe(printed.out);
  writeFileSync(keys, (await tollgate(['audit', 'keys'])).out);
  expect(await tollgate(['audit', 'export', '--proof', '-o', log])).toMatchObject({
    code: 0,
    err: `8 items and their checkpoint in ${log}\n`,
  });
  expect(await tollgate(['audit', 'export', '--proof', '--after', early, '-o', tail])).toMatchObject({
    code: 0,
    err: expect.stringContaining('5 items'),
  });
  expect((await tollgate(['audit', 'export', '--proof', '--after', '3'])).out.split('\n')).toHaveLength(8);

  const sound = await verify(log, '--checkpoint', early, late, '--public-key', keys);
  expect(sound).toMatchObject({ code: 0, err: '' });
  expect(sound.out).toMatch(
    /^OK {2}tollgate\.audit\/acme\/.*\n {2}items 1 to 8: 7 entries, 1 gap \(2 records lost\), 0 entries out of retention\n/,
  );
  expect(sound.out).toContain('up to item 8 it agrees with your checkpoint');
  expect(sound.out).toContain('signed by a key that you gave');
  expect(sound.out).toContain('entries are kept for 90 days');
  expect((await verify(log, '--public-key', keys, '--before-raise', late)).out).toContain('up to item 8 it agrees with your checkpoint');
  expect((await verify(tail, '--checkpoint', early)).out).toMatch(
    /items 4 to 8:[\s\S]*checkpoint of 3 items ends, or later: the items of that checkpoint are not in this export[\s\S]*signatures were not checked/,
  );
  expect(jsonOf(await verify(log, '--public-key', readFileSync(keys, 'utf8').trim(), '--json'))).toMatchObject({
    result: 'sound',
    upTo: 8,
  });

  const lines = readFileSync(log, 'utf8').split('\n');
  const changed = join(at, 'changed');
  const write = (text: string): string => {
    writeFileSync(changed, text);
    return changed;
  };
  const edited = write(lines.map((line, n) => (n === 2 ? line.replace('"allow"', '"deny"') : line)).join('\n'));
  expect(await verify(edited, '--checkpoint', late)).toMatchObject({
    code: 1,
    out: '',
    err: `REFUSED: line 3: item 2 (entry ${spool('a')}-2) was changed, or is not of this log\n`,
  });
  expect(jsonOf(await verify(edited, '--checkpoint', late, '--json'))).toMatchObject({
    result: 'refused',
    reason: expect.stringContaining('item 2'),
  });
  expect(await verify(write(lines.join('\n').trimEnd()), '--checkpoint', late)).toMatchObject({ code: 1 });
  expect(await verify(write(lines.slice(0, 6).join('\n')), '--checkpoint', late)).toMatchObject({
    code: 1,
    err: expect.stringContaining('late covers 8'),
  });
  expect(await verify(write(lines.map((line) => `${line}\r`).join('\n')), '--checkpoint', late)).toMatchObject({ code: 2 });
});

test('evidence that does not suffice is exit code 2, with the reason', async () => {
  const at = folder();
  const log = join(at, 'log');
  await tollgate(['audit', 'export', '--proof', '-o', log]);
  const plain = join(at, 'plain');
  await tollgate(['audit', 'export', '-o', plain]);
  const note = join(at, 'note');
  await tollgate(['audit', 'checkpoint', '-o', note]);
  const empty = join(at, 'empty');
  writeFileSync(empty, '\n');
  for (const [words, said] of [
    [[log], 'cannot be checked without a checkpoint or a key'],
    [[log, '--public-key', empty], 'contains no public key'],
    [[log, '--checkpoint', note, '--public-key', empty], 'contains no public key'],
    [[plain, '--checkpoint', note], 'not an export of the chain'],
    [[join(at, 'none'), '--checkpoint', note], 'cannot be read (ENOENT)'],
    [[at, '--checkpoint', note], 'cannot be read (EISDIR)'],
    [[log, '--checkpoint', log], 'is not a checkpoint'],
    [[log, '--checkpoint', join(at, 'none')], 'ENOENT'],
    [[log, '--public-key', plain], 'not a public key'],
    [[log, '--checkpoint', note, '--retention-days', 'x'], '--retention-days must be'],
    [[log, '--checkpoint', note, '--retention-days', '9', '--before-raise', note], 'give only one of the two options'],
    [[log, '--checkpoint', note, '--before-raise', log], 'is not a checkpoint'],
  ] as const)
    expect(await verify(...words), words.join(' ')).toMatchObject({ code: 2, out: '', err: expect.stringContaining(said) });
});

test('a checkpoint with converted line ends, or with one more line at its end, is the same checkpoint', async () => {
  const at = folder();
  const [log, note] = [join(at, 'log'), join(at, 'note')];
  writeFileSync(note, `\ufeff${(await tollgate(['audit', 'checkpoint'])).out.replaceAll('\n', '\r\n')}\r\n`);
  expect(await tollgate(['audit', 'export', '--proof', '--after', note, '-o', log])).toMatchObject({ code: 0 });
  expect(await verify(log, '--checkpoint', note, '--public-key', (await tollgate(['audit', 'keys'])).out.trim())).toMatchObject({
    code: 0,
  });
});

test('a proof covers everything, and is never written to a terminal', async () => {
  for (const filter of [
    ['--tool', 'x'],
    ['--since', '1h'],
    ['--decision', 'deny'],
  ])
    expect(await tollgate(['audit', 'export', '--proof', ...filter])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${filter[0]} excludes entries`),
    });
  expect(await tollgate(['audit', 'export', '--after', '3'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('--after needs --proof'),
  });
  expect(await tollgate(['audit', 'export', '--proof'], { columns: 80 })).toMatchObject({
    code: 1,
    err: expect.stringContaining('give a file with -o'),
  });
  expect(await tollgate(['audit', 'export', '--proof', '--after', '/nowhere/note'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('--after must be a number or a file that can be read, but is /nowhere/note'),
  });
});

test('the gaps of the log are listed with what is missing and why, in pages', async () => {
  await ship(rest, spool('e'), [lost(1, 'a \u001b[31mtorn\u202e record', 7), ...records(8, 8), lost(9, 'unreadable on disk')]);
  const { code, out, err } = await tollgate(['audit', 'gaps', '--limit', '1']);
  expect(code).toBe(0);
  expect(out).toMatch(/records +.*reason/);
  expect(out).toContain('unreadable on disk');
  const [, cursor = ''] = /^there is more: --cursor (\d+)\n$/.exec(err) ?? [];
  const older = await tollgate(['audit', 'gaps', '--cursor', cursor]);
  expect(older.out).toMatch(new RegExp(`7 +${spool('e')} +1 `));
  expect(older.out).not.toContain('\u001b[31m');
  expect(jsonOf(await tollgate(['--json', 'audit', 'gaps', '--cursor', cursor]))).toMatchObject({ gaps: [{ records: 7 }, {}] });
});
