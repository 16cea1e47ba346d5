// Console sessions: who can open one, what it may do, and when it is invalid.
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApp } from '../../control-plane/http/app.ts';
import { removeExpiredSessions } from '../../control-plane/access/operations/remove-expired-sessions.ts';
import { type Answer, createRest, errorOf, field, operatorKey, type Rest } from './rest.ts';

const session = '/acme/admin/session';
const agents = '/api/v1/agents';
const start = new Date('2026-06-25T12:00:00.000Z');
const hours = (count: number): Date => new Date(start.getTime() + count * 3_600_000);

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());
beforeEach(() => {
  rest.clock.now = start;
});

const setCookie = ({ headers }: Answer): string => String(headers['set-cookie']);
const cookieOf = (answer: Answer): string => setCookie(answer).split(';', 1)[0] ?? '';

async function open(key = rest.owner): Promise<{ readonly cookie: string; readonly csrf: string }> {
  const answer = await rest.ask('POST', session, { key });
  return { cookie: cookieOf(answer), csrf: field(answer, 'csrf') };
}

const issue = async (fields: object = {}): Promise<{ readonly key: string; readonly id: string }> => {
  const answer = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'x', scopes: ['*'], ...fields } });
  return { key: field(answer, 'key'), id: field(answer, 'id') };
};

const get = (cookie: string, url = agents) => rest.ask('GET', url, { key: null, headers: { cookie } });
const change = (headers: Readonly<Record<string, string>>, body: object = { name: 'agent', model: 'demo/echo' }) =>
  rest.ask('POST', agents, { key: null, headers, body });

