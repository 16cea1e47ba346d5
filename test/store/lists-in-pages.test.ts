// Every list of REST that has pages, with as many items as `many` says where there can be as many: read by pages, each item comes once and
// in one order, also while items are added and removed between the pages. The items are written into the database as the
// store would write them, because 10,000 requests would take minutes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askApproval } from '../../control-plane/approvals/operations/ask.ts';
import { toolServerBounds } from '../../control-plane/tool-servers/rules/tool-server.ts';
import { createRest, field, operatorKey, type Rest } from '../control-plane/rest.ts';
import { entry, records, ship, spool, workspaceIdOf } from '../control-plane/spool.ts';
import { askOf, callOf } from '../support/approvals.ts';

let rest: Rest;
let workspaceId: number;
let keyId: string;
let agentId: string;
beforeAll(async () => {
  rest = await createRest();
  workspaceId = await workspaceIdOf(rest);
  keyId = field(await rest.ask('POST', '/acme/admin/keys', { body: { name: 'sidecar', scopes: ['govern'] } }), 'id');
  agentId = await rest.createAgent({ name: 'one' });
});
afterAll(() => rest.close());

/** The items of each list that has no smaller bound. `npm run test:long -- lists` reads 10,000. */
const many = Number(process.env['TOLLGATE_TEST_ITEMS'] ?? 600);

interface List {
  readonly path: string;
  /** The field of the answer that is the list. */
  readonly items: string;
  readonly idOf: (item: Readonly<Record<string, unknown>>) => string;
  /** Makes the items `from` to `to`, both inclusive. */
  readonly insert: (from: number, to: number) => Promise<unknown>;
  /** Absent: items of this list do not end while it is read. */
  readonly remove?: (id: string) => Promise<unknown>;
  /** Absent: 10,000. */
  readonly count?: number;
  /** How many items a page has. Absent: 1,000, the most. */
  readonly limit?: number;
  /** The name of the parameter. Absent: `limit`. */
  readonly parameter?: string;
  readonly key?: string;
  /** The ids in their order, where that is known and a page takes long to read. Absent: they are read first. */
  readonly known?: () => readonly string[];
}

/** Inserts one row for each `n` from `from` to `to`. `select`: its values, in which `w.id` is the workspace. */
const insertRows = (table: string, columns: string, select: string) => (from: number, to: number) =>
  rest.pool.query(
    `insert into ${table} (${columns}) select ${select} from (select $1::bigint as id) as w, generate_series($2::int, $3::int) as n`,
    [workspaceId, from, to],
  );

/** Inserts copies of a row of the table in which some columns have other values, given as SQL. */
const copyRow =
  (table: string, changed: Readonly<Record<string, string>>, where = 'true') =>
  (from: number, to: number) =>
    rest.pool.query(
      `insert into ${table} overriding system value
     select (jsonb_populate_record(null::${table}, to_jsonb(one) || jsonb_build_object(${Object.entries(changed)
       .map(([column, value]) => `'${column}', ${value}`)
       .join(', ')}))).*
     from (select * from ${table} where workspace_id = $1 and ${where} limit 1) as one, generate_series($2::int, $3::int) as n`,
      [workspaceId, from, to],
    );

const removeRow = (table: string, id: string) => (value: string) =>
  rest.pool.query(`delete from ${table} where workspace_id = $1 and ${id} = $2`, [workspaceId, value]);

const longId = "lpad(n::text, 20, '0')";
/** Seven items of one instant, so that time alone is no order. */
const instant = "timestamptz '2026-06-01 00:00:00Z' + n / 7 * interval '1 second'";
const text = (name: string) => (item: Readonly<Record<string, unknown>>) => String(item[name]);

const fills = new Map<string, Promise<unknown>>();
/** Lists of one table are filled once. */
const once = (name: string, fill: () => Promise<unknown>): Promise<unknown> => {
  const filled = fills.get(name) ?? fill();
  fills.set(name, filled);
  return filled;
};

/** Entries, each with a tool and an agent of its own. */
async function shipEntries(from: number, to: number): Promise<void> {
  for (let first = from; first <= to; first += 1_000) {
    const of = (n: number) => entry({ tool: `tool-${n}`, agentName: `agent-${n}`, requestId: `request-${n}`, input: {} });
    await ship(rest, spool('a'), records(first, Math.min(to, first + 999), of));
  }
}

