import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../sidecar/base/clock.ts';
import { openSpool } from '../../../../sidecar/engine/spool/spool.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { exitOf, startSource } from '../../../support/source-process.ts';
import { adoptAll, openTestSpool, readAll, readLeftBehind, temporaryFolder, textOf } from '../../../support/spools.ts';

for (const kills of [1, 40, 173]) {
  test(`a process killed at about its ${kills}00th entry leaves every entry whose append had returned`, { timeout: 60_000 }, async () => {
    const folder = temporaryFolder();
    const answersPath = join(temporaryFolder(), 'answers');
    const child = startSource('append-until-killed.ts', folder, answersPath);
    const exit = exitOf(child);
    let dots = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      dots += chunk.length;
      if (dots >= kills) child.kill('SIGKILL');
    });
    await exit;
    const answered = readFileSync(answersPath, 'utf8').split('\n').slice(0, -1).map(Number);
    expect(answered.length).toBeGreaterThanOrEqual(kills * 100);
    const found = await readLeftBehind(folder);
    expect(found.slice(0, answered.length)).toEqual(answered.map((n) => `${n}: ${JSON.stringify({ n, pad: 'x'.repeat(n % 700) })}`));
    // One more may have been written whose answer was not.
    expect(found.length - answered.length).toBeLessThanOrEqual(1);
  });
}

test('of several processes that adopt at once exactly one has each spool, and after its death exactly one other', {
  timeout: 60_000,
}, async () => {
  const folder = temporaryFolder();
  const dead: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const spool = await openTestSpool({ folder });
    spool.append(`${n}`);
    await spool.close();
    dead.push(spool.backlog.id);
  }
  const adopters = await Promise.all([1, 2, 3].map(() => startAdopter(folder)));
  const first = await Promise.all(adopters.map(({ adopt }) => adopt()));
  expect(first.flat().sort()).toEqual(dead.sort());
  expect((await Promise.all(adopters.map(({ adopt }) => adopt()))).flat()).toEqual([]);

  const [killed, ...others] = adopters;
  const exit = killed && exitOf(killed.child);
  killed?.child.kill('SIGKILL');
  await exit;
  const second = await Promise.all(others.map(({ adopt }) => adopt()));
  expect(second.flat().sort()).toEqual(first[0]?.toSorted());
});

test('processes that write in one folder at the same time stay separate, and after kill -9 of each every answered entry is there once', {
  timeout: 60_000,
}, async () => {
  const folder = temporaryFolder();
  const writers = [1, 2, 3].map(() => {
    const answers = join(temporaryFolder(), 'answers');
    return { answers, child: startSource('append-until-killed.ts', folder, answers) };
  });
  await Promise.all(writers.map(({ child }) => new Promise((resolve) => child.stdout.once('data', resolve))));
  expect(await adoptAll(folder)).toEqual([]);
  const exits = writers.map(({ child }) => exitOf(child));
  for (const { child } of writers) child.kill('SIGKILL');
  await Promise.all(exits);
  const adopted = await adoptAll(folder);
  expect(adopted).toHaveLength(3);
  const found = await Promise.all(adopted.map(async (backlog) => textOf(await readAll(backlog)).length));
  const answered = writers.map(({ answers }) => readFileSync(answers, 'utf8').split('\n').length - 1);
  const byNumber = (a: number, b: number): number => a - b;
  for (const [index, count] of answered.toSorted(byNumber).entries()) {
    // One more may have been written whose answer was not.
    expect([count, count + 1]).toContain(found.toSorted(byNumber)[index]);
  }
  for (const backlog of adopted) await backlog.close();
});

test('a spool id that another process uses is rejected with a clear message, and its owner continues', async () => {
  const folder = temporaryFolder();
  const randomId = (): string => 'a'.repeat(32);
  const open = () =>
    openSpool({ clock: systemClock, log: silentLog, randomId }, { folder, workspace: 'acme', durability: 'kernel', bytesMax: 1_000_000 });
  const owner = await open();
  owner.append('1');
  await expect(open()).rejects.toThrow(/belongs to another process/);
  expect(owner.append('2')).toBe(2);
  await owner.close();
  expect(readdirSync(folder)).toEqual(['a'.repeat(32)]);
  expect(await readLeftBehind(folder)).toEqual(['1: 1', '2: 2']);
});

test('of many adoptions in one process, too, only one has each spool', async () => {
  const folder = temporaryFolder();
  for (let round = 0; round < 10; round += 1) {
    const spool = await openTestSpool({ folder });
    spool.append('1');
    await spool.close();
    const adopted = (await Promise.all(Array.from({ length: 12 }, () => adoptAll(folder)))).flat();
    expect(adopted.map(({ id }) => id)).toEqual([spool.backlog.id]);
    adopted[0]?.acknowledge(1);
    await adopted[0]?.close();
  }
  expect(readdirSync(folder)).toEqual([]);
});

test('a spool of a living process, or of another workspace, is not adopted', async () => {
  const folder = temporaryFolder();
  const living = await openTestSpool({ folder });
  living.append('1');
  const foreign = await openTestSpool({ folder, workspace: 'other' });
  foreign.append('1');
  await foreign.close();
  expect(await adoptAll(folder)).toEqual([]);
  const [adopted] = await adoptAll(folder, 'other');
  expect(adopted?.id).toBe(foreign.backlog.id);
  await adopted?.close();
  await living.close();
});

test('an open spool does not keep its process alive, and what was appended in its last turn is written', { timeout: 60_000 }, async () => {
  const folder = temporaryFolder();
  expect(await exitOf(startSource('open-and-end.ts', folder))).toBe(0);
  expect(await readLeftBehind(folder)).toEqual(['1: "last words"']);
});

async function startAdopter(folder: string) {
  const child = startSource('adopt-on-command.ts', folder);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  async function adopt(): Promise<readonly string[]> {
    child.stdin.write('\n');
    const line: unknown = JSON.parse(String((await lines.next()).value));
    return Array.isArray(line) ? line.map(String) : [];
  }
  return { child, adopt };
}
