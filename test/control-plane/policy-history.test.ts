// The result of each write of a policy document, and its writer.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, errorOf, type Rest } from './rest.ts';

let rest: Rest;
let member: string;
const admin = '/acme/admin';
const url = `${admin}/policyHistory`;
const longest = `${'🙂'.repeat(100)}::background::${'/'.repeat(200)}`;

beforeAll(async () => {
  rest = await createRest();
  member = await rest.keyOf('member');
});
afterAll(() => rest.close());

interface Line {
  readonly revision: number;
  readonly document: string;
  readonly action: string;
}

async function read(query: string): Promise<{ readonly history: readonly Line[]; readonly count: number; readonly next?: string }> {
  const answer = await rest.ask('GET', `${url}?${query}`);
  if (answer.status !== 200) throw new Error(`${answer.status} ${errorOf(answer)}`);
  return Object(answer.body);
}

/** Every page, each of `limit`. */
async function readAll(limit: number, query = ''): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (let cursor = ''; ; ) {
    const page = await read(`limit=${limit}${cursor}${query}`);
    lines.push(...page.history);
    if (page.next === undefined) return lines;
    cursor = `&cursor=${page.next}`;
  }
}

const put = (path: string, body: object, key = rest.owner) => rest.ask('PUT', `${admin}/${path}`, { key, body });

test('is newest first: the state before, the state after, the writer and the time', async () => {
  await put('workspacePolicy', { mode: 'audit' });
  rest.clock.now = new Date('2026-06-25T12:00:01.000Z');
  await put('workspacePolicy', { mode: 'enforce' });
  const { body } = await rest.ask('DELETE', `${admin}/workspacePolicy`);
  const last: number = Object(body).revision;
  const by = { sub: 'owner', document: 'workspace' };
  expect(await read('')).toEqual({
    history: [
      { ...by, revision: last, at: '2026-06-25T12:00:01.000Z', action: 'delete', before: { mode: 'enforce' }, after: null },
      {
        ...by,
        revision: last - 1,
        at: '2026-06-25T12:00:01.000Z',
        action: 'update',
        before: { mode: 'audit' },
        after: { mode: 'enforce' },
      },
      { ...by, revision: last - 2, at: '2026-06-25T12:00:00.000Z', action: 'create', before: null, after: { mode: 'audit' } },
    ],
    count: 3,
  });
});

test("has members' own parts too, by their writers", async () => {
  await put('userPolicies/member-1', { mode: 'audit' });
  await put('userPolicies/member-1', { mode: 'enforce' }, member);
  expect(await read('limit=2')).toMatchObject({
    history: [
      { document: 'user:member-1:self', sub: 'member-1', after: { mode: 'enforce' } },
      { document: 'user:member-1:organisation', sub: 'owner', after: { mode: 'audit' } },
    ],
  });
});

test('documents removed with a member who leaves are in it, and in the events', async () => {
  await rest.keyOf('member', ['*'], 'leaver');
  await put('userPolicies/leaver', { mode: 'audit' });
  const { body } = await rest.ask('DELETE', `${admin}/members/leaver`);
  expect(await read('limit=1')).toMatchObject({
    history: [{ revision: Object(body).revision, document: 'user:leaver:organisation', action: 'delete', before: { mode: 'audit' } }],
  });
  const { body: events } = await rest.ask('GET', `${admin}/events?limit=2`);
  expect(Object(events).events.map(({ target }: { readonly target: string }) => target)).toEqual([
    'policy/user:leaver:organisation',
    'member/leaver',
  ]);
});