describe('POST session', () => {
  test('a key is exchanged for a cookie that no script reads and no other site sends, for 12 hours', async () => {
    const answer = await rest.ask('POST', session);
    expect(answer.body).toEqual({
      ok: true,
      csrf: expect.stringMatching(/^[\w-]{43}$/),
      expiresAt: '2026-06-26T00:00:00.000Z',
      sub: 'owner',
      role: 'owner',
    });
    expect(setCookie(answer)).toMatch(/^tollgate_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test.each([
    ['https://tollgate.test', '__Host-tollgate_session', 'tollgate_session', true],
    ['http://127.0.0.1:8080', 'tollgate_session', '__Host-tollgate_session', false],
  ])('reached by %s, the cookie is %s and not %s, and Secure: %s', async (publicUrl, name, other, secure) => {
    const app = createApp({ ...rest.deps, registry: new Registry(), config: { ...rest.deps.config, publicUrl } });
    const answer = await app.inject({ method: 'POST', url: session, headers: { authorization: `Bearer ${rest.owner}` } });
    expect(answer.statusCode).toBe(200);
    const set = String(answer.headers['set-cookie']);
    expect(set).toMatch(new RegExp(`^${name}=[\\w-]{43}; Max-Age=43200; Path=/; HttpOnly; ${secure ? 'Secure; ' : ''}SameSite=Strict$`));
    const token = set.split(';', 1)[0]?.split('=')[1] ?? '';
    const asked = async (cookie: string) => (await app.inject({ url: session, headers: { cookie } })).statusCode;
    expect([await asked(`${name}=${token}`), await asked(`${other}=${token}`)]).toEqual([200, 401]);
    expect((await app.inject('/openapi.json')).json()).toMatchObject({ components: { securitySchemes: { session: { name } } } });
    await app.close();
  });

  test('needs a key: none, a wrong one and a cookie are 401, a key of another workspace is 403', async () => {
    const { cookie, csrf } = await open();
    for (const headers of [{}, { authorization: 'Bearer gsk_acme_no' }, { cookie, 'x-csrf-token': csrf }])
      expect((await rest.ask('POST', session, { key: null, headers })).status).toBe(401);
    expect((await rest.ask('POST', session, { key: rest.other })).status).toBe(403);
  });

  test('it expires with its key, where that is sooner', async () => {
    const { key } = await issue({ expiresAt: hours(1).toISOString() });
    expect((await rest.ask('POST', session, { key })).body).toMatchObject({ expiresAt: hours(1).toISOString() });
  });

  test('a key has at most a hundred: the oldest ends when another begins', async () => {
    const { key } = await issue();
    const first = await open(key);
    rest.clock.now = new Date(start.getTime() + 1);
    for (let n = 0; n < 99; n += 1) await open(key);
    expect((await get(first.cookie)).status).toBe(200);
    await open(key);
    expect((await get(first.cookie)).status).toBe(401);
  });
});

describe('GET session', () => {
  test('returns the member by cookie, with the csrf value', async () => {
    const { cookie, csrf } = await open();
    expect((await get(cookie, session)).body).toEqual({
      ok: true,
      sub: 'owner',
      uid: 'owner',
      email: 'owner@acme.test',
      role: 'owner',
      scopes: ['*'],
      workspace: 'acme',
      expiresAt: '2026-06-26T00:00:00.000Z',
      csrf,
    });
  });

  test('returns the member by key, without a csrf value', async () => {
    const { key, id } = await issue({ scopes: ['agents.read'] });
    expect((await rest.ask('GET', session, { key })).body).toEqual({
      ok: true,
      sub: `apikey:${id}`,
      uid: null,
      email: null,
      role: 'owner',
      scopes: ['agents.read'],
      workspace: 'acme',
      expiresAt: null,
    });
  });

  test('without a credential it is 401, and with a cookie of another workspace 403', async () => {
    expect((await rest.ask('GET', session, { key: null })).status).toBe(401);
    const { cookie } = await open();
    expect(errorOf(await get(cookie, '/other/admin/session'))).toBe('this session belongs to a different workspace');
    expect((await get(cookie, '/other/admin/workspacePolicy')).status).toBe(403);
  });
});

describe('a change by cookie', () => {
  test('needs the csrf value: none, another’s and a part of it are 403, and nothing is changed', async () => {
    const { cookie, csrf } = await open();
    const other = await open();
    const before = (await get(cookie)).body;
    for (const said of [undefined, '', other.csrf, csrf.slice(1), `${csrf}, ${csrf}`]) {
      const answer = await change({ cookie, ...(said === undefined ? {} : { 'x-csrf-token': said }) });
      expect(answer.status).toBe(403);
      expect(errorOf(answer)).toContain('X-CSRF-Token');
    }
    expect((await get(cookie)).body).toEqual(before);
    expect((await change({ cookie, 'x-csrf-token': csrf })).status).toBe(200);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
    '%s without it is 403 before anything is looked up, with it 404',
    async (method) => {
      const { cookie, csrf } = await open();
      const url =
        method === 'POST' ? '/acme/admin/keys/absent/rotate' : method === 'DELETE' ? '/acme/admin/keys/absent' : `${agents}/absent`;
      const body = method === 'PUT' || method === 'PATCH' ? {} : undefined;
      expect((await rest.ask(method, url, { key: null, headers: { cookie }, body })).status).toBe(403);
      expect((await rest.ask(method, url, { key: null, headers: { cookie, 'x-csrf-token': csrf }, body })).status).toBe(404);
    },
  );

  test('the body of a refused change is not read: it may be anything', async () => {
    const { cookie } = await open();
    const headers = { cookie, 'content-type': 'application/json' };
    expect((await rest.ask('POST', agents, { key: null, headers, body: '{' })).status).toBe(403);
  });

  test('a request with an Authorization header never uses its cookie', async () => {
    const { cookie, csrf } = await open();
    for (const authorization of ['', 'Bearer ', 'Basic x', `Bearer gsk_acme_${'a'.repeat(40)}`]) {
      const headers = { authorization, cookie, 'x-csrf-token': csrf };
      expect((await rest.ask('GET', agents, { key: null, headers })).status).toBe(401);
    }
    // It needs no csrf value, since no other site can send that header.
    expect((await rest.ask('POST', agents, { headers: { cookie }, body: { name: 'a', model: 'demo/echo' } })).status).toBe(200);
  });

  test('leaves an event that names the key, and a key it issues has the key’s own end', async () => {
    const { key, id } = await issue({ expiresAt: hours(100).toISOString() });
    const { cookie, csrf } = await open(key);
    const headers = { cookie, 'x-csrf-token': csrf };
    const made = await rest.ask('POST', '/acme/admin/keys', { key: null, headers, body: { name: 'made', scopes: ['govern'] } });
    const { body: events } = await rest.ask('GET', '/acme/admin/events?limit=1');
    expect(events).toMatchObject({ events: [{ keyId: id, sub: `apikey:${id}`, target: `key/${field(made, 'id')}` }] });
    const { body } = await rest.ask('GET', '/acme/admin/keys');
    expect(body).toMatchObject({
      keys: expect.arrayContaining([expect.objectContaining({ name: 'made', expiresAt: hours(100).toISOString() })]),
    });
  });
});

describe('a session has the permissions of its key', () => {
  test('its scopes', async () => {
    const { key } = await issue({ scopes: ['agents.read'] });
    const { cookie, csrf } = await open(key);
    expect((await get(cookie)).status).toBe(200);
    const refused = await change({ cookie, 'x-csrf-token': csrf });
    expect(refused).toMatchObject({ status: 403, body: { error: 'this session lacks the scope agents.write' } });
  });

  test('its pins: it issues no key without them', async () => {
    const { key } = await issue({ tier: 'api' });
    const { cookie, csrf } = await open(key);
    const headers = { cookie, 'x-csrf-token': csrf };
    const body = { name: 'x', scopes: ['govern'], tier: 'background' };
    expect((await rest.ask('POST', '/acme/admin/keys', { key: null, headers, body })).status).toBe(403);
  });

  test('its member’s current role', async () => {
    const { cookie } = await open(await rest.keyOf('admin', ['*'], 'falling'));
    expect((await get(cookie, '/acme/admin/members')).status).toBe(200);
    await rest.ask('PATCH', '/acme/admin/members/falling', { body: { role: 'member' } });
    expect((await get(cookie, '/acme/admin/members')).status).toBe(403);
    expect((await get(cookie, session)).body).toMatchObject({ role: 'member' });
  });
});

describe('a session is invalid', () => {
  const stands = async (cookie: string): Promise<boolean> => (await get(cookie)).status === 200;

  test('once it is ended; its cookie is cleared, and the key stays valid', async () => {
    const { cookie, csrf } = await open();
    expect((await rest.ask('DELETE', session, { key: null, headers: { cookie } })).status).toBe(403);
    const ended = await rest.ask('DELETE', session, { key: null, headers: { cookie, 'x-csrf-token': csrf } });
    expect(ended).toMatchObject({ status: 200, body: { ok: true } });
    expect(setCookie(ended)).toMatch(/^tollgate_session=; Max-Age=0;|^tollgate_session=;.*Expires=Thu, 01 Jan 1970/);
    expect(await stands(cookie)).toBe(false);
    expect((await rest.ask('GET', agents)).status).toBe(200);
  });

  test('a key is not a session that could be ended', async () => {
    expect((await rest.ask('DELETE', session)).status).toBe(400);
  });

  test('from the instant of its expiry on', async () => {
    const { cookie } = await open();
    rest.clock.now = new Date(hours(12).getTime() - 1);
    expect(await stands(cookie)).toBe(true);
    rest.clock.now = hours(12);
    expect(await stands(cookie)).toBe(false);
  });

  test('once its key is revoked, or rotated', async () => {
    for (const end of [
      (id: string) => rest.ask('DELETE', `/acme/admin/keys/${id}`),
      (id: string) => rest.ask('POST', `/acme/admin/keys/${id}/rotate`),
    ]) {
      const { key, id } = await issue();
      const { cookie } = await open(key);
      expect(await stands(cookie)).toBe(true);
      expect((await end(id)).status).toBe(200);
      expect(await stands(cookie)).toBe(false);
    }
  });

  test('once its key has expired', async () => {
    const { key } = await issue({ expiresAt: hours(1).toISOString() });
    const { cookie } = await open(key);
    rest.clock.now = hours(1);
    expect(await stands(cookie)).toBe(false);
  });

  test('once the member of its key has left, and a return does not restore it', async () => {
    const personal = await rest.keyOf('admin', ['*'], 'leaver');
    const service = field(await rest.ask('POST', '/acme/admin/keys', { key: personal, body: { name: 's', scopes: ['*'] } }), 'key');
    const cookies = [(await open(personal)).cookie, (await open(service)).cookie];
    await rest.ask('DELETE', '/acme/admin/members/leaver');
    await rest.ask('POST', '/acme/admin/members', { body: { uid: 'leaver', email: 'l@acme.test', role: 'admin' } });
    for (const cookie of cookies) expect(await stands(cookie)).toBe(false);
    expect(
      (
        await rest.pool.query(
          'select 1 from session where uid is not null or key_id in (select id from api_key where revoked_at is not null)',
        )
      ).rowCount,
    ).toBe(0);
  });

  test.each(['', 'x', 'a'.repeat(43), 'a'.repeat(5_000), "' or 1=1 --", '%00', 'undefined'])('where the cookie holds %j', async (value) => {
    expect(await stands(`tollgate_session=${value}`)).toBe(false);
  });

  test('at the operator’s endpoints, which accept no cookie', async () => {
    const { cookie, csrf } = await open();
    expect((await get(cookie, '/api/v1/workspaces')).status).toBe(401);
    const body = { slug: 'made', owner: { uid: 'u', email: 'u@x' } };
    expect((await rest.ask('POST', '/api/v1/workspaces', { key: null, headers: { cookie, 'x-csrf-token': csrf }, body })).status).toBe(401);
    expect((await rest.ask('GET', '/api/v1/workspaces', { key: operatorKey, headers: { cookie } })).status).toBe(200);
  });
});

test('opened while its key is revoked, it is refused or ended: never valid afterwards', async () => {
  for (let n = 0; n < 10; n += 1) {
    const { key, id } = await issue();
    const [opened] = await Promise.all([rest.ask('POST', session, { key }), rest.ask('DELETE', `/acme/admin/keys/${id}`)]);
    expect([200, 401]).toContain(opened.status);
    if (opened.status === 200) expect((await get(cookieOf(opened))).status).toBe(401);
    expect((await rest.pool.query('select 1 from session where key_id = $1', [id])).rowCount).toBe(0);
  }
});

test('expired sessions are removed, by two cleanups at once as by one; others stay', async () => {
  const old = await open();
  rest.clock.now = hours(6);
  const fresh = await open();
  rest.clock.now = hours(12);
  await Promise.all([removeExpiredSessions(rest.deps), removeExpiredSessions(rest.deps)]);
  const { rows } = await rest.pool.query<{ expires_at: Date }>('select expires_at from session');
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter(({ expires_at: end }) => end <= hours(12))).toEqual([]);
  expect((await get(old.cookie)).status).toBe(401);
  expect((await get(fresh.cookie)).status).toBe(200);
});

test('neither token nor csrf value is in the database or the log', async () => {
  const { cookie, csrf } = await open();
  const token = cookie.slice('tollgate_session='.length);
  await change({ cookie, 'x-csrf-token': csrf });
  const { rows } = await rest.pool.query(`select string_agg(t::text, ' ') as all_text from session t`);
  for (const secret of [token, csrf]) {
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(rest.lines.join('')).not.toContain(secret);
  }
});

test('two control planes on one database: what one revokes the other refuses on the next request', async () => {
  const second = createApp({ ...rest.deps, registry: new Registry() });
  const status = async (headers: Readonly<Record<string, string>>, url = agents): Promise<number> =>
    (await second.inject({ url, headers })).statusCode;
  const { key, id } = await issue();
  const byKey = { authorization: `Bearer ${key}` };
  const bySession = { cookie: (await open(key)).cookie };
  expect([await status(byKey), await status(bySession)]).toEqual([200, 200]);
  await rest.ask('DELETE', `/acme/admin/keys/${id}`);
  expect([await status(byKey), await status(bySession)]).toEqual([401, 401]);

  const demoted = await rest.keyOf('admin', ['*'], 'demoted');
  const held = [{ authorization: `Bearer ${demoted}` }, { cookie: (await open(demoted)).cookie }];
  for (const headers of held) expect(await status(headers, '/acme/admin/members')).toBe(200);
  await rest.ask('PATCH', '/acme/admin/members/demoted', { body: { role: 'member' } });
  for (const headers of held) expect(await status(headers, '/acme/admin/members')).toBe(403);
  await rest.ask('DELETE', '/acme/admin/members/demoted');
  for (const headers of held) expect(await status(headers)).toBe(401);

  const ended = await open();
  expect(await status({ cookie: ended.cookie })).toBe(200);
  await rest.ask('DELETE', session, { key: null, headers: { cookie: ended.cookie, 'x-csrf-token': ended.csrf } });
  expect(await status({ cookie: ended.cookie })).toBe(401);
  await second.close();
});
