// Effective permissions, by tool and tier: they agree with `explain`, and show no names that the caller may not read.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRest, errorOf, type Rest } from './rest.ts';
import { entry, records, ship, spool } from './spool.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
  await rest.keyOf('member', ['*'], 'ann');
  await rest.createAgent({ name: 'bot', enabledTools: ['files.read', 'files.write', 'web.*'] });
  const rules = {
    'files.read': { api: { permission: 'allow', rateLimit: 5 }, interactive: { transform: 'redact' } },
    'files.write': {
      api: { permission: 'deny' },
      background: { permission: 'ask', ask: { approvers: ['role:admin'] } },
      subagent: { rateLimit: 0 },
    },
    'mail.*': { api: { permission: 'deny' } },
    'pay.out': { api: { permission: 'allow', cases: [{ name: 'big', when: 'args.amount > 5', permission: 'deny' }] } },
  };
  await put('workspacePolicy', { tools: rules });
  await put('userPolicies/max', { tools: { 'secret.of-max': { api: { permission: 'deny' } } } });
  await ship(
    rest,
    spool('a'),
    records(1, 2, () => entry({ tool: 'called.lately' })),
  );
  await ship(
    rest,
    spool('b'),
    records(1, 3, (n) =>
      entry({ tool: n === 3 ? '' : `called.${n === 1 ? 'weeks' : 'months'}-ago`, ts: `2026-0${n === 1 ? 6 : 5}-01T10:00:00.000Z` }),
    ),
  );
});
afterAll(() => rest.close());

const admin = '/acme/admin';

async function put(path: string, body: object): Promise<void> {
  const { status, body: answer } = await rest.ask('PUT', `${admin}/${path}`, { body });
  expect(status, JSON.stringify(answer)).toBe(200);
}

interface Cell {
  readonly decision: string;
  readonly outcome: string;
  readonly layer: string;
  readonly path: string;
  readonly reason: string;
}
interface Effective {
  readonly subject: object;
  readonly tools: readonly { readonly tool: string; readonly cells: Readonly<Record<string, Cell>> }[];
  readonly next?: string;
}

const ask = (query: Readonly<Record<string, string>>, key = rest.owner) =>
  rest.ask('GET', `${admin}/effective?${new URLSearchParams(query).toString()}`, { key });

async function effective(query: Readonly<Record<string, string>>, key = rest.owner): Promise<Effective> {
  const { status, body } = await ask(query, key);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as Effective;
}

const cellOf = ({ tools }: Effective, tool: string, tier: string): Cell | undefined => tools.find((one) => one.tool === tool)?.cells[tier];
const names = ({ tools }: Effective): readonly string[] => tools.map(({ tool }) => tool);

test('each cell says the decision, its outcome, and the layer and place that say so', async () => {
  const found = await effective({ role: 'member', agent: 'bot' });
  expect(found.subject).toEqual({ sub: null, role: 'member', client: 'tollgate', agent: 'bot' });
  expect(cellOf(found, 'files.read', 'api')).toMatchObject({
    decision: 'allow',
    outcome: 'limit',
    rateLimit: 5,
    layer: 'workspace',
    path: 'tools["files.read"].api',
  });
  expect(cellOf(found, 'files.read', 'interactive')).toMatchObject({ decision: 'allow', outcome: 'redact', transform: 'redact' });
  expect(cellOf(found, 'files.read', 'background')).toMatchObject({ decision: 'allow', outcome: 'allow', layer: 'default' });
  expect(cellOf(found, 'files.write', 'api')).toMatchObject({
    decision: 'deny',
    outcome: 'deny',
    layer: 'workspace',
    path: 'tools["files.write"].api',
  });
  expect(cellOf(found, 'files.write', 'background')).toMatchObject({ decision: 'ask', outcome: 'ask' });
  expect(cellOf(found, 'files.write', 'subagent')).toMatchObject({
    decision: 'deny',
    outcome: 'limit',
    path: 'tools["files.write"].subagent',
  });
  expect(cellOf(found, 'pay.out', 'api')).toMatchObject({ decision: 'deny', layer: 'agent', path: 'enabledTools' });
});