const insertEntries = (from: number, to: number): Promise<unknown> => (from === 1 ? once('entries', () => shipEntries(1, to)) : shipNext());

let shipped = many;
/** Records of a spool come in order, whichever list they are for. */
async function shipNext(): Promise<void> {
  await once('entries', () => shipEntries(1, many));
  shipped += 1;
  await shipEntries(shipped, shipped);
}

async function insertApprovals(from: number, to: number): Promise<unknown> {
  await once('approval', async () => {
    await rest.keyOf('admin');
    await rest.keyOf('member', ['*'], 'ann');
    const asker = { workspaceId, onlyKey: null, onlySub: null, isLocal: false, owner: keyId };
    const asked = await askApproval(rest.deps, asker, askOf(callOf({ keyId, originSub: 'ann' })));
    if (asked.kind !== 'approval') throw new Error(asked.words);
    const denied = await rest.ask('POST', `/acme/admin/approvals/${asked.approval.approvalId}/deny`, { body: {} });
    if (denied.status !== 200) throw new Error(JSON.stringify(denied.body));
  });
  const changed = {
    id: longId,
    question_id: longId,
    session_id: "'session-' || n",
    created_at: "timestamptz '2026-06-01 00:00:00Z' + n / 7 * interval '1 microsecond'",
  };
  return copyRow('approval', changed, "id !~ '^0'")(from, to);
}

async function insertMessages(from: number, to: number): Promise<unknown> {
  await once('channel', () =>
    insertRows(
      'approval_channel',
      'workspace_id, name, url, is_default, secret, secret_at, created_at',
      `w.id, 'chat', 'https://chat.test', false, 'x', now(), now()`,
    )(1, 1),
  );
  return insertRows(
    'approval_message',
    'workspace_id, id, channel, kind, approval_id, body, state, created_at, due_at, ended_at',
    `w.id, 'msg_' || lpad(n::text, 32, '0'), 'chat', 'asked', ${longId}, '{}', 'sent', timestamptz '2026-06-01 00:00:00Z' + n / 7 * interval '1 microsecond', now(), now()`,
  )(from, to);
}

const runColumns =
  'workspace_id, id, agent_id, agent_name, model, sub, lineage, status, started_at, ended_at, instance, budget, spent, request';
const runOf = (id: string, agent: string, spent: string, startedAt = instant): string =>
  `w.id, ${id}, ${agent}, 'agent', 'demo/echo', 'owner', array[${id}], 'completed', ${startedAt}, now(), 'i', 1000000, ${spent}, '{}'`;

