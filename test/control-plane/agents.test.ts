import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createRest, errorOf, field, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const list = '/api/v1/agents';
const profile = async (id: string): Promise<unknown> => (await rest.ask('GET', `${list}/${id}`)).body;

describe('create', () => {
  test('a profile of name and model alone takes every default of the spec', async () => {
    const created = await rest.ask('POST', list, { body: { name: 'Bot', model: 'demo/echo' } });
    expect(created).toMatchObject({ status: 200, body: { ok: true } });
    const read = await rest.ask('GET', `${list}/${field(created, 'id')}`);
    expect(read.body).toEqual({
      ok: true,
      profile: {
        id: field(created, 'id'),
        name: 'Bot',
        model: 'demo/echo',
        systemPrompt: 'You are a helpful autonomous agent.',
        description: '',
        icon: '',
        enabledTools: [],
        scopes: [],
        maxToolCalls: 50,
        maxBudgetCents: 1000,
        maxDurationMs: 1_800_000,
        maxToolRounds: 10,
        delegatable: true,
        canDelegate: false,
        suspended: false,
        createdAt: '2026-06-25T12:00:00.000Z',
        updatedAt: '2026-06-25T12:00:00.000Z',
      },
    });
  });

  test('every writable field is stored as sent', async () => {
    const body = {
      name: 'Full',
      model: 'some-unknown-model',
      systemPrompt: 'p'.repeat(200_000),
      description: 'd',
      icon: 'i',
      enabledTools: ['github.*', 'constructor', '__proto__', 'emoji.🙂'],
      scopes: ['a', 'b'],
      maxToolCalls: 0,
      maxBudgetCents: 9_007_199_254_740_991,
      maxDurationMs: 1,
      maxToolRounds: 99_999,
      delegatable: false,
      canDelegate: true,
      maxDelegationDepth: 3,
      suspended: true,
    };
    const created = await rest.ask('POST', list, { body });
    expect(await profile(field(created, 'id'))).toMatchObject({ profile: body });
  });

  test('unknown and read-only fields are ignored', async () => {
    const id = await rest.createAgent({
      id: 'mine',
      createdAt: '2000-01-01T00:00:00Z',
      updatedAt: 1,
      color: 'red',
      constructor: 1,
      toString: 2,
    });
    expect(id).not.toBe('mine');
    expect(await profile(id)).toMatchObject({ profile: { id, createdAt: '2026-06-25T12:00:00.000Z' } });
  });

  test.each([
    ['name', { model: 'demo/echo' }],
    ['model', { name: 'x' }],
    ['name', {}],
    ['name', { name: '', model: 'demo/echo' }],
    ['model', { name: 'x', model: '' }],
    ['name', { name: null, model: 'demo/echo' }],
    ['model', { name: 'x', model: 7 }],
    ['systemPrompt', { name: 'x', model: 'm', systemPrompt: 1 }],
    ['description', { name: 'x', model: 'm', description: [] }],
    ['icon', { name: 'x', model: 'm', icon: {} }],
    ['enabledTools', { name: 'x', model: 'm', enabledTools: 'github' }],
    ['enabledTools', { name: 'x', model: 'm', enabledTools: [1] }],
    ['scopes', { name: 'x', model: 'm', scopes: [null] }],
    ['maxToolCalls', { name: 'x', model: 'm', maxToolCalls: '5' }],
    ['maxToolCalls', { name: 'x', model: 'm', maxToolCalls: -1 }],
    ['maxBudgetCents', { name: 'x', model: 'm', maxBudgetCents: 1.5 }],
    ['maxDurationMs', { name: 'x', model: 'm', maxDurationMs: 1e300 }],
    ['maxToolRounds', { name: 'x', model: 'm', maxToolRounds: null }],
    ['delegatable', { name: 'x', model: 'm', delegatable: 'yes' }],
    ['canDelegate', { name: 'x', model: 'm', canDelegate: 1 }],
    ['maxDelegationDepth', { name: 'x', model: 'm', maxDelegationDepth: -1 }],
    ['suspended', { name: 'x', model: 'm', suspended: 0 }],
  ])('a wrong %s is refused and named (%#)', async (place, body) => {
    const answer = await rest.ask('POST', list, { body });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain(place);
  });

  test('every problem is reported at once', async () => {
    const answer = await rest.ask('POST', list, { body: { model: 1, maxToolCalls: -1 } });
    expect(answer.body).toMatchObject({
      details: ['name is required', 'model must be a string', 'maxToolCalls must be an integer of at least 0'],
    });
  });

  test.each([['null'], ['[]'], ['"x"'], ['7'], ['']])('a body of %j is refused', async (body) => {
    const answer = await rest.ask('POST', list, { body, headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain('body');
  });
});

describe('how often a key may write', () => {
  test('the 601st create, PUT or DELETE of a member in a minute is 429 with Retry-After, for that key only, until the minute is over', async () => {
    const fresh = await createRest();
    onTestFinished(() => fresh.close());
    const id = await fresh.createAgent();
    const key = await fresh.keyOf('member');
    const ask = [
      () => fresh.ask('POST', list, { body: {}, key }),
      () => fresh.ask('PUT', `${list}/${id}`, { body: {}, key }),
      () => fresh.ask('DELETE', `${list}/absent`, { key }),
    ];
    for (let n = 0; n < 600; n += 1) expect((await ask[n % 3]?.())?.status).toBe([400, 200, 404][n % 3]);
    for (const again of ask) {
      const refused = await again();
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
      expect(errorOf(refused)).toBe('the limit is reached: at most 600 writes of agents a minute for each key');
    }
    expect((await fresh.ask('GET', `${list}/${id}`)).status).toBe(200);
    expect((await fresh.ask('PATCH', `${list}/${id}`, { body: { icon: 'x' }, key })).status).toBe(200);
    const admin = await fresh.keyOf('admin');
    for (let n = 0; n < 601; n += 1) expect((await fresh.ask('DELETE', `${list}/absent`, { key: admin })).status).toBe(404);
    fresh.clock.now = new Date(fresh.clock.now.getTime() + 60_000);
    expect((await ask[1]?.())?.status).toBe(200);
  }, 120_000);
});

describe('limits on all agents of a workspace together', () => {
  const mebi = 1_048_576;
  const filled = async (count: number, promptLength: number) => {
    const full = await createRest();
    onTestFinished(() => full.close());
    const first = await full.createAgent({ systemPrompt: 'p'.repeat(promptLength) });
    await full.pool.query(
      `insert into agent (workspace_id, id, name, model, system_prompt, description, icon, enabled_tools, scopes, max_tool_calls, max_budget_cents,
         max_duration_ms, max_tool_rounds, delegatable, can_delegate, suspended, created_at, updated_at)
       select workspace_id, 'copy' || n, name, model, system_prompt, description, icon, enabled_tools, scopes, max_tool_calls, max_budget_cents,
         max_duration_ms, max_tool_rounds, delegatable, can_delegate, suspended, created_at, updated_at from agent, generate_series(2, $1::int) n`,
      [count],
    );
    return { full, first };
  };
  const body = { name: 'more', model: 'demo/echo' };

  test('the agent after the 10,000th is 409, and a deletion makes space for one', async () => {
    const { full, first } = await filled(10_000, 1);
    expect(await full.ask('POST', list, { body })).toMatchObject({
      status: 409,
      body: { error: 'a workspace has at most 10000 agents; delete one that is not needed' },
    });
    expect(await full.ask('PUT', `${list}/${first}`, { body: { description: 'still written' } })).toMatchObject({ status: 200 });
    expect(await full.ask('DELETE', `${list}/${first}`)).toMatchObject({ status: 200 });
    expect(await full.ask('POST', list, { body })).toMatchObject({ status: 200 });
    const other = await full.ask('POST', list, { body, key: full.other });
    expect(other).toMatchObject({ status: 200 });
  });

  test('profiles of more than 32 MiB together are 409, by a create and by a change', async () => {
    const { full, first } = await filled(32, mebi - 2_048);
    const refused = {
      status: 409,
      body: { error: expect.stringMatching(/ may hold 33554432 bytes of text .* would hold 33\d{6}; shorten /) },
    };
    const enabledTools = Array.from({ length: 20_000 }, (_, at) => `tool.${at}`);
    expect(await full.ask('POST', list, { body: { ...body, systemPrompt: 'p'.repeat(200_000) } })).toMatchObject(refused);
    expect(await full.ask('POST', list, { body: { ...body, enabledTools } })).toMatchObject(refused);
    expect(await full.ask('PUT', `${list}/${first}`, { body: { enabledTools } })).toMatchObject(refused);
    expect(await full.ask('PATCH', `${list}/${first}`, { body: { systemPrompt: '', scopes: [] } })).toMatchObject({ status: 200 });
    expect(await full.ask('PATCH', `${list}/${first}`, { body: { systemPrompt: 'p'.repeat(100_000) } })).toMatchObject({ status: 200 });
  });

  test('where they already hold more than that, a write that makes no agent larger is accepted', async () => {
    const { full, first } = await filled(34, 1_000_000);
    expect(await full.ask('PATCH', `${list}/${first}`, { body: { description: 'more' } })).toMatchObject({ status: 409 });
    for (const change of [
      { suspended: true },
      { suspended: false },
      { maxToolCalls: 10_000 },
      { systemPrompt: 'short', description: 'more' },
    ])
      expect(await full.ask('PATCH', `${list}/${first}`, { body: change })).toMatchObject({ status: 200 });
  });
});

describe('a name with characters that are not seen', () => {
  const hidden = [
    ['a control character', 'in\u0007voice'],
    ['an escape sequence', '\u001b[2Jinvoice'],
    ['a line feed', 'in\nvoice'],
    ['a mark that turns the direction of text', 'invoice\u202efdp.exe'],
    ['a mark of right-to-left text', 'invoice\u200f'],
    ['an isolate', '\u2066invoice\u2069'],
    ['a space without width', 'in\u200bvoice'],
  ] as const;
  const words = 'name must hold no control, format or unpaired surrogate character';

  test.each(hidden)('%s: an agent is neither created with it nor renamed to it', async (_what, name) => {
    const created = await rest.ask('POST', list, { body: { name, model: 'demo/echo' } });
    expect([created.status, errorOf(created)]).toEqual([400, words]);
    const id = await rest.createAgent({ name: 'invoice' });
    for (const method of ['PUT', 'PATCH'] as const) {
      const renamed = await rest.ask(method, `${list}/${id}`, { body: { name, description: 'x' } });
      expect([renamed.status, errorOf(renamed)]).toEqual([400, words]);
    }
    expect(await profile(id)).toMatchObject({ profile: { name: 'invoice', description: '' } });
  });

  test('one that was stored before stays readable, may be sent back, and may be given up', async () => {
    const id = await rest.createAgent({ name: 'invoice' });
    const name = 'invoice\u202e';
    await rest.pool.query('update agent set name = $1 where id = $2', [name, id]);
    expect(await profile(id)).toMatchObject({ profile: { name } });
    expect(Object((await rest.ask('GET', `${list}?limit=1`)).body).profiles).toMatchObject([{ id, name }]);
    expect((await rest.ask('PUT', `${list}/${id}`, { body: { name, description: 'x' } })).status).toBe(200);
    expect((await rest.ask('PATCH', `${list}/${id}`, { body: { icon: 'x' } })).status).toBe(200);
    expect((await rest.ask('PUT', `${list}/${id}`, { body: { name: `${name}\u202e` } })).status).toBe(400);
    expect((await rest.ask('PUT', `${list}/${id}`, { body: { name: 'invoice' } })).status).toBe(200);
  });

  test('names of any script are taken', async () => {
    for (const name of ['請求書', 'счёт', 'חשבונית', 'فاتورة', 'Rechnung ä', '🧾 bot'])
      expect(await profile(await rest.createAgent({ name }))).toMatchObject({ profile: { name } });
  });
});

describe('list', () => {
  test('newest first, also within one instant', async () => {
    const fresh = await createRest();
    try {
      const ids = [];
      for (let n = 0; n < 5; n += 1) ids.unshift(await fresh.createAgent({ name: `same-instant-${n}` }));
      fresh.clock.now = new Date('2026-06-26T00:00:00Z');
      ids.unshift(await fresh.createAgent());
      const { body } = await fresh.ask('GET', list);
      expect(body).toMatchObject({ ok: true, profiles: ids.map((id) => ({ id })) });
      expect(body).not.toHaveProperty('next');
    } finally {
      await fresh.close();
    }
  });

  test('in pages, each agent once, also where agents are created and deleted between two pages', async () => {
    const fresh = await createRest();
    try {
      const ids: string[] = [];
      for (let n = 0; n < 6; n += 1) ids.unshift(await fresh.createAgent({ name: `same-instant-${n}` }));
      const pages: string[][] = [];
      let query = '?limit=2';
      for (;;) {
        const { profiles, next } = Object((await fresh.ask('GET', list + query)).body);
        const page: string[] = profiles.map(({ id }: { readonly id: string }) => id);
        pages.push(page);
        if (next === undefined) break;
        await fresh.ask('DELETE', `${list}/${page.at(-1)}`);
        await fresh.createAgent();
        query = `?limit=2&cursor=${next}`;
      }
      expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    } finally {
      await fresh.close();
    }
  });

  test('without a limit, the agents after a cursor are on one page', async () => {
    const fresh = await createRest();
    try {
      for (let n = 0; n < 3; n += 1) await fresh.createAgent();
      const all = Object((await fresh.ask('GET', list)).body).profiles;
      const { next } = Object((await fresh.ask('GET', `${list}?limit=1`)).body);
      expect((await fresh.ask('GET', `${list}?cursor=${next}`)).body).toEqual({ ok: true, profiles: all.slice(1) });
    } finally {
      await fresh.close();
    }
  });

  test.each(['limit=many', 'cursor=-', 'cursor=MS4', 'page=2'])('?%s is 400', async (query) => {
    expect((await rest.ask('GET', `${list}?${query}`)).status).toBe(400);
  });
});

describe.each(['PUT', 'PATCH'] as const)('%s', (method) => {
  test('each field that is sent is written, and each that is not sent stays', async () => {
    const id = await rest.createAgent({ description: 'before', maxToolCalls: 7, maxDelegationDepth: 2 });
    const answer = await rest.ask(method, `${list}/${id}`, {
      body: { description: 'after', enabledTools: ['a.b'], maxDelegationDepth: null },
    });
    expect(answer).toMatchObject({ status: 200, body: { ok: true } });
    const read = await profile(id);
    expect(read).toMatchObject({ profile: { description: 'after', enabledTools: ['a.b'], maxToolCalls: 7, name: 'agent' } });
    expect(read).not.toHaveProperty('profile.maxDelegationDepth');
  });

  test('updatedAt moves and createdAt stays', async () => {
    const id = await rest.createAgent();
    const before = rest.clock.now;
    rest.clock.now = new Date(before.getTime() + 60_000);
    await rest.ask(method, `${list}/${id}`, { body: { icon: 'x' } });
    rest.clock.now = before;
    expect(await profile(id)).toMatchObject({ profile: { createdAt: '2026-06-25T12:00:00.000Z', updatedAt: '2026-06-25T12:01:00.000Z' } });
  });

  test('a write that changes nothing leaves no event, no revision and no new updatedAt, for every sender', async () => {
    const id = await rest.createAgent({ enabledTools: ['a.b'], maxToolCalls: 0, maxDelegationDepth: 2 });
    const before = await rest.ask('GET', `${list}/${id}`);
    const rows = async (): Promise<unknown> => {
      const counts = 'select revision, (select count(*) from admin_event) as events from workspace where slug = $1';
      return (await rest.pool.query(counts, ['acme'])).rows;
    };
    const member = await rest.keyOf('member');
    const untouched = await rows();
    const { id: _, createdAt: __, updatedAt: ___, maxToolCalls: ____, ...fields } = Object(Object(before.body).profile);
    const noon = rest.clock.now;
    rest.clock.now = new Date(noon.getTime() + 60_000);
    for (const key of [rest.owner, member]) {
      for (const body of ['{}', JSON.stringify(fields), '{"enabledTools":["a.b"]}', '{"maxDelegationDepth":2.0}']) {
        const answer = await rest.ask(method, `${list}/${id}`, { key, body, headers: { 'content-type': 'application/json' } });
        expect(answer).toMatchObject({ status: 200, body: { ok: true, revision: Number(Object(untouched)[0].revision) } });
      }
    }
    // JSON has a negative zero, which differs from the stored one; a PATCH accepts no cap of zero.
    if (method === 'PUT')
      await rest.ask('PUT', `${list}/${id}`, { body: '{"maxToolCalls":-0}', headers: { 'content-type': 'application/json' } });
    expect(await rows()).toEqual(untouched);
    rest.clock.now = noon;
    expect((await rest.ask('GET', `${list}/${id}`)).body).toEqual(before.body);
    await rest.ask(method, `${list}/${id}`, { key: member, body: { enabledTools: ['a.b', 'a.c'] } });
    expect(await rows()).not.toEqual(untouched);
  });

  test('a wrong type changes nothing', async () => {
    const id = await rest.createAgent();
    expect((await rest.ask(method, `${list}/${id}`, { body: { description: 'x', maxToolCalls: '9' } })).status).toBe(400);
    expect(await profile(id)).toMatchObject({ profile: { description: '', maxToolCalls: 50 } });
  });
});

test('PUT ignores unknown and read-only fields and takes any model and any size', async () => {
  const id = await rest.createAgent();
  const body = { id: 'x', createdAt: 'y', bogus: 1, model: 'unknown-model', maxToolCalls: 10_000_000 };
  expect((await rest.ask('PUT', `${list}/${id}`, { body })).status).toBe(200);
  expect(await profile(id)).toMatchObject({
    profile: { id, model: 'unknown-model', maxToolCalls: 10_000_000, createdAt: '2026-06-25T12:00:00.000Z' },
  });
});

describe('PATCH, the validated path', () => {
  test.each([
    ['bogus', { bogus: 1 }],
    ['id', { id: 'x' }],
    ['createdAt', { createdAt: '2026-01-01T00:00:00Z' }],
    ['constructor', { constructor: 1 }],
    ['toString', { toString: 1 }],
    ['model', { model: 'unknown-model' }],
    ['name', { name: 'n'.repeat(201) }],
    ['systemPrompt', { systemPrompt: 'p'.repeat(100_001) }],
    ['description', { description: 'p'.repeat(10_001) }],
    ['icon', { icon: 'p'.repeat(201) }],
    ['enabledTools', { enabledTools: Array.from({ length: 1001 }, (_, n) => `t.${n}`) }],
    ['enabledTools', { enabledTools: ['t'.repeat(201)] }],
    ['scopes', { scopes: Array.from({ length: 201 }, (_, n) => `s${n}`) }],
    ['maxToolCalls', { maxToolCalls: 0 }],
    ['maxToolCalls', { maxToolCalls: 10_001 }],
    ['maxBudgetCents', { maxBudgetCents: 1_000_001 }],
    ['maxDurationMs', { maxDurationMs: 999 }],
    ['maxDurationMs', { maxDurationMs: 86_400_001 }],
    ['maxToolRounds', { maxToolRounds: 0 }],
    ['maxToolRounds', { maxToolRounds: 1001 }],
    ['maxDelegationDepth', { maxDelegationDepth: 17 }],
  ])('a wrong %s is refused and named (%#)', async (place, body) => {
    const fresh = await rest.createAgent();
    const key = field(await rest.ask('POST', '/acme/admin/keys', { body: { name: 'one', scopes: ['*'] } }), 'key');
    const answer = await rest.ask('PATCH', `${list}/${fresh}`, { key, body });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toContain(place);
  });

  test('the values of the bounds are accepted', async () => {
    const id = await rest.createAgent();
    for (const body of [
      {
        name: 'n'.repeat(200),
        systemPrompt: 'p'.repeat(100_000),
        description: 'd'.repeat(10_000),
        icon: 'i'.repeat(200),
        model: 'claude-sonnet-4-5',
      },
      { maxToolCalls: 1, maxBudgetCents: 0, maxDurationMs: 1000, maxToolRounds: 1, maxDelegationDepth: 0 },
      { maxToolCalls: 10_000, maxBudgetCents: 1_000_000, maxDurationMs: 86_400_000, maxToolRounds: 1000, maxDelegationDepth: 16 },
    ]) {
      expect((await rest.ask('PATCH', `${list}/${id}`, { body })).status).toBe(200);
      expect(await profile(id)).toMatchObject({ profile: body });
    }
  });

  test('the 31st of a minute is 429 with Retry-After, for that key only, until the minute is over', async () => {
    const fresh = await createRest();
    try {
      const id = await fresh.createAgent();
      const patch = (key = fresh.owner) => fresh.ask('PATCH', `${list}/${id}`, { key, body: { icon: 'x' } });
      for (let n = 0; n < 30; n += 1) {
        expect((await patch()).status).toBe(200);
        fresh.clock.now = new Date(fresh.clock.now.getTime() + 1000);
      }
      const refused = await patch();
      expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '30' } });
      expect(errorOf(refused)).toContain('30');
      expect((await patch(await fresh.keyOf('admin'))).status).toBe(200);
      fresh.clock.now = new Date(fresh.clock.now.getTime() + 30_000);
      expect((await patch()).status).toBe(200);
      expect((await patch()).status).toBe(429);
    } finally {
      await fresh.close();
    }
  });

  test('leaves an admin event that names the fields and holds no values', async () => {
    const id = await rest.createAgent();
    await rest.ask('PATCH', `${list}/${id}`, { body: { systemPrompt: 'the secret plan', icon: 'x' } });
    const { body } = await rest.ask('GET', '/acme/admin/events?limit=1');
    expect(body).toMatchObject({
      events: [{ action: 'agent.patch', target: `agent/${id}`, sub: 'owner', detail: { fields: ['systemPrompt', 'icon'] } }],
    });
    expect(JSON.stringify(body)).not.toContain('secret plan');
  });
});