test('every cell agrees with explain, for every subject and agent', async () => {
  let compared = 0;
  for (const subject of [{ sub: 'ann' }, { role: 'admin' }]) {
    const agentType = 'claude-code::api::free';
    for (const { tool, cells } of (await effective({ ...subject, agentType })).tools) {
      for (const [tier, cell] of Object.entries(cells)) {
        const { body } = await rest.ask('POST', `${admin}/explain`, {
          body: { ...subject, tool, tier, agentType: `claude-code::${tier}::free` },
        });
        expect(Object(body)).toMatchObject({ decision: cell.decision, reason: cell.reason });
        compared += 1;
      }
    }
  }
  expect(compared).toBeGreaterThan(30);
});

test('a cell that depends on the input says so, with the outcome of the strictest case', async () => {
  expect(cellOf(await effective({ sub: 'ann', agentType: 'claude-code::api::free' }), 'pay.out', 'api')).toMatchObject({
    decision: 'depends',
    outcome: 'deny',
  });
});

test('the tools are those of documents, agents and calls of 30 days, without wildcards, and pages hold them all once', async () => {
  const all = names(await effective({ sub: 'ann', agent: 'bot' }));
  expect(all).toEqual(['called.lately', 'called.weeks-ago', 'files.read', 'files.write', 'pay.out']);
  const paged: string[] = [];
  for (let cursor: string | undefined = undefined, pages = 0; pages < 10; pages += 1) {
    const page: Effective = await effective({ sub: 'ann', agent: 'bot', limit: '1', ...(cursor === undefined ? {} : { cursor }) });
    expect(page.tools).toHaveLength(1);
    paged.push(...names(page));
    cursor = page.next;
    if (cursor === undefined) break;
  }
  expect(paged).toEqual(all);
});

test('pages hold all called tools once, in the same order as the database has, whatever their names are', async () => {
  const called = Array.from({ length: 40 }, (_, n) => `${['zz', 'ZZ', 'é', '\u{1f600}', '\uff5e', 'a_b', 'a-b', '日本'][n % 8]}.${n}`);
  await ship(
    rest,
    spool('c'),
    records(1, called.length, (n) => entry({ tool: called[n - 1] ?? '' })),
    'other',
  );
  const query = { role: 'owner', agentType: 'claude-code::api::free' };
  const paged: string[] = [];
  for (let cursor: string | undefined = undefined, pages = 0; pages < 50; pages += 1) {
    const page = await rest.ask(
      'GET',
      `/other/admin/effective?${new URLSearchParams({ ...query, limit: '7', ...(cursor === undefined ? {} : { cursor }) }).toString()}`,
      {
        key: rest.other,
      },
    );
    expect(page.status).toBe(200);
    const found = page.body as Effective;
    paged.push(...names(found));
    cursor = found.next;
    if (cursor === undefined) break;
  }
  expect(paged).toEqual(called.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
});

test('a member asks about themselves and roles only, and reads no name that the audit log or another document holds', async () => {
  const own = await rest.keyOf('member', ['policies.read'], 'ann');
  expect(names(await effective({ sub: 'ann', agent: 'bot' }, own))).toEqual(['files.read', 'files.write', 'pay.out']);
  expect((await ask({ sub: 'max', agent: 'bot' }, own)).status).toBe(403);
  expect((await ask({ role: 'owner', agent: 'bot' }, own)).status).toBe(200);
  expect((await ask({ sub: 'ann', agent: 'bot' }, await rest.keyOf('member', ['govern'], 'ann'))).status).toBe(403);
  expect((await ask({ sub: 'ann', agent: 'bot' }, rest.other)).status).toBe(403);
});

test.each([
  [{ agent: 'bot' }, 'sub or role must be given'],
  [{ sub: 'ann', role: 'member', agent: 'bot' }, 'sub or role must be given'],
  [{ sub: 'ann' }, 'agent or agentType'],
  [{ sub: 'ann', agent: 'bot', agentType: 'a::api::b' }, 'agent or agentType'],
  [{ sub: 'ann', agentType: 'bot' }, 'agent or agentType'],
  [{ sub: 'ann', agent: 'nothing' }, 'agent must be the name or id of a registered agent'],
  [{ sub: 'ghost', agent: 'bot' }, 'sub must be a member or service key'],
  [{ sub: 'ann', agent: 'bot', cursor: '!' }, 'cursor must be the `next`'],
  [{ sub: 'ann', agent: 'bot', limit: 'all' }, 'limit must be an integer'],
])('%j is refused: %s', async (query, message) => {
  const answer = await ask(query);
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toContain(message);
});