const lists: Readonly<Record<string, () => List>> = {
  agents: () => ({
    path: '/api/v1/agents',
    items: 'profiles',
    idOf: text('id'),
    // One is there already, and a workspace has at most 10,000.
    count: many - 1,
    insert: copyRow('agent', { id: longId, position: 'n + 1000', name: "'registered-' || n", created_at: instant }, "id !~ '^0'"),
    remove: removeRow('agent', 'id'),
  }),
  members: () => ({
    path: '/acme/admin/members',
    items: 'members',
    idOf: text('uid'),
    insert: insertRows(
      'member',
      'workspace_id, uid, email, role, created_at',
      `w.id, 'user-' || n, 'user-' || n || '@acme.test', 'member', now()`,
    ),
    remove: removeRow('member', 'uid'),
  }),
  keys: () => ({
    path: '/acme/admin/keys',
    items: 'keys',
    idOf: text('id'),
    insert: insertRows(
      'api_key',
      'workspace_id, id, hash, last4, name, scopes, made_by, secret_by, created_at',
      `w.id, ${longId}, 'hash-' || n, 'abcd', 'key', '{govern}', 'owner', 'owner', ${instant}`,
    ),
    remove: removeRow('api_key', 'id'),
  }),
  'tool servers': () => ({
    path: '/acme/admin/toolServers',
    items: 'servers',
    idOf: text('name'),
    count: toolServerBounds.serversInWorkspace,
    limit: 7,
    insert: insertRows(
      'tool_server',
      'workspace_id, name, url, args, secret_names, scopes, tools, revision, discovered_at, created_at',
      `w.id, 'server-' || n, 'https://mcp.test', '{}', '{}', '[]', '[{"name": "read", "description": "reads", "inputSchema": {}}]', 0, now(), now()`,
    ),
    remove: removeRow('tool_server', 'name'),
  }),
  workspaces: () => ({
    path: '/api/v1/workspaces',
    items: 'workspaces',
    idOf: text('slug'),
    insert: insertRows('workspace', 'slug, created_at', `'w-' || n, now()`),
    remove: (slug) => rest.pool.query('delete from workspace where slug = $1', [slug]),
    key: operatorKey,
  }),
  'policies of agent types': () => ({
    path: '/acme/admin/agentTypePolicies',
    items: '',
    idOf: text('key'),
    insert: insertRows(
      'policy_document',
      'workspace_id, layer, key, part, document, revision',
      `w.id, 'agent-type', 'client::api::agent-' || n, '', '{"mode": "audit-only"}', 0`,
    ),
    remove: removeRow('policy_document', 'key'),
  }),
  'history of policies': () => ({
    path: '/acme/admin/policyHistory',
    items: 'history',
    idOf: ({ revision, document }) => `${String(revision)} ${String(document)}`,
    insert: insertRows(
      'policy_history',
      'workspace_id, revision, layer, key, part, document, sub, at',
      `w.id, 1000000 + n / 7, 'agent-type', 'client::api::agent-' || n, '', '{"mode": "audit-only"}', 'owner', now()`,
    ),
    remove: (id) =>
      rest.pool.query(`delete from policy_history where workspace_id = $1 and revision || ' agent-type:' || key = $2`, [workspaceId, id]),
  }),
  events: () => ({
    path: '/acme/admin/events',
    items: 'events',
    idOf: text('id'),
    insert: insertRows(
      'admin_event',
      'workspace_id, at, sub, key_id, action, target, revision, position, detail',
      `w.id, now(), 'owner', 'key', 'agent.create', 'agent/x', 1000000 + n / 7, n % 7 + 1, '{}'`,
    ),
    remove: (id) =>
      rest.pool.query(`delete from admin_event where workspace_id = $1 and revision || '.' || position = $2`, [workspaceId, id]),
  }),
  'runs of an agent': () => ({
    path: `/api/v1/agents/${agentId}/runs`,
    items: 'runs',
    idOf: text('id'),
    insert: insertRows('run', runColumns, runOf(longId, `'${agentId}'`, '0')),
    remove: removeRow('run', 'id'),
  }),
  'costs of users': () => ({
    path: '/acme/admin/stats/spend',
    items: 'users',
    idOf: text('sub'),
    insert: insertRows('spend', 'workspace_id, sub, day, settled', `w.id, 'user-' || n, '2026-06-25', n % 100 + 1`),
    remove: removeRow('spend', 'sub'),
  }),
  'costs of agents': () => ({
    path: '/acme/admin/stats/spend',
    items: 'agents',
    idOf: text('agentId'),
    insert: insertRows(
      'run',
      runColumns,
      runOf("'C' || lpad(n::text, 19, '0')", longId, 'n % 100 + 1', "timestamptz '2026-06-25 01:00:00Z'"),
    ),
    remove: removeRow('run', "id like 'C%' and agent_id"),
  }),
  sidecars: () => ({
    path: '/acme/admin/sidecars',
    items: 'sidecars',
    idOf: text('bootId'),
    // They have left: whether one is connected changes with the clock.
    insert: insertRows(
      'sidecar',
      'workspace_id, key_id, boot_id, stream_id, sidecar_id, form, control_plane, connected_at, seen_at, left_at',
      `w.id, 'key', 'boot-' || n, 'stream', 'sidecar-' || n / 21, 'process', 'plane', timestamptz '2026-06-01 00:00:00Z' + n / 7 * interval '1 millisecond', now(), now()`,
    ),
    remove: removeRow('sidecar', 'boot_id'),
  }),
  approvals: () => ({
    path: '/acme/admin/approvals',
    items: 'approvals',
    idOf: text('id'),
    insert: insertApprovals,
    remove: removeRow('approval', 'id'),
  }),
  'messages about approvals': () => ({
    path: '/acme/admin/approvalMessages',
    items: 'messages',
    idOf: text('id'),
    insert: insertMessages,
    remove: removeRow('approval_message', 'id'),
  }),
  'entries of the log': () => ({
    path: '/acme/admin/audit?since=2026-01-01',
    items: 'entries',
    idOf: text('id'),
    insert: insertEntries,
    remove: (id) =>
      rest.pool.query('delete from audit_entry where workspace_id = $1 and sequence = $2', [workspaceId, id.split('-').at(-1)]),
  }),
  'gaps of the log': () => ({
    path: '/acme/admin/audit/gaps',
    items: 'gaps',
    idOf: ({ n }) => String(n),
    insert: insertRows(
      'audit_gap',
      'workspace_id, spool_id, first_sequence, last_sequence, reason, received_at, ingest',
      `w.id, '${'b'.repeat(32)}', n, n, 'lost', now(), 1000000 + n`,
    ),
    remove: removeRow('audit_gap', 'ingest'),
  }),
  'keys of the log': () => ({
    path: '/acme/admin/audit/keys',
    items: 'keys',
    idOf: text('key'),
    insert: insertRows('audit_key', 'public_key, since', `decode(lpad(to_hex(n), 64, '0'), 'hex'), ${instant}`),
  }),
  'unknown agents': () => ({
    path: '/acme/admin/unknownAgents',
    items: 'agents',
    idOf: text('name'),
    insert: insertEntries,
  }),
  'counts by agent': () => ({
    path: '/acme/admin/stats/decisions?by=agent&every=hour&since=2026-06-25T12:00:00Z&until=2026-06-25T13:00:00Z',
    items: 'groups',
    idOf: text('value'),
    insert: insertEntries,
    limit: 50,
    parameter: 'top',
    known: () => Array.from({ length: shipped }, (_, at) => `agent-${at + 1}`).toSorted(),
  }),
  'tools of effective permissions': () => ({
    path: '/acme/admin/effective?role=member&agentType=client::api::agent',
    items: 'tools',
    idOf: text('tool'),
    insert: insertEntries,
  }),
};

