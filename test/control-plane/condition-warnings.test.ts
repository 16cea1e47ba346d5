// The answer to a write warns of cases that are valid but probably wrong.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { createRest, type Rest } from './rest.ts';

let rest: Rest;
let fake: FakeServer;
beforeAll(async () => {
  const sealer = createSealer(['a secret key of more than 32 characters'], randomBytes);
  rest = await createRest({ reach: createReach({ allowPrivate: true, commands: [] }, {}), sealer });
  fake = await startFakeServer();
  const transfer = {
    type: 'object',
    properties: {
      amount: { type: 'number' },
      to: { type: 'object', properties: { iban: { type: 'string' } } },
      items: { type: 'array', items: { $ref: '#/$defs/item' } },
      note: { anyOf: [{ type: 'string' }, { type: 'object', properties: { text: { type: 'string' } } }] },
      meta: { type: 'object', additionalProperties: { type: 'string' } },
    },
    $defs: {
      item: { type: 'object', properties: { price: { type: 'number' }, parts: { type: 'array', items: { $ref: '#/$defs/item' } } } },
    },
  };
  const refund = { type: 'object', properties: { reason: { type: 'string' } }, additionalProperties: false };
  fake.pages = [[tool('transfer', { inputSchema: transfer }), tool('refund', { inputSchema: refund }), tool('free')]];
  expect((await rest.ask('POST', '/acme/admin/toolServers', { body: { name: 'payments', url: fake.url } })).status).toBe(200);
});
afterAll(async () => {
  await fake.close();
  await rest.close();
});
beforeEach(async () => {
  await rest.ask('DELETE', '/acme/admin/rolePolicies/member');
});

const url = '/acme/admin/rolePolicies/member';
const ruleOf = (tools: string, when: string, fields: object = {}) => ({
  tools: { [tools]: { api: { permission: 'allow', cases: [{ name: 'c', when, permission: 'deny', ...fields }] } } },
});
async function warningsOf(body: object): Promise<unknown> {
  const answer = await rest.ask('PUT', url, { body });
  expect(answer).toMatchObject({ status: 200 });
  return Object(answer.body).warnings;
}
const warned = (tools: string, message: string) => [
  { document: 'role:member', path: `tools[${JSON.stringify(tools)}].api.cases["c"]`, message },
];

describe('an input that the schema does not have', () => {
  test.each([
    ['args.amout > 1', 'args.amout', 'args has amount, items, meta, note, to'],
    ['args.amount > 1 && has(args.amout)', 'args.amout', 'args has amount, items, meta, note, to'],
    ['args["amout"] > 1', 'args.amout', 'args has amount, items, meta, note, to'],
    ['args.to.bic == "x"', 'args.to.bic', 'args.to has iban'],
    ['args.items.exists(i, i.prize > 1)', 'args.items[].prize', 'args.items[] has parts, price'],
    ['args.items[0].parts[1].prize > 1', 'args.items[].parts[].prize', 'args.items[].parts[] has parts, price'],
    ['args.note.txt == "x"', 'args.note.txt', 'args.note has text'],
    ['args.constructor == "x"', 'args.constructor', 'args has amount, items, meta, note, to'],
  ])('%s', async (when, path, existing) => {
    expect(await warningsOf(ruleOf('payments.transfer', when))).toEqual(
      warned('payments.transfer', `reads ${path}, which the input of payments.transfer does not have; ${existing}`),
    );
  });

  test.each([
    ['payments.transfer', 'args.amount > 1 && args.to.iban == "x" && args.note.text == "x"'],
    ['payments.transfer', 'args.items.exists(i, i.parts[0].price > 1) || args.items.size() > 3'],
    ['payments.transfer', 'args.meta.anything == "x"'],
    ['payments.transfer', 'args.meta.all(key, key.startsWith("x"))'],
    ['payments.free', 'args.anything > 1'],
    ['payments.unknown', 'args.anything > 1'],
    ['other.transfer', 'args.anything > 1'],
    ['*', 'args.anything > 1'],
    ['payments.*', 'args.amount > 1'],
  ])('%s: no warning of %s', async (tools, when) => {
    expect(await warningsOf(ruleOf(tools, when))).toBeUndefined();
  });

  test('of no tool that a wildcard matches', async () => {
    await rest.pool.query(
      `update tool_server set tools = (select json_agg(tool) from json_array_elements(tools) as tool where tool->>'name' <> 'free')`,
    );
    expect(await warningsOf(ruleOf('payments.*', 'args.amout > 1'))).toEqual(
      warned('payments.*', 'reads args.amout, which the input of payments.* does not have; args has reason'),
    );
  });

  test('is warned of once, by the write of that rule', async () => {
    const body = ruleOf('payments.refund', 'args.why == "x" && args.why != "y"');
    expect(await warningsOf(body)).toEqual(
      warned('payments.refund', 'reads args.why, which the input of payments.refund does not have; args has reason'),
    );
    expect(await warningsOf({ tools: { 'crm.read': { api: { permission: 'deny' } } } })).toBeUndefined();
    expect((await rest.ask('GET', url)).body).toMatchObject(body);
  });

  test('is in the answer of a dry run', async () => {
    const body = { dryRun: true, rolePolicies: { member: ruleOf('payments.refund', 'args.why == "x"') } };
    expect((await rest.ask('POST', '/acme/admin/policies/apply', { body })).body).toMatchObject({
      dryRun: true,
      warnings: [{ document: 'role:member', message: expect.stringContaining('reads args.why') }],
    });
  });
});