describe('an id that does not exist here', () => {
  const requests = [
    ['GET', undefined],
    ['PUT', { icon: 'x' }],
    ['PATCH', { icon: 'x' }],
    ['DELETE', undefined],
  ] as const;

  test.each(requests)('%s is 404 with the same body for another workspace and for a missing agent', async (method, body) => {
    const theirs = field(await rest.ask('POST', list, { key: rest.other, body: { name: 'theirs', model: 'demo/echo' } }), 'id');
    const answers = [];
    for (const id of [theirs, 'absent', 'a'.repeat(3000), '%00', '__proto__', "'; drop table agent; --", '%F0%9F%99%82']) {
      answers.push(await rest.ask(method, `${list}/${id}`, { body }));
    }
    expect(new Set(answers.map((answer) => `${answer.status} ${JSON.stringify(answer.body)}`))).toEqual(
      new Set([`404 {"error":"there is no such agent"}`]),
    );
    expect((await rest.ask('GET', `${list}/${theirs}`, { key: rest.other })).status).toBe(200);
  });
});

test('a deleted agent is gone, and deleting it again is 404', async () => {
  const id = await rest.createAgent();
  expect(await rest.ask('DELETE', `${list}/${id}`)).toMatchObject({ status: 200, body: { ok: true } });
  expect((await rest.ask('GET', `${list}/${id}`)).status).toBe(404);
  expect((await rest.ask('DELETE', `${list}/${id}`)).status).toBe(404);
});