type Item = Readonly<Record<string, unknown>>;

interface Page {
  readonly items: readonly Item[];
  readonly next?: string;
}

async function readPage({ path, items, parameter = 'limit', key }: List, limit: number | null, cursor?: string): Promise<Page> {
  const query = new URLSearchParams({
    ...(limit === null ? {} : { [parameter]: String(limit) }),
    ...(cursor === undefined ? {} : { cursor }),
  }).toString();
  const joint = query === '' ? '' : path.includes('?') ? '&' : '?';
  const { status, body } = await rest.ask('GET', `${path}${joint}${query}`, key === undefined ? {} : { key });
  expect([status, path], JSON.stringify(body).slice(0, 300)).toEqual([200, path]);
  const { next, ...answer } = body as Readonly<Record<string, unknown>>;
  const found = items === '' ? Object.keys(answer).map((name) => ({ key: name })) : (answer[items] as readonly Item[]);
  return { items: found, ...(typeof next === 'string' ? { next } : {}) };
}

/** Returns the ids in the order in which the pages have them. `between`: called after each page with what it has. */
async function readByPages(
  list: List,
  limit: number,
  between: (ids: readonly string[]) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await readPage(list, limit, cursor);
    expect(items.length).toBeLessThanOrEqual(limit);
    const found = items.map(list.idOf);
    ids.push(...found);
    if (next === undefined) return ids;
    await between(found);
    cursor = next;
  }
}

