// A workspace whose owners have lost every key gets a new one from a person who can write to the database, and in no
// other way.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../control-plane/app/commands.ts';
import { run } from '../cli/cli.ts';
import { createRest, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

/** In the form of DATABASE_URL. */
function url(): string {
  const { host, port, user, password, database } = new Client(rest.pool.options);
  const account = `${encodeURIComponent(user ?? '')}:${encodeURIComponent(typeof password === 'string' ? password : '')}`;
  return host.startsWith('/')
    ? `postgres://${account}@/${database}?host=${encodeURIComponent(host)}&port=${port}`
    : `postgres://${account}@${host}:${port}/${database}`;
}

const recover = (workspace: string) => run(['recover', workspace], { program: runCommand, env: { DATABASE_URL: url() } });

test('the new key is an owner of that workspace only, and an event and a revision record it', async () => {
  const before = await rest.ask('GET', '/acme/admin/keys');
  const { code, out, err } = await recover('acme');
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('of the owner owner is made, shown this once') });
  const key = out.trim();
  const after = await rest.ask('GET', '/acme/admin/keys', { key });
  expect(after.status).toBe(200);
  expect(Number(/\d+/.exec(String(after.headers['etag']))?.[0])).toBeGreaterThan(Number(/\d+/.exec(String(before.headers['etag']))?.[0]));
  expect((await rest.ask('GET', '/other/admin/keys', { key })).status).not.toBe(200);
  const { rows } = await rest.pool.query(
    "select sub, action, detail->>'recovered' as recovered from admin_event order by revision desc limit 1",
  );
  expect(rows).toEqual([{ sub: 'operator', action: 'key.create', recovered: 'true' }]);
});

test('a workspace that does not exist gets no key, and nothing is changed', async () => {
  const revisions = async () => (await rest.pool.query('select slug, revision from workspace order by slug')).rows;
  const before = await revisions();
  expect(await recover('nowhere')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('nothing was done: there is no workspace "nowhere"'),
  });
  expect(await revisions()).toEqual(before);
});