test('DELETE with a JSON content type and no body works', async () => {
  for (const headers of [{ 'content-type': 'application/json' }, { 'content-type': 'application/json', 'content-length': '0' }]) {
    const id = await rest.createAgent();
    expect((await rest.ask('DELETE', `${list}/${id}`, { headers })).status).toBe(200);
  }
});

test('every write answers with the next revision of its workspace', async () => {
  const revisions: unknown[] = [];
  for (let n = 0; n < 3; n += 1) revisions.push((await rest.ask('POST', list, { body: { name: 'x', model: 'm' } })).body);
  const numbers = revisions.map((body) => Number(JSON.stringify(body).match(/"revision":(\d+)/)?.[1]));
  expect(numbers).toEqual([numbers[0], Number(numbers[0]) + 1, Number(numbers[0]) + 2]);
});

test('a refused write raises no revision and leaves no event', async () => {
  const before = await rest.pool.query('select revision, (select count(*) from admin_event) as events from workspace where slug = $1', [
    'acme',
  ]);
  await rest.ask('POST', list, { body: { name: 'x' } });
  await rest.ask('PUT', `${list}/absent`, { body: {} });
  const after = await rest.pool.query('select revision, (select count(*) from admin_event) as events from workspace where slug = $1', [
    'acme',
  ]);
  expect(after.rows).toEqual(before.rows);
});

