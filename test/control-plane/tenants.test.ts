// Two tenants: with a key of one workspace nothing of the other is visible, counted or changed, by any route.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiOperation } from '../support/api-document.ts';
import { field } from './rest.ts';
import { createRunsRest, type RunsRest } from './runs.ts';
import { entry, records, ship, spool } from './spool.ts';

let rest: RunsRest;
/** Ids of the other workspace, by the name of their variable in a path. */
let theirs: Readonly<Record<string, string>>;
let operations: readonly ApiOperation[];

/** Part of everything that the other workspace holds. */
const mark = 'zebra';
const never = 'A'.repeat(20);
const agentType = `hook::api::${mark}`;

beforeAll(async () => {
  rest = await createRunsRest();
  operations = rest.document.operations.filter(({ security }) => security.some((one) => 'key' in one));
  const ask = async (method: 'POST' | 'PUT', url: string, body: object) => {
    const answer = await rest.ask(method, url, { key: rest.other, body });
    expect(answer.status, url).toBe(200);
    return answer;
  };
  const agent = await ask('POST', '/api/v1/agents', { name: mark, model: 'demo/echo', systemPrompt: mark });
  await ask('POST', '/other/admin/members', { uid: mark, email: `${mark}@other.test`, role: 'member' });
  const run = await ask('POST', `/api/v1/agents/${field(agent, 'id')}/run`, { input: mark });
  const key = await ask('POST', '/other/admin/keys', { name: mark, scopes: ['govern'] });
  const document = { tools: { [mark]: { api: { permission: 'deny' } } } };
  for (const path of [
    'workspacePolicy',
    'rolePolicies/member',
    `agentTypePolicies/${encodeURIComponent(agentType)}`,
    `userPolicies/${mark}`,
  ])
    await ask('PUT', `/other/admin/${path}`, document);
  const theirEntry = entry({ tool: mark, agentName: mark, sub: mark, sessionId: mark, userEmail: mark, keyId: mark });
  await ship(
    rest,
    spool('a'),
    records(1, 1, () => theirEntry),
    'other',
  );
  theirs = {
    id: field(agent, 'id'),
    keyId: field(key, 'id'),
    runId: field(run, 'id'),
    uid: mark,
    key: agentType,
    name: mark,
    role: 'member',
  };
});
afterAll(() => rest.close());

const fill = (path: string, workspace: string, id: string): string =>
  path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(name === 'workspace' ? workspace : name === 'id' ? id : (theirs[name] ?? mark)),
  );

const bodies: Readonly<Record<string, object>> = { runAgent: { input: 'x' }, narrowKey: { scopes: ['govern'] } };
const bodyFor = ({ body, operationId }: ApiOperation): { readonly body?: object } =>
  body === null ? {} : { body: bodies[operationId] ?? {} };

/** A test of its own reads it. */
const isEndless = ({ 200: success }: ApiOperation['responses']): boolean => success?.content?.['text/event-stream'] !== undefined;

/** Everything the other workspace has, in every table. */
async function holdings(): Promise<unknown> {
  const { rows: tables } = await rest.pool.query<{ name: string }>(
    `select distinct table_name as name from information_schema.columns where column_name = 'workspace_id' and table_schema = 'public' order by 1`,
  );
  const all: Record<string, unknown> = {};
  for (const { name } of tables) {
    const { rows } = await rest.pool.query(
      `select to_jsonb(t) as row from ${name} t join workspace w on w.id = t.workspace_id where w.slug = 'other' order by to_jsonb(t)::text`,
    );
    all[name] = rows;
  }
  all['workspace'] = (await rest.pool.query("select revision, frozen from workspace where slug = 'other'")).rows;
  return all;
}

describe('with a key of another workspace', () => {
  test('every path under the workspace is 403, for every request and every caller', async () => {
    const before = await holdings();
    for (const operation of operations.filter(({ path }) => path.startsWith('/{workspace}'))) {
      const answer = await rest.ask(operation.method as 'GET', fill(operation.path, 'other', never), bodyFor(operation));
      expect(answer, `${operation.method} ${operation.path}`).toMatchObject({
        status: 403,
        body: {
          error: expect.stringMatching(
            /^(?:this key belongs to a different workspace|the key belongs to another workspace than the one in the path)$/,
          ),
        },
      });
    }
    expect(await holdings()).toEqual(before);
  });

  test('an id of theirs is answered exactly as a missing one', async () => {
    const before = await holdings();
    const byId = operations.filter(({ path }) => path.includes('{id}'));
    expect(byId.length).toBeGreaterThanOrEqual(6);
    for (const operation of byId) {
      const idOf = operation.path.includes('/keys/') ? theirs['keyId'] : theirs[operation.path.includes('/runs/') ? 'runId' : 'id'];
      const asked = (id: string) => rest.ask(operation.method as 'GET', fill(operation.path, 'acme', id), bodyFor(operation));
      const foreign = await asked(idOf ?? '');
      expect(foreign.status, operation.path).toBe(404);
      expect(foreign.body).toEqual((await asked(never)).body);
    }
    expect(await holdings()).toEqual(before);
  });

  test('nothing of theirs is in anything that we read', async () => {
    for (const operation of operations.filter(({ method, responses }) => method === 'GET' && !isEndless(responses))) {
      const { status, body } = await rest.ask(
        'GET',
        fill(operation.path, 'acme', theirs[operation.path.includes('/runs/') ? 'runId' : 'id'] ?? ''),
      );
      expect(status, operation.path).toBeLessThan(500);
      // A refusal repeats the requested name; nothing else of theirs appears.
      if (status === 200) expect(JSON.stringify(body), operation.path).not.toContain(mark);
    }
  });

  test('nothing of theirs is changed by any write of ours, also where it has the same name', async () => {
    const before = await holdings();
    for (const operation of operations.filter(({ method }) => method !== 'GET')) {
      const { status } = await rest.ask(operation.method as 'POST', fill(operation.path, 'acme', theirs['id'] ?? ''), bodyFor(operation));
      expect(status, operation.path).toBeLessThan(500);
    }
    expect(await holdings()).toEqual(before);
  });

  test('nothing of theirs is counted', async () => {
    // Hooks were asked above, with bodies that cannot be read: each left a denial of ours.
    const ours = await rest.ask('GET', '/acme/admin/audit?since=2026-01-01T00:00:00Z');
    const { entries }: { readonly entries: readonly object[] } = Object(ours.body);
    for (const one of entries) expect(one).toMatchObject({ decisionReason: expect.stringMatching(/^call_malformed: /) });
    expect(JSON.stringify(entries)).not.toContain(mark);
    expect(await rest.ask('GET', '/other/admin/audit?since=2026-01-01T00:00:00Z', { key: rest.other })).toMatchObject({
      body: { count: 1 },
    });
    expect(JSON.stringify((await rest.ask('GET', '/acme/admin/usage')).body)).not.toContain(mark);
    expect((await rest.ask('GET', '/api/v1/agents')).body).toEqual({ ok: true, profiles: [] });
  });
});