test('groups of people, which are not known', async () => {
  expect(await warningsOf(ruleOf('other.tool', '"finance" in user.groups || user.groups.size() > 0'))).toEqual(
    warned(
      'other.tool',
      'reads user.groups, which is absent in every call: this version knows no groups; name people by user.uid, or roles by user.role',
    ),
  );
});

describe('a case that loosens by a claim', () => {
  const loosening = (when: string) => ({
    tools: { 'crm.read': { api: { permission: 'deny', cases: [{ name: 'c', when, permission: 'allow' }] } } },
  });
  const message = (name: string, pins: string) =>
    `loosens the rule by ${name}, which callers only claim; keys can pin it, and some keys of this workspace do not pin ${pins}`;

  beforeEach(async () => {
    await rest.pool.query("delete from api_key where name = 'caller'");
  });
  const issue = (pins: object) => rest.ask('POST', '/acme/admin/keys', { body: { name: 'caller', scopes: ['govern'], ...pins } });

  test.each([
    ['agent.name == "a"', message('agent.name', 'agent')],
    ['agent.client == "a"', message('agent.client', 'client')],
    ['agent.tier == "api"', message('agent.tier', 'tier')],
    ['"a" in agent.chain', message('agent.chain', 'agent')],
  ])('%s', async (when, wanted) => {
    expect((await issue({})).status).toBe(200);
    expect(await warningsOf(loosening(when))).toEqual(warned('crm.read', wanted));
  });

  test('is not warned of where every key that can call pins it', async () => {
    expect((await issue({ agent: 'a' })).status).toBe(200);
    await rest.pool.query("update api_key set pin_agent = 'a'");
    expect(await warningsOf(loosening('agent.name == "a"'))).toBeUndefined();
    expect(await warningsOf(loosening('agent.tier == "api"'))).toEqual(warned('crm.read', message('agent.tier', 'tier')));
    await rest.pool.query('update api_key set pin_agent = null');
  });

  test.each(['user.role == "admin"', 'tool.name == "crm.read"', 'args.x == 1'])('is not a case that reads %s', async (when) => {
    await issue({});
    expect(await warningsOf(loosening(when))).toBeUndefined();
  });

  const caseOf = (name: string, when: string, fields: object) => ({ name, when, ...fields });
  const byName = (fields: object) => caseOf('c', 'agent.name == "a"', fields);
  const later = (fields: object) => caseOf('later', 'args.x == 1', fields);

  test.each<readonly [string, object]>([
    ['of a rule that leaves the permission to a broader key', { cases: [byName({ permission: 'allow' })] }],
    ['before one that denies', { permission: 'allow', cases: [byName({ permission: 'allow' }), later({ permission: 'deny' })] }],
    ['before one that redacts', { transform: 'log', cases: [byName({ transform: 'log' }), later({ transform: 'redact' })] }],
  ])('a case %s', async (_, rule) => {
    await issue({});
    const body = { tools: { 'crm.read': { api: rule } } };
    expect(await warningsOf(body)).toEqual(warned('crm.read', message('agent.name', 'agent')));
  });

  test.each<readonly [string, object]>([
    ['that tightens', { permission: 'allow', cases: [byName({ permission: 'deny' })] }],
    ['that allows what the rule allows', { permission: 'allow', cases: [byName({ permission: 'allow', rateLimit: 1 })] }],
    ['behind one that denies', { permission: 'allow', cases: [later({ permission: 'deny' }), byName({ permission: 'allow' })] }],
  ])('is not a case %s', async (_, rule) => {
    await issue({});
    expect(await warningsOf({ tools: { 'crm.read': { api: rule } } })).toBeUndefined();
  });

  test('is not a case that tightens', async () => {
    await issue({});
    expect(await warningsOf(ruleOf('crm.read', 'agent.name == "a"'))).toBeUndefined();
  });
});
