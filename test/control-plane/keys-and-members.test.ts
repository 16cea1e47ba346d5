import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, errorOf, field, type Rest } from './rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const keys = '/acme/admin/keys';
const members = '/acme/admin/members';

async function shown(id: string): Promise<unknown> {
  const { body } = await rest.ask('GET', keys);
  return (Object(body).keys as readonly { readonly id: string }[]).find((key) => key.id === id);
}

describe('keys', () => {
  test('a key is shown once; the list has every field except the key', async () => {
    const body = {
      name: 'ci',
      scopes: ['govern', 'sidecar.sync'],
      tier: 'background',
      agent: 'bot',
      client: 'ci',
      expiresAt: '2027-01-01T00:00:00Z',
    };
    const made = await rest.ask('POST', keys, { body });
    expect(made).toMatchObject({ status: 200, body: { ok: true, key: expect.stringMatching(/^gsk_acme_[A-Za-z0-9]{40}$/) } });
    expect(await shown(field(made, 'id'))).toEqual({
      id: field(made, 'id'),
      name: 'ci',
      last4: field(made, 'key').slice(-4),
      scopes: ['govern', 'sidecar.sync'],
      uid: null,
      madeBy: 'owner',
      tier: 'background',
      agent: 'bot',
      client: 'ci',
      expiresAt: '2027-01-01T00:00:00.000Z',
      revokedAt: null,
      createdAt: '2026-06-25T12:00:00.000Z',
    });
    expect(JSON.stringify((await rest.ask('GET', keys)).body)).not.toContain(field(made, 'key').slice(9, 40));
  });

  test('no key gives a scope that it lacks', async () => {
    const key = await rest.keyOf('owner', ['keys.write', 'agents.read']);
    const issue = (scopes: readonly string[]) => rest.ask('POST', keys, { key, body: { name: 'x', scopes } });
    expect((await issue(['agents.read'])).status).toBe(200);
    for (const scopes of [['*'], ['agents.read', 'agents.write'], ['policies.write']]) {
      const answer = await issue(scopes);
      expect(answer.status).toBe(403);
      expect(errorOf(answer)).toContain(scopes.at(-1));
    }
  });

  test('an admin cannot issue, revoke or rotate a key of an owner', async () => {
    const admin = await rest.keyOf('admin');
    expect((await rest.ask('POST', keys, { key: admin, body: { name: 'x', scopes: ['*'], uid: 'owner' } })).status).toBe(403);
    const id = field(await rest.ask('POST', keys, { body: { name: 'x', scopes: ['*'] } }), 'id');
    expect((await rest.ask('DELETE', `${keys}/${id}`, { key: admin })).status).toBe(403);
    expect((await rest.ask('POST', `${keys}/${id}/rotate`, { key: admin })).status).toBe(403);
  });

  test('a rotated key keeps its id and scopes; the old secret is invalid immediately', async () => {
    const made = await rest.ask('POST', keys, { body: { name: 'x', scopes: ['agents.read'] } });
    const rotated = await rest.ask('POST', `${keys}/${field(made, 'id')}/rotate`);
    expect(field(rotated, 'id')).toBe(field(made, 'id'));
    expect((await rest.ask('GET', '/api/v1/agents', { key: field(made, 'key') })).status).toBe(401);
    expect((await rest.ask('GET', '/api/v1/agents', { key: field(rotated, 'key') })).status).toBe(200);
  });

  test('rotating requires the key’s scopes, since it reveals the new secret', async () => {
    const id = field(await rest.ask('POST', keys, { body: { name: 'x', scopes: ['policies.write'] } }), 'id');
    const key = await rest.keyOf('owner', ['keys.write']);
    expect((await rest.ask('POST', `${keys}/${id}/rotate`, { key })).status).toBe(403);
    expect((await rest.ask('DELETE', `${keys}/${id}`, { key })).status).toBe(200);
  });

  test('a narrowed key keeps its secret, and loses the removed scopes', async () => {
    const made = await rest.ask('POST', keys, { body: { name: 'x', scopes: ['sidecar.sync', 'agents.read', 'govern'] } });
    const [id, key] = [field(made, 'id'), field(made, 'key')];
    const scopes = ['sidecar.library', 'govern'];
    expect(await rest.ask('PATCH', `${keys}/${id}`, { body: { scopes } })).toMatchObject({ status: 200, body: { ok: true, id, scopes } });
    expect(await shown(id)).toMatchObject({ scopes, last4: key.slice(-4) });
    expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(403);
    expect(Object((await rest.ask('GET', '/acme/admin/events')).body).events[0]).toMatchObject({
      action: 'key.narrow',
      target: `key/${id}`,
    });
  });

  test('narrowing widens no key, for every caller; only owners narrow a key of an owner, and a revoked key cannot be narrowed', async () => {
    const made = await rest.ask('POST', keys, { body: { name: 'x', scopes: ['sidecar.library', 'govern'] } });
    const one = `${keys}/${field(made, 'id')}`;
    for (const scopes of [['sidecar.sync'], ['govern', 'agents.read'], ['*']]) {
      const answer = await rest.ask('PATCH', one, { body: { scopes } });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toContain(`lacks the scope ${scopes.at(-1)}`);
    }
    expect((await rest.ask('PATCH', one, { body: { scopes: [] } })).status).toBe(400);
    expect((await rest.ask('PATCH', one, { key: await rest.keyOf('admin'), body: { scopes: ['govern'] } })).status).toBe(403);
    expect((await rest.ask('PATCH', one, { key: await rest.keyOf('owner', ['agents.read']), body: { scopes: ['govern'] } })).status).toBe(
      403,
    );
    await rest.ask('DELETE', one);
    expect((await rest.ask('PATCH', one, { body: { scopes: ['govern'] } })).status).toBe(404);
  });

  test('of a key that is rotated twice at once one secret is valid', async () => {
    const id = field(await rest.ask('POST', keys, { body: { name: 'x', scopes: ['agents.read'] } }), 'id');
    const both = await Promise.all([rest.ask('POST', `${keys}/${id}/rotate`), rest.ask('POST', `${keys}/${id}/rotate`)]);
    const asked = await Promise.all(both.map((answer) => rest.ask('GET', '/api/v1/agents', { key: field(answer, 'key') })));
    expect(asked.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
  });

  test('an expired key cannot be rotated, which would not restore it', async () => {
    const fresh = await createRest();
    try {
      const body = { name: 'x', scopes: ['agents.read'], expiresAt: '2026-06-25T13:00:00Z' };
      const id = field(await fresh.ask('POST', keys, { body }), 'id');
      fresh.clock.now = new Date('2026-06-25T13:00:00.000Z');
      const answer = await fresh.ask('POST', `${keys}/${id}/rotate`);
      expect(answer.status).toBe(409);
      expect(errorOf(answer)).toContain('expired');
      expect((await fresh.ask('DELETE', `${keys}/${id}`)).status).toBe(200);
    } finally {
      await fresh.close();
    }
  });

  test('a personal key has its member’s permissions, and ends with its issuer, who may have kept it', async () => {
    const issuer = await rest.keyOf('admin', ['*'], 'issuer');
    await rest.keyOf('member', ['*'], 'holder');
    const made = await rest.ask('POST', keys, { key: issuer, body: { name: 'x', scopes: ['*'], uid: 'holder' } });
    expect(await shown(field(made, 'id'))).toMatchObject({ uid: 'holder', madeBy: 'issuer' });
    const key = field(made, 'key');
    expect((await rest.ask('GET', '/acme/admin/userPolicies/holder', { key })).status).toBe(200);
    expect((await rest.ask('GET', members, { key })).status).toBe(403);
    const session = await rest.ask('POST', '/acme/admin/session', { key });
    const cookie = String(session.headers['set-cookie']).split(';', 1)[0] ?? '';
    expect((await rest.ask('GET', '/api/v1/agents', { key: null, headers: { cookie } })).status).toBe(200);
    await rest.ask('DELETE', `${members}/issuer`);
    expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(401);
    expect((await rest.ask('GET', '/api/v1/agents', { key: null, headers: { cookie } })).status).toBe(401);
  });

  test('when a role is raised, keys that a lower role made or rotated for the member end', async () => {
    const admin = await rest.keyOf('admin', ['*'], 'maker');
    const own = await rest.keyOf('admin', ['*'], 'riser');
    const issue = (key: string) => rest.ask('POST', keys, { key, body: { name: 'x', scopes: ['*'], uid: 'riser' } });
    const [byMaker, byThemselves, byOwner] = [await issue(admin), await issue(own), await issue(rest.owner)];
    const rotated = await rest.ask('POST', `${keys}/${field(byOwner, 'id')}/rotate`, { key: admin });
    const stands = async () =>
      Promise.all(
        [own, field(byThemselves, 'key'), field(byMaker, 'key'), field(rotated, 'key')].map(
          async (key) => (await rest.ask('GET', '/api/v1/agents', { key })).status,
        ),
      );
    expect((await rest.ask('PATCH', `${members}/riser`, { body: { role: 'member' } })).status).toBe(200);
    expect((await rest.ask('PATCH', `${members}/riser`, { body: { role: 'admin' } })).status).toBe(200);
    expect(await stands()).toEqual([200, 200, 200, 200]);
    expect((await rest.ask('PATCH', `${members}/riser`, { body: { role: 'owner' } })).status).toBe(200);
    expect(await stands()).toEqual([200, 200, 401, 401]);
  });

  test('a person who saw a secret does not keep it: a service key that an admin rotated ends when its maker is promoted, and when they leave', async () => {
    const maker = await rest.keyOf('admin', ['*'], 'service-maker');
    const rotator = await rest.keyOf('admin', ['*'], 'service-rotator');
    const rotated = async (): Promise<string> => {
      const made = await rest.ask('POST', keys, { key: maker, body: { name: 'service', scopes: ['*'] } });
      return field(await rest.ask('POST', `${keys}/${field(made, 'id')}/rotate`, { key: rotator }), 'key');
    };
    const [first, second] = [await rotated(), await rotated()];
    const status = async (key: string) => (await rest.ask('GET', '/api/v1/agents', { key })).status;
    expect([await status(first), await status(second)]).toEqual([200, 200]);
    await rest.ask('PATCH', `${members}/service-maker`, { body: { role: 'owner' } });
    expect([await status(first), await status(second)]).toEqual([401, 401]);
    await rest.ask('PATCH', `${members}/service-maker`, { body: { role: 'admin' } });
    const third = await rotated();
    expect(await status(third)).toBe(200);
    await rest.ask('DELETE', `${members}/service-rotator`);
    expect(await status(third)).toBe(401);
  });

  test('admin.audit.read alone suffices for the audit, whatever the role; without it no role does', async () => {
    for (const role of ['owner', 'admin', 'member'] as const) {
      const uid = `auditor-${role}`;
      expect((await rest.ask('GET', '/acme/admin/audit', { key: await rest.keyOf(role, ['admin.audit.read'], uid) })).status).toBe(200);
      expect((await rest.ask('GET', '/acme/admin/audit', { key: await rest.keyOf(role, ['agents.read'], uid) })).status).toBe(403);
    }
  });

  describe('a pinned key', () => {
    const pins = { tier: 'background', agent: 'bot', client: 'ci' };
    const issue = (key: string, fields: object) => rest.ask('POST', keys, { key, body: { name: 'x', scopes: ['keys.write'], ...fields } });
    const pinned = async (fields: object = pins) => field(await issue(rest.owner, fields), 'key');

    test('issues keys with its own pins, named or not', async () => {
      const key = await pinned();
      for (const fields of [{}, pins]) expect(await shown(field(await issue(key, fields), 'id'))).toMatchObject(pins);
    });

    test.each([
      ['tier', { tier: 'interactive' }],
      ['agent', { agent: 'other' }],
      ['client', { client: 'other' }],
    ])('gives no other %s', async (name, fields) => {
      const answer = await issue(await pinned(), fields);
      expect(answer.status).toBe(403);
      expect(errorOf(answer)).toContain(name);
    });

    test('may pin further where it is free', async () => {
      const id = field(await issue(await pinned({ tier: 'api' }), { agent: 'bot' }), 'id');
      expect(await shown(id)).toMatchObject({ tier: 'api', agent: 'bot', client: null });
    });

    test('rotates only keys with its own pins, which they keep', async () => {
      const key = await pinned();
      for (const fields of [{}, { ...pins, tier: 'api' }, { tier: 'background', agent: 'bot' }]) {
        const id = field(await issue(rest.owner, fields), 'id');
        expect((await rest.ask('POST', `${keys}/${id}/rotate`, { key })).status).toBe(403);
      }
      const id = field(await issue(rest.owner, pins), 'id');
      expect((await rest.ask('POST', `${keys}/${id}/rotate`, { key })).status).toBe(200);
      expect(await shown(id)).toMatchObject(pins);
    });
  });

  describe('a key that expires', () => {
    const expiresAt = '2027-01-01T00:00:00.000Z';
    const later = '2027-01-01T00:00:00.001Z';
    const sooner = '2026-12-31T00:00:00.000Z';
    const issue = (key: string, fields: object) => rest.ask('POST', keys, { key, body: { name: 'x', scopes: ['keys.write'], ...fields } });
    const expiring = async () => field(await issue(rest.owner, { expiresAt }), 'key');

    test.each([
      ['with it where nothing is said', {}, expiresAt],
      ['with it', { expiresAt }, expiresAt],
      ['before it', { expiresAt: sooner }, sooner],
    ])('issues keys that expire %s', async (_, fields, wanted) => {
      expect(await shown(field(await issue(await expiring(), fields), 'id'))).toMatchObject({ expiresAt: wanted });
    });

    test('issues no key that expires later', async () => {
      const answer = await issue(await expiring(), { expiresAt: later });
      expect(answer.status).toBe(403);
      expect(errorOf(answer)).toContain('expiresAt');
    });

    test('rotates no key that outlives it; one that does not keeps its own expiry', async () => {
      const key = await expiring();
      for (const fields of [{}, { expiresAt: later }]) {
        const id = field(await issue(rest.owner, fields), 'id');
        expect((await rest.ask('POST', `${keys}/${id}/rotate`, { key })).status).toBe(403);
      }
      const id = field(await issue(rest.owner, { expiresAt: sooner }), 'id');
      expect((await rest.ask('POST', `${keys}/${id}/rotate`, { key })).status).toBe(200);
      expect(await shown(id)).toMatchObject({ expiresAt: sooner });
    });
  });

  test('a revoked, a foreign and an unknown key are all 404', async () => {
    const id = field(await rest.ask('POST', keys, { body: { name: 'x', scopes: ['*'] } }), 'id');
    await rest.ask('DELETE', `${keys}/${id}`);
    const { rows } = await rest.pool.query<{ id: string }>(
      `select k.id from api_key k join workspace w on w.id = k.workspace_id where w.slug = 'other'`,
    );
    for (const one of [id, rows[0]?.id, 'absent', '%00', '__proto__']) {
      expect(await rest.ask('DELETE', `${keys}/${one}`)).toMatchObject({ status: 404, body: { error: 'there is no such key' } });
      expect((await rest.ask('POST', `${keys}/${one}/rotate`)).status).toBe(404);
    }
    expect((await rest.ask('GET', '/api/v1/agents', { key: rest.other })).status).toBe(200);
  });

  test.each([
    ['a uid that is no member', { uid: 'absent' }],
    ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00Z' }],
    ['an expiry that is no time', { expiresAt: 'soon' }],
    ['an unknown tier', { tier: 'nightly' }],
    ['an empty name', { name: '' }],
    ['a scope twice', { scopes: ['*', '*'] }],
  ])('%s is 400', async (_, fields) => {
    expect((await rest.ask('POST', keys, { body: { name: 'x', scopes: ['*'], ...fields } })).status).toBe(400);
  });
});

describe('members', () => {
  test('are created, read, changed and removed', async () => {
    const body = { uid: 'ann@acme.test|1', email: 'ann@acme.test', role: 'member' };
    expect(await rest.ask('POST', members, { body })).toMatchObject({ status: 200, body: { ok: true, uid: body.uid } });
    const one = `${members}/${encodeURIComponent(body.uid)}`;
    expect((await rest.ask('GET', one)).body).toEqual({ ok: true, member: { ...body, createdAt: '2026-06-25T12:00:00.000Z' } });
    expect((await rest.ask('GET', members)).body).toMatchObject({ members: expect.arrayContaining([expect.objectContaining(body)]) });
    expect((await rest.ask('PATCH', one, { body: { role: 'admin' } })).status).toBe(200);
    expect((await rest.ask('GET', one)).body).toMatchObject({ member: { role: 'admin', email: 'ann@acme.test' } });
    expect((await rest.ask('DELETE', one)).status).toBe(200);
    for (const method of ['GET', 'DELETE'] as const) expect((await rest.ask(method, one)).status).toBe(404);
  });

  test('a new holder of the uid of a removed member inherits no part of their policy', async () => {
    const url = '/acme/admin/userPolicies/leaver';
    const key = await rest.keyOf('member', ['*'], 'leaver');
    await rest.ask('PUT', url, { body: { defaults: { api: { permission: 'allow', override: true } } } });
    await rest.ask('PUT', url, { key, body: { defaults: { background: { permission: 'deny' } } } });
    const removed = await rest.ask('DELETE', `${members}/leaver`);
    expect(removed.status).toBe(200);
    await rest.keyOf('member', ['*'], 'leaver');
    expect((await rest.ask('GET', url)).body).toEqual({});
    const { rows } = await rest.pool.query(
      `select part, document, sub, revision from policy_history where key = 'leaver' order by revision desc, part limit 2`,
    );
    const { revision } = Object(removed.body) as { readonly revision: number };
    expect(rows.map((row) => ({ ...row, revision: Number(row.revision) }))).toEqual([
      { part: 'organisation', document: null, sub: 'owner', revision },
      { part: 'self', document: null, sub: 'owner', revision },
    ]);
  });

  test('no one gives what they lack: a member, a role or an e-mail requires all that a session of the member may do', async () => {
    const ofMember = ['agents.read', 'agents.write', 'policies.read', 'policies.write', 'admin.approvals', 'members.write'] as const;
    await rest.keyOf('member', ['*'], 'target');
    const make = (key: string, role: string) =>
      rest.ask('POST', members, { key, body: { uid: `new-${role}`, email: `${role}@new.test`, role } });
    const change = (key: string, body: object) => rest.ask('PATCH', `${members}/target`, { key, body });
    const keyOf = async (fields: object) =>
      field(await rest.ask('POST', keys, { body: { name: 'x', scopes: ['*'], uid: 'owner', ...fields } }), 'key');

    const narrow = await keyOf({ scopes: ['members.write'] });
    for (const answer of [
      await make(narrow, 'member'),
      await change(narrow, { email: 'else@new.test' }),
      await change(narrow, { role: 'admin' }),
    ])
      expect(answer).toMatchObject({
        status: 403,
        body: { error: expect.stringMatching(/lacks the scope .* and cannot grant it to a member/) },
      });
    // A change that gives nothing requires nothing.
    expect((await change(narrow, { role: 'member', email: 'target@acme.test' })).status).toBe(200);

    const wide = await keyOf({ scopes: ofMember });
    expect((await make(wide, 'member')).status).toBe(200);
    expect((await change(wide, { email: 'wide@new.test' })).status).toBe(200);
    for (const answer of [await make(wide, 'admin'), await make(wide, 'owner'), await change(wide, { role: 'admin' })])
      expect(answer).toMatchObject({
        status: 403,
        body: { error: expect.stringContaining('lacks the scope * and cannot grant it to a member') },
      });

    for (const [fields, what] of [
      [{ tier: 'api' }, 'pin of tier'],
      [{ expiresAt: '2030-01-01T00:00:00Z' }, 'expiresAt'],
    ] as const) {
      const key = await keyOf(fields);
      for (const answer of [await make(key, 'admin'), await change(key, { email: 'again@new.test' }), await change(key, { role: 'owner' })])
        expect(answer).toMatchObject({ status: 403, body: { error: expect.stringContaining(what) } });
    }
  });

  test('an e-mail that another member has, in any case of ASCII, is 409; their own in another case is not', async () => {
    await rest.keyOf('member', ['*'], 'kit');
    await rest.keyOf('member', ['*'], 'kate');
    const make = (email: string) => rest.ask('POST', members, { body: { uid: 'late', email, role: 'member' } });
    expect(await make('KIT@acme.test')).toMatchObject({ status: 409, body: { error: 'another member already has this e-mail' } });
    expect((await rest.ask('PATCH', `${members}/kate`, { body: { email: 'Kit@Acme.Test' } })).status).toBe(409);
    expect((await rest.ask('PATCH', `${members}/kit`, { body: { email: 'KIT@acme.test' } })).status).toBe(200);
    // The Kelvin sign is another letter, although Unicode folds it to k.
    expect((await make('\u212Ait@acme.test')).status).toBe(200);
  });

  test('a uid that is taken is 409', async () => {
    expect((await rest.ask('POST', members, { body: { uid: 'owner', email: 'x@y', role: 'member' } })).status).toBe(409);
  });

  test('the last owner is neither removed nor demoted', async () => {
    const fresh = await createRest();
    try {
      expect((await fresh.ask('DELETE', `${members}/owner`)).status).toBe(409);
      expect((await fresh.ask('PATCH', `${members}/owner`, { body: { role: 'admin' } })).status).toBe(409);
      expect((await fresh.ask('PATCH', `${members}/owner`, { body: { role: 'owner', email: 'new@acme.test' } })).status).toBe(200);
    } finally {
      await fresh.close();
    }
  });

  test('of two owners who remove each other at the same time one stays', async () => {
    const fresh = await createRest();
    try {
      const second = await fresh.keyOf('owner', ['*'], 'second');
      const both = await Promise.all([fresh.ask('DELETE', `${members}/second`), fresh.ask('DELETE', `${members}/owner`, { key: second })]);
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
      expect(
        (await fresh.pool.query(`select 1 from member m join workspace w on w.id = m.workspace_id where w.slug = 'acme'`)).rowCount,
      ).toBe(1);
    } finally {
      await fresh.close();
    }
  });

  test('of two owners who demote each other at the same time one stays', async () => {
    const fresh = await createRest();
    try {
      const second = await fresh.keyOf('owner', ['*'], 'second');
      const body = { role: 'member' };
      const both = await Promise.all([
        fresh.ask('PATCH', `${members}/second`, { body }),
        fresh.ask('PATCH', `${members}/owner`, { key: second, body }),
      ]);
      // The second one is no longer an owner, and not an admin either.
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403]);
    } finally {
      await fresh.close();
    }
  });

  test('of two owners who leave at the same time one stays', async () => {
    const fresh = await createRest();
    try {
      const issued = await fresh.keyOf('owner', ['*'], 'second');
      // A key of their own making: one that the other owner made would end with that owner.
      const second = field(await fresh.ask('POST', keys, { key: issued, body: { name: 'own', scopes: ['*'], uid: 'second' } }), 'key');
      const both = await Promise.all([
        fresh.ask('DELETE', `${members}/owner`),
        fresh.ask('PATCH', `${members}/second`, { key: second, body: { role: 'admin' } }),
      ]);
      expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    } finally {
      await fresh.close();
    }
  });

  test('only owners change owners, and no one gives a role above their own', async () => {
    const admin = await rest.keyOf('admin');
    await rest.keyOf('member', ['*'], 'rising');
    expect((await rest.ask('PATCH', `${members}/owner`, { key: admin, body: { email: 'x@y.z' } })).status).toBe(403);
    expect((await rest.ask('DELETE', `${members}/owner`, { key: admin })).status).toBe(403);
    expect((await rest.ask('POST', members, { key: admin, body: { uid: 'new', email: 'x@y.z', role: 'owner' } })).status).toBe(403);
    expect((await rest.ask('PATCH', `${members}/rising`, { key: admin, body: { role: 'owner' } })).status).toBe(403);
    expect((await rest.ask('PATCH', `${members}/rising`, { key: admin, body: { role: 'admin' } })).status).toBe(200);
  });

  test.each([
    ['a uid with a colon', { uid: 'a:b' }],
    ['an empty uid', { uid: '' }],
    ['a long uid', { uid: 'u'.repeat(129) }],
    ['no e-mail', { email: 'absent' }],
    ['an unknown role', { role: 'root' }],
  ])('%s is 400', async (_, fields) => {
    expect((await rest.ask('POST', members, { body: { uid: 'x', email: 'x@y.z', role: 'member', ...fields } })).status).toBe(400);
  });
});