describe('pages', () => {
  const keys = [
    ...Array.from({ length: 12 }, (_, n) => `cc::api::${n}`),
    'cc::api::',
    longest,
    'cc::api::a:self',
    'cc::api::%25 / and more',
  ];

  test('of any size hold every write once, in one order, also where one revision wrote many', async () => {
    for (const mode of ['audit', 'enforce'])
      await rest.ask('POST', `${admin}/policies/apply`, {
        body: {
          agentTypePolicies: Object.fromEntries(keys.map((key) => [key, { mode }])),
          rolePolicies: { member: { mode }, owner: { mode } },
        },
      });
    const all = await readAll(1000);
    expect(all.length).toBeGreaterThanOrEqual(2 * (keys.length + 2));
    expect(all.map(({ revision }) => revision)).toEqual(all.map(({ revision }) => revision).toSorted((a, b) => b - a));
    for (const limit of [1, 2, 7]) expect(await readAll(limit)).toEqual(all);
  });

  test.each([['workspace'], ['role:member'], ['agent-type:cc::api::'], [`agent-type:${longest}`], ['user:member-1:self']])(
    'of %j alone hold its writes and no others',
    async (document) => {
      const wanted = (await readAll(1000)).filter((line) => line.document === document);
      expect(wanted.length).toBeGreaterThan(0);
      expect(await readAll(1, `&document=${encodeURIComponent(document)}`)).toEqual(wanted);
    },
  );

  test('of documents that were never written are empty', async () => {
    for (const document of ['role:admin', 'user:absent:organisation', 'agent-type:x::api::'])
      expect(await read(`document=${encodeURIComponent(document)}`)).toEqual({ history: [], count: 0 });
  });

  test('stay in order while others write', async () => {
    const first = await read('limit=3');
    await put('workspacePolicy', { mode: 'audit' });
    const second = await read(`limit=1000&cursor=${first.next}`);
    expect([...first.history, ...second.history]).toEqual((await readAll(1000)).slice(1));
  });

  test('end early where documents are large, and continue', async () => {
    // Text that does not compress, so that its stored size is its length.
    const heavy = (n: number) =>
      Object.fromEntries(Array.from({ length: 4_000 }, (_, i) => [`${randomBytes(70).toString('base64url')}.${n}.${i}`, {}]));
    for (let n = 0; n < 14; n += 1) expect((await put('agentTypePolicies/heavy%3A%3Aapi%3A%3A', { tools: heavy(n) })).status).toBe(200);
    const document = '&document=agent-type%3Aheavy%3A%3Aapi%3A%3A';
    const page = await read(`limit=14${document}`);
    expect(page.count).toBeLessThan(14);
    expect(page.next).toBeDefined();
    expect((await readAll(14, document)).map(({ action }) => action)).toEqual([...Array.from({ length: 13 }, () => 'update'), 'create']);
  });

  test('hold at most 4 MiB of documents, before and after, however well they compress', async () => {
    const heavy = (n: number) => Object.fromEntries(Array.from({ length: 4_000 }, (_, i) => [`${'a'.repeat(190)}.${n}.${i}`, {}]));
    for (let n = 0; n < 60; n += 1) expect((await put('agentTypePolicies/plain%3A%3Aapi%3A%3A', { tools: heavy(n) })).status).toBe(200);
    const answer = await rest.ask('GET', `${url}?limit=1000&document=agent-type%3Aplain%3A%3Aapi%3A%3A`);
    const bytes = Buffer.byteLength(JSON.stringify(answer.body));
    expect([answer.status, bytes > 1_048_576, bytes <= 4 * 1_048_576]).toEqual([200, true, true]);
    const lines = await readAll(1000, '&document=agent-type%3Aplain%3A%3Aapi%3A%3A');
    expect(lines.map(({ action }) => action)).toEqual([...Array.from({ length: 59 }, () => 'update'), 'create']);
  }, 60_000);
});

test.each([
  ['limit=0', 1],
  ['limit=-5', 1],
  ['limit=99999999999999999999', 'all'],
])('%s is clamped', async (query, count) => {
  expect((await read(`${query}&document=role%3Amember`)).count).toBe(count === 'all' ? 2 : count);
});

test.each([
  ['limit=1.5'],
  ['limit=0x10'],
  ['limit=1e3'],
  ['limit='],
  ['limit=1&limit=2'],
  ['cursor='],
  ['cursor=1'],
  ['cursor=bm90aGluZw'],
  [`cursor=${Buffer.from('1/agent-type:a::api::\0').toString('base64url')}`],
  [`cursor=${Buffer.from('1/user:x').toString('base64url')}`],
  ['document='],
  ['document=role'],
  ['document=role:root'],
  ['document=user:member-1'],
  ['document=user:a:b:self'],
  ['document=agent-type:nonsense'],
  ['document=agent-type:a::api::%00'],
  ['document=workspace:'],
  ['document=workspace&document=workspace'],
  ['since=2026-06-25'],
])('%s is 400, and the answer says what would be correct', async (query) => {
  const answer = await rest.ask('GET', `${url}?${query}`);
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).not.toBe('');
});
