// Secrets that an older key sealed are sealed again by the first key: on the database, with several control planes at
// once and writes in between.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { maintainAuthorities } from '../../control-plane/certificates/operations/maintain-authorities.ts';
import { reseal } from '../../control-plane/tool-servers/operations/reseal.ts';
import { createResealChore } from '../../control-plane/tool-servers/operations/reseal-chore.ts';
import { openSecrets, sealSecrets } from '../../control-plane/tool-servers/operations/tool-server-secrets.ts';
import { createSealer, type Sealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { listSealedServers } from '../../control-plane/tool-servers/store/sealed-servers.ts';
import { insertToolServer, listWorkspaceServers } from '../../control-plane/tool-servers/store/tool-servers.ts';
import type { Queryable } from '../../control-plane/database/transaction.ts';
import { insertWorkspace } from '../../control-plane/workspaces/store/workspaces.ts';
import { ownTerms } from '../../control-plane/certificates/tls/terms.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/programs.ts';

const sealerOf = (...keys: readonly string[]): Sealer =>
  createSealer(
    keys.map((key) => key.repeat(32)),
    randomBytes,
  );
const [before, first, second, after] = [sealerOf('a'), sealerOf('a', 'b'), sealerOf('b', 'a'), sealerOf('b')];
const now = new Date('2026-11-22T08:00:00Z');

let database: TestDatabase;
let workspaceIds: readonly number[];
beforeAll(async () => {
  database = await createTestDatabase();
  workspaceIds = [await insertWorkspace(database.pool, 'acme', now), await insertWorkspace(database.pool, 'other', now)].map(Number);
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.pool.query('delete from tool_server');
  await database.pool.query('delete from authority');
});

const depsOf = (sealer: Sealer) => ({ pool: database.pool, sealer });
const registered = { scopes: [], admitted: [], hints: [], tools: [], revision: 1, discoveredAt: now, createdAt: now };
const secretOf = (workspaceId: number, name: string) => ({ Authorization: `Bearer ${name} of ${workspaceId}` });

async function addServers(sealer: Sealer, count: number, ids = workspaceIds): Promise<void> {
  const add = async (workspaceId: number, name: string): Promise<void> => {
    const target = { kind: 'url', url: 'https://files.test/mcp', headers: ['Authorization'] } as const;
    const sealed = sealSecrets({ sealer }, { workspaceId, name, target }, secretOf(workspaceId, name));
    await insertToolServer(database.pool, workspaceId, { ...registered, name, target }, sealed);
  };
  const names = Array.from({ length: count }, (_, at) => `files-${at}`);
  await Promise.all(ids.flatMap((id) => names.map((name) => add(id, name))));
}

const addAuthority = (sealer: Sealer) => maintainAuthorities({ ...depsOf(sealer), clock: () => now }, ownTerms);
const listAll = () => listSealedServers(database.pool, null, 10_000);
const definitions = () => Promise.all(workspaceIds.map((id) => listWorkspaceServers(database.pool, id)));

/** Throws where a secret cannot be opened. */
async function openAll(sealer: Sealer): Promise<number> {
  const servers = await listAll();
  for (const server of servers) expect(openSecrets({ sealer }, server, server.sealed)).toEqual(secretOf(server.workspaceId, server.name));
  return servers.length;
}

const nothing = { resealed: 0, unopened: [] };

test('everything is sealed again once, over pages and workspaces, opens with the new key alone, and is unchanged for policy', async () => {
  await addServers(before, 130);
  const { signer } = await addAuthority(before);
  const told = await definitions();
  const counts = { toolServers: { ...nothing, resealed: 260 }, authorities: { ...nothing, resealed: 1 }, approvalSecrets: nothing };
  expect(await reseal(depsOf(second))).toEqual(counts);
  expect(await reseal(depsOf(second))).toEqual({ toolServers: nothing, authorities: nothing, approvalSecrets: nothing });
  expect(await openAll(after)).toBe(260);
  expect((await addAuthority(after)).signer).toEqual(signer);
  expect(await definitions()).toEqual(told);
  await expect(openAll(before)).rejects.toThrow('cannot be decrypted');
  await expect(addAuthority(before)).rejects.toThrow('cannot be decrypted');
});

test('control planes that do it at the same time seal each value once in total', async () => {
  await addServers(before, 130);
  await addAuthority(before);
  const done = await Promise.all([1, 2, 3].map(() => reseal(depsOf(second))));
  const sum = (count: (one: (typeof done)[number]) => number): number => done.map(count).reduce((all, one) => all + one, 0);
  expect(sum(({ toolServers }) => toolServers.resealed)).toBe(260);
  expect(sum(({ authorities }) => authorities.resealed)).toBe(1);
  expect(await openAll(after)).toBe(260);
  await addAuthority(after);
});

test('control planes with both key orders at once, as in a rolling update, leave everything readable for both', async () => {
  await addServers(before, 60);
  const { signer } = await addAuthority(before);
  await Promise.all([reseal(depsOf(second)), reseal(depsOf(first)), reseal(depsOf(second)), reseal(depsOf(first))]);
  for (const sealer of [first, second]) {
    expect(await openAll(sealer)).toBe(120);
    expect((await addAuthority(sealer)).signer).toEqual(signer);
  }
  await reseal(depsOf(second));
  expect(await openAll(after)).toBe(120);
});

/** Resolves when another session waits for a lock of `holder`. */
const anotherWaits = (holder: Queryable): Promise<unknown> =>
  eventually(
    () => holder.query("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"),
    ({ rowCount }) => rowCount === 1,
  );

test('a value that is changed meanwhile keeps the change', async () => {
  await addServers(before, 2);
  const writer = await database.pool.connect();
  try {
    await writer.query('begin');
    const theirs = await writer.query("update tool_server set sealed = '\\x00' where name = 'files-0' returning 1");
    await writer.query("delete from tool_server where name = 'files-1' and workspace_id = $1", [workspaceIds[0]]);
    expect(theirs.rowCount).toBe(2);
    const resealing = reseal(depsOf(second));
    await anotherWaits(writer);
    await writer.query('commit');
    expect((await resealing).toolServers.resealed).toBe(1);
  } finally {
    writer.release();
  }
  const left = await listAll();
  expect(left.map(({ name, sealed }) => [name, sealed.length > 1])).toEqual([
    ['files-0', false],
    ['files-0', false],
    ['files-1', true],
  ]);
});

test('a workspace that is removed meanwhile stays removed, and the others are sealed again', async () => {
  const id = Number(await insertWorkspace(database.pool, 'brief', now));
  await addServers(before, 1, [...workspaceIds, id]);
  const remover = await database.pool.connect();
  try {
    await remover.query('begin');
    await remover.query('select from workspace where id = $1 for update', [id]);
    const resealing = reseal(depsOf(second));
    await anotherWaits(remover);
    await remover.query('delete from workspace where id = $1', [id]);
    await remover.query('commit');
    expect((await resealing).toolServers).toEqual({ ...nothing, resealed: 2 });
  } finally {
    remover.release();
  }
  expect(await openAll(after)).toBe(2);
});

test('a value that no key opens is named, and stays unchanged', async () => {
  await addServers(before, 1);
  await addAuthority(before);
  const kept = await listAll();
  const { toolServers, authorities } = await reseal(depsOf(after));
  expect(toolServers).toEqual({ resealed: 0, unopened: workspaceIds.map((id) => `tool server files-0 of workspace ${id}`) });
  expect(authorities).toEqual({ resealed: 0, unopened: [`authority of ${now.toISOString()}`] });
  expect(await listAll()).toEqual(kept);
});

function choreOf(sealer: Sealer | null) {
  const lines: unknown[] = [];
  const note = (fields: object, message: string): void => void lines.push([message, fields]);
  return { lines, ...createResealChore({ pool: database.pool, sealer, log: { info: note, warn: note } }) };
}

const notNeeded = [
  'the first key of TOLLGATE_SECRET_KEY decrypts all secrets; the other keys can be removed when this key is the first key of every control plane',
  { keys: 2 },
];
const resealedLine = (toolServers: number, authorities: number) => [
  'secrets were encrypted again with the first key of TOLLGATE_SECRET_KEY',
  { toolServers, authorities, approvalSecrets: 0 },
];

test('the log reports what was sealed again and that the older key is not needed, and does so again only for new uses of that key', async () => {
  await addServers(before, 1);
  await addAuthority(before);
  const { run, lines, problems } = choreOf(second);
  await run();
  expect(lines.splice(0)).toEqual([resealedLine(2, 1), notNeeded]);
  await run();
  expect(lines).toEqual([]);
  await reseal(depsOf(first));
  await run();
  expect(lines).toEqual([resealedLine(2, 1), notNeeded]);
  expect(problems()).toEqual([]);
});

test('where the older key was removed too early, the log names what it opened and /readyz counts it, until the key is restored', async () => {
  await addServers(before, 1);
  const { run, lines, problems } = choreOf(after);
  await run();
  await run();
  const named = workspaceIds.map((id) => `tool server files-0 of workspace ${id}`);
  expect(lines).toEqual([['some secrets cannot be decrypted with any key of TOLLGATE_SECRET_KEY', { count: 2, sealed: named }]]);
  expect(problems()).toEqual(['no key of TOLLGATE_SECRET_KEY decrypts 2 of the secrets; the log names them']);
  await reseal(depsOf(second));
  await run();
  expect(problems()).toEqual([]);
});

test('with one key, or none, nothing is logged while everything works, and no scan runs', async () => {
  await addServers(after, 1);
  const { run, lines } = choreOf(after);
  await run();
  await database.pool.query("update tool_server set sealed = '\\x00'");
  await run();
  expect(lines).toEqual([]);
  const without = choreOf(null);
  await without.run();
  expect([without.lines, without.problems()]).toEqual([[], []]);
});