test('every write leaves an event: who, what, when, at which revision; paged newest first', async () => {
  const fresh = await createRest();
  try {
    await fresh.ask('POST', members, { body: { uid: 'm', email: 'm@acme.test', role: 'member' } });
    const made = await fresh.ask('POST', keys, { body: { name: 'k', scopes: ['govern'], uid: 'm' } });
    await fresh.ask('DELETE', `${keys}/${field(made, 'id')}`);
    await fresh.ask('PUT', '/acme/admin/workspacePolicy', { body: {} });
    const first = await fresh.ask('GET', '/acme/admin/events?limit=3');
    expect(first.body).toMatchObject({
      count: 3,
      events: [
        { action: 'workspace-policy.write', target: 'policy/workspace', revision: 4, sub: 'owner', at: '2026-06-25T12:00:00.000Z' },
        { action: 'key.revoke', target: `key/${field(made, 'id')}`, revision: 3 },
        { action: 'key.create', detail: { name: 'k', scopes: ['govern'], uid: 'm' }, revision: 2 },
      ],
    });
    const second = await fresh.ask('GET', `/acme/admin/events?limit=3&cursor=${field(first, 'next')}`);
    expect(second.body).toMatchObject({ count: 1, events: [{ action: 'member.create', target: 'member/m', revision: 1 }] });
    expect(second.body).not.toHaveProperty('next');
    for (const query of ['limit=x', 'cursor=x', 'nothing=1'])
      expect((await fresh.ask('GET', `/acme/admin/events?${query}`)).status).toBe(400);
  } finally {
    await fresh.close();
  }
});

