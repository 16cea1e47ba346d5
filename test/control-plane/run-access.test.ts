// Whose runs a caller may see and end: its own, those of everybody as an owner or admin, and to read them with a key
// that names the audit's scope.
import type { Scope } from '@tollgate/proto/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createScriptedModel } from '../support/scripted-model.ts';
import { field } from './rest.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

const both: readonly Scope[] = ['agents.read', 'agents.write'];

let rest: RunsRest;
let agentId: string;
let keys: Readonly<Record<'ann' | 'bob' | 'star' | 'admin' | 'auditor' | 'clerk', string>>;
let runs: Readonly<Record<'ann' | 'owner' | 'service', string>>;
/** A service key made by an admin who is no longer one. */
let service: { readonly id: string; readonly key: string };

beforeAll(async () => {
  rest = await createRunsRest({ models: createScriptedModel(() => ({ text: 'a secret of the run' })) });
  agentId = await rest.createAgent();
  const maker = await rest.keyOf('admin', ['*'], 'maker');
  const made = await rest.ask('POST', '/acme/admin/keys', { key: maker, body: { name: 'ci', scopes: both } });
  service = { id: field(made, 'id'), key: field(made, 'key') };
  await rest.ask('PATCH', '/acme/admin/members/maker', { body: { role: 'member' } });
  keys = {
    ann: await rest.keyOf('member', both, 'ann'),
    bob: await rest.keyOf('member', both, 'bob'),
    star: await rest.keyOf('member', ['*'], 'star'),
    admin: await rest.keyOf('admin', both, 'adam'),
    auditor: await rest.keyOf('member', ['admin.audit.read'], 'auditor'),
    clerk: await rest.keyOf('member', ['admin.audit.read', 'agents.write'], 'clerk'),
  };
  const runBy = async (key: string) => field(await rest.run(agentId, { input: 'x' }, key), 'id');
  runs = { ann: await runBy(keys.ann), owner: await runBy(rest.owner), service: await runBy(service.key) };
});
afterAll(() => rest.close());

const read = (id: string, key: string) => rest.ask('GET', `/api/v1/runs/${id}`, { key });
const cancel = (id: string, key: string) => rest.ask('POST', `/api/v1/runs/${id}/cancel`, { key });
async function listed(key: string): Promise<readonly string[]> {
  const { status, body } = await rest.ask('GET', `/api/v1/agents/${agentId}/runs`, { key });
  expect(status).toBe(200);
  return (body as { readonly runs: readonly { readonly id: string }[] }).runs.map(({ id }) => id).toSorted();
}
const everybodys = () => Object.values(runs).toSorted();

describe('a member', () => {
  test('lists, reads and cancels their own runs', async () => {
    expect(await listed(keys.ann)).toEqual([runs.ann]);
    expect(await read(runs.ann, keys.ann)).toMatchObject({ status: 200, body: { run: { sub: 'ann', output: 'a secret of the run' } } });
    expect((await cancel(runs.ann, keys.ann)).status).toBe(200);
  });

  test('receives the same answer about others’ runs as about a missing run, and none is asked to end', async () => {
    const never = await read('B'.repeat(20), keys.bob);
    expect([never.status, never.body]).toEqual([404, { error: 'there is no such run' }]);
    expect(await listed(keys.bob)).toEqual([]);
    for (const id of everybodys())
      for (const asked of [read, cancel]) {
        const answer = await asked(id, keys.bob);
        expect([answer.status, answer.body]).toEqual([404, never.body]);
      }
    const { rows } = await rest.pool.query('select id from run where cancel_requested_at is not null');
    expect(rows).toEqual([]);
  });

  test('pages through their own runs only, however many of others are in between', async () => {
    const mine: string[] = [runs.ann];
    for (const key of [keys.ann, rest.owner, rest.owner, keys.ann]) {
      rest.clock.now = new Date(rest.clock.now.getTime() + 1_000);
      const id = field(await rest.run(agentId, { input: 'x' }, key), 'id');
      if (key === keys.ann) mine.unshift(id);
    }
    const found: string[] = [];
    for (let cursor = ''; found.length < 10; ) {
      const { body } = await rest.ask('GET', `/api/v1/agents/${agentId}/runs?limit=1${cursor}`, { key: keys.ann });
      const page = body as { readonly runs: readonly { readonly id: string }[]; readonly next?: string };
      found.push(...page.runs.map(({ id }) => id));
      if (page.next === undefined) break;
      cursor = `&cursor=${page.next}`;
    }
    expect(found).toEqual(mine);
    await rest.pool.query('delete from run where not id = any($1)', [everybodys()]);
  });
});

test('an owner and an admin read and cancel the runs of everybody', async () => {
  for (const key of [rest.owner, keys.admin]) {
    expect(await listed(key)).toEqual(everybodys());
    expect((await read(runs.ann, key)).status).toBe(200);
    expect((await cancel(runs.ann, key)).status).toBe(200);
  }
});

test('the audit’s scope alone reads the runs of everybody, and ends none', async () => {
  for (const key of [keys.auditor, keys.clerk]) {
    expect(await listed(key)).toEqual(everybodys());
    expect((await read(runs.ann, key)).status).toBe(200);
    expect((await cancel(runs.ann, key)).status).toBe(403);
  }
});

test('all scopes at once let a member read no run of others: the audit’s scope must be named', async () => {
  expect(await listed(keys.star)).toEqual([]);
  for (const id of everybodys()) expect((await read(id, keys.star)).status).toBe(404);
  expect((await cancel(runs.ann, keys.star)).status).toBe(404);
});

test('a service key has runs of its own: its sub is the key’s, and not that of its maker', async () => {
  expect(await read(runs.service, service.key)).toMatchObject({ status: 200, body: { run: { sub: `apikey:${service.id}` } } });
  expect(await listed(service.key)).toEqual([runs.service]);
  expect((await read(runs.ann, service.key)).status).toBe(404);
  expect((await cancel(runs.ann, service.key)).status).toBe(404);
  expect((await cancel(runs.service, service.key)).status).toBe(200);
  const maker = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'own', scopes: both, uid: 'maker' } });
  expect((await read(runs.service, field(maker, 'key'))).status).toBe(404);
});