describe('suspended, which only owners and admins change', () => {
  const suspendedOf = async (id: string): Promise<unknown> => Object(Object(await profile(id)).profile).suspended;

  describe.each(['PUT', 'PATCH'] as const)('by %s', (method) => {
    test.each([true, false])('a member does not change it from %s', async (suspended) => {
      const id = await rest.createAgent({ suspended });
      const key = await rest.keyOf('member');
      const answer = await rest.ask(method, `${list}/${id}`, { key, body: { name: 'renamed', suspended: !suspended } });
      expect(answer.status).toBe(403);
      expect(errorOf(answer)).toContain('suspended');
      expect(await profile(id)).toMatchObject({ profile: { name: 'agent', suspended } });
    });

    test('a member may send it back unchanged, or omit it', async () => {
      const id = await rest.createAgent({ suspended: true });
      const key = await rest.keyOf('member');
      for (const body of [{ name: 'once', suspended: true }, { name: 'twice' }])
        expect((await rest.ask(method, `${list}/${id}`, { key, body })).status).toBe(200);
      expect(await profile(id)).toMatchObject({ profile: { name: 'twice', suspended: true } });
    });

    test.each(['owner', 'admin'] as const)('an %s sets and clears it', async (role) => {
      const id = await rest.createAgent();
      const key = await rest.keyOf(role);
      for (const suspended of [true, false]) {
        expect((await rest.ask(method, `${list}/${id}`, { key, body: { suspended } })).status).toBe(200);
        expect(await suspendedOf(id)).toBe(suspended);
      }
    });
  });

  test('any member may create an agent that is suspended', async () => {
    const answer = await rest.ask('POST', list, { key: await rest.keyOf('member'), body: { name: 'x', model: 'm', suspended: true } });
    expect(await suspendedOf(field(answer, 'id'))).toBe(true);
  });
});

test('for a cap that no number of ours can hold, the message names the largest', async () => {
  const answer = await rest.ask('PUT', `${list}/${await rest.createAgent()}`, { body: { maxToolCalls: 2 ** 53 } });
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toContain('maxToolCalls must be at most 9007199254740991');
});