describe.each(Object.entries(lists))('%s', (_name, listOf) => {
  test('are read by pages: each once, in one order, also while some are added and removed', { timeout: 600_000 }, async () => {
    const list = listOf();
    const { limit = many / 10, count = many, insert, remove } = list;
    await insert(1, count);
    const ids = list.known?.() ?? (await readByPages(list, limit));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(count);

    const gone = new Set<string>();
    let added = 0;
    const seen = await readByPages(list, limit, async (page) => {
      added += 1;
      if (added > 5) return;
      // The last one that was read, which the cursor names, and one that was not read yet.
      for (const id of remove === undefined ? [] : [page.at(-1) ?? '', ids.at(-added * 10) ?? '']) {
        gone.add(id);
        await remove?.(id);
      }
      await insert(count + added, count + added);
    });
    expect(added).toBeGreaterThan(1);
    expect(new Set(seen).size).toBe(seen.length);
    const stayed = new Set(ids.filter((id) => !gone.has(id)));
    expect(seen.filter((id) => stayed.has(id))).toEqual([...stayed]);
  });
});

describe('a list that is whole without a limit', () => {
  test.each(['agents', 'members', 'keys', 'tool servers', 'workspaces', 'policies of agent types', 'keys of the log'])(
    '%s',
    async (name) => {
      const list = lists[name]?.();
      if (list === undefined) throw new Error(`there is no list ${name}`);
      const whole = await readPage(list, null);
      expect(whole.next).toBeUndefined();
      expect(whole.items.map(list.idOf)).toEqual(await readByPages(list, list.limit ?? many / 10));
      expect((await readPage(list, 0)).items).toHaveLength(1);
      expect((await readPage(list, 5_000)).items.length).toBe(Math.min(1_000, whole.items.length));
      const { next } = await readPage(list, 3);
      expect(next).toBeDefined();
      // After a cursor, documents come in pages without a limit, too.
      const following: Item[] = [];
      for (let cursor = next; cursor !== undefined; ) {
        const page = await readPage(list, null, cursor);
        following.push(...page.items);
        cursor = page.next;
      }
      expect(following.map(list.idOf)).toEqual(whole.items.slice(3).map(list.idOf));
    },
  );

  test('a limit or a cursor that cannot be is refused', async () => {
    for (const path of [
      '/api/v1/agents',
      '/acme/admin/members',
      '/acme/admin/keys',
      '/acme/admin/toolServers',
      '/acme/admin/agentTypePolicies',
      '/acme/admin/audit/keys',
    ])
      for (const query of ['limit=many', 'limit=', 'limit=1.5', 'cursor=', 'cursor=-', 'cursor=AA', 'cursor=//8', 'page=2'])
        expect([(await rest.ask('GET', `${path}?${query}`)).status, path, query]).toEqual([400, path, query]);
    expect((await rest.ask('GET', '/api/v1/workspaces?cursor=AA', { key: operatorKey })).status).toBe(400);
  });
});

test('a page of documents or of tools ends before it is larger than 4 MiB, and has one at least', async () => {
  await rest.pool.query(`delete from policy_document where workspace_id = $1 and layer = 'agent-type'`, [workspaceId]);
  await rest.pool.query('delete from tool_server where workspace_id = $1', [workspaceId]);
  for (let n = 1; n <= 5; n += 1) {
    await rest.pool.query(
      `insert into policy_document (workspace_id, layer, key, part, document, revision)
       select $1, 'agent-type', $2, '', jsonb_build_object('tools', jsonb_object_agg(n || repeat('x', 190), '{}'::jsonb)), 0
       from generate_series(1, 8000) as n`,
      [workspaceId, `client::api::agent-${n}`],
    );
    const tools = [{ name: 'read', description: 'x'.repeat(n === 1 ? 5_000_000 : 1_500_000), inputSchema: {} }];
    await rest.pool.query(
      `insert into tool_server (workspace_id, name, url, args, secret_names, scopes, tools, revision, discovered_at, created_at)
       values ($1, $2, 'https://mcp.test', '{}', '{}', '[]', $3, 0, now(), now())`,
      [workspaceId, `server-${n}`, JSON.stringify(tools)],
    );
  }
  for (const [name, wanted] of [
    ['policies of agent types', [2, 2]],
    ['tool servers', [1, 2]],
  ] as const) {
    const list = lists[name]?.();
    if (list === undefined) throw new Error(`there is no list ${name}`);
    const sizes: number[] = [];
    const ids = await readByPages(list, 1_000, async (page) => void sizes.push(page.length));
    expect([name, sizes]).toEqual([name, wanted]);
    expect(ids).toHaveLength(5);
  }
});