test.each([['__proto__'], ['.'], ['..']])('%s cannot be a member', async (uid) => {
  const answer = await rest.ask('POST', members, { body: { uid, email: 'x@y.z', role: 'member' } });
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toBe('uid must not be __proto__, ., ..: a path or a document cannot contain this uid');
});

test.each([
  ['agent', ' agent', 'must not begin or end with a blank'],
  ['agent', 'a\u200bb', 'must hold no control, format or unpaired surrogate character'],
  ['client', 'cli\nent', 'must hold no control, format or unpaired surrogate character'],
  ['client', 'a::b', 'must hold no "::"'],
])('a pin of %s to %j is 400 at its place', async (pin, value, words) => {
  const answer = await rest.ask('POST', keys, { body: { name: 'k', scopes: ['govern'], [pin]: value } });
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toBe(`${pin} ${words}`);
});

test('events are counted within their workspace, independently of other workspaces', async () => {
  const { rows } = await rest.pool.query<{ revision: string }>(`select revision from workspace where slug = 'other'`);
  await rest.ask('PUT', '/other/admin/workspacePolicy', { key: rest.other, body: {} });
  await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: {} });
  await rest.ask('PUT', '/other/admin/workspacePolicy', { key: rest.other, body: {} });
  const first = Number(rows[0]?.revision) + 1;
  const { body } = await rest.ask('GET', '/other/admin/events?limit=2', { key: rest.other });
  expect(Object(body).events.map(({ id }: { readonly id: string }) => id)).toEqual([`${first + 1}.1`, `${first}.1`]);
});

test('a page of events may end within a revision', async () => {
  await rest.ask('POST', '/acme/admin/policies/apply', {
    body: { rolePolicies: { member: { mode: 'audit' }, admin: { mode: 'audit' }, owner: { mode: 'audit' } } },
  });
  const all = Object((await rest.ask('GET', '/acme/admin/events?limit=3')).body).events as readonly { readonly id: string }[];
  expect(all.map(({ id }) => id.split('.')[1])).toEqual(['3', '2', '1']);
  const page = await rest.ask('GET', '/acme/admin/events?limit=2');
  expect(Object((await rest.ask('GET', `/acme/admin/events?limit=1&cursor=${field(page, 'next')}`)).body).events).toEqual(all.slice(2));
});
