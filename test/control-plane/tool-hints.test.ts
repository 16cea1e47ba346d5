// `tool.annotations`: the hints of a tool's admitted definition, from its discovery over REST to a decision.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { followPlane, type Plane, startPlane } from '../support/plane.ts';

const list = '/acme/admin/toolServers';
const one = `${list}/files`;
const reach = createReach({ allowPrivate: true, commands: [] }, {});
const sealer = createSealer(['a secret key of more than 32 characters'], randomBytes);

let plane: Plane;
let fake: FakeServer;
beforeAll(async () => {
  plane = await startPlane({ reach, sealer });
  fake = await startFakeServer();
});
afterAll(async () => {
  await fake.close();
  await plane.close();
});

const destructive = (hint: boolean): object => tool('write', { annotations: { title: 'Write', destructiveHint: hint } });

beforeEach(async () => {
  // The next minute, in which no discovery was made yet.
  plane.clock.now = new Date(plane.clock.now.getTime() + 61_000);
  fake.pages = [[tool('read', { annotations: { readOnlyHint: true, destructiveHint: false } }), destructive(true), tool('plain')]];
  await plane.pool.query('delete from tool_server');
  const cases = [{ name: 'destructive', when: 'tool.annotations.destructiveHint == true', permission: 'deny', reason: 'ask a person' }];
  await plane.writePolicy({ toolDefinitions: null, tools: { 'files.*': { api: { permission: 'allow', cases } } } });
  expect(await plane.ask('POST', list, { body: { name: 'files', url: fake.url } })).toMatchObject({ status: 200 });
});

/** Returns a function that decides calls of tools in both forms of a sidecar, which must agree. */
async function startDeciding() {
  const { key } = await plane.issueKey(['sidecar.sync', 'govern']);
  const both = await Promise.all([followPlane(plane, { key }), followPlane(plane, { key, form: 'library' })]);
  return async (...names: readonly string[]): Promise<readonly string[]> => {
    const revision = await plane.revision();
    const [process_, library] = await Promise.all(
      both.map(async ({ sidecar, reaches }) => {
        await reaches(revision);
        const verdicts = await Promise.all(
          names.map(async (name) => startRun(sidecar, { agent: 'a', tier: 'api' }).decide({ tool: name, input: {} })),
        );
        return verdicts.map((verdict) => (verdict.allowed ? 'allowed' : verdict.code));
      }),
    );
    expect(library).toEqual(process_);
    return process_ ?? [];
  };
}

test('a case reads what the definition says; a hint that it does not give leaves the case undecided', async () => {
  const decide = await startDeciding();
  expect(await decide('files.read', 'files.write', 'files.plain', 'files.unknown')).toEqual([
    'allowed',
    'policy_denied',
    'policy_denied',
    'policy_denied',
  ]);
  const cases = [{ name: 'theirs', when: 'tool.server == "files"', permission: 'allow' }];
  await plane.writePolicy({ tools: { 'files.*': { api: { permission: 'deny', cases } } } });
  expect(await decide('files.read', 'files.plain')).toEqual(['allowed', 'allowed']);
});

test('while definitions are pinned, the hints of the admitted definition count', async () => {
  await plane.writePolicy({ toolDefinitions: 'pinned' });
  const decide = await startDeciding();
  fake.pages = [[destructive(false), tool('plain')]];
  expect((await plane.ask('POST', `${one}/refresh`)).status).toBe(200);
  expect(await decide('files.write')).toEqual(['policy_denied']);
  expect((await plane.ask('POST', `${one}/admit`, { body: { tools: ['files.write'] } })).status).toBe(200);
  expect(await decide('files.write', 'files.read')).toEqual(['allowed', 'allowed']);
  expect((await plane.ask('POST', `${one}/admit`, { body: {} })).status).toBe(200);
  expect(await decide('files.read')).toEqual(['policy_denied']);
});

test('hints that an older control plane left behind do not count', async () => {
  const decide = await startDeciding();
  // It admits another definition, and does not know the hints.
  await plane.pool.query(`update tool_server set revision = revision, admitted = '[["read", "${'a'.repeat(64)}"]]'`);
  await plane.writePolicy({ auditUnavailable: 'deny' });
  expect(await decide('files.read', 'files.write')).toEqual(['policy_denied', 'policy_denied']);
});

test('a server shows the hints of its tools', async () => {
  const { body } = await plane.ask('GET', one);
  expect(body).toMatchObject({
    server: {
      tools: [
        { name: 'files.read', annotations: { readOnlyHint: true, destructiveHint: false } },
        { name: 'files.write', annotations: { destructiveHint: true } },
        { name: 'files.plain' },
      ],
    },
  });
});

test.each([
  ['no object', [true]],
  ['other types', { readOnlyHint: 'true', destructiveHint: 1, idempotentHint: null }],
  ['other names', { constructor: true, novel: true }],
])('annotations with %s give no hint', async (_what, annotations) => {
  fake.pages = [[tool('read', { annotations })]];
  expect((await plane.ask('POST', `${one}/refresh`)).status).toBe(200);
  const { rows } = await plane.pool.query('select hints from tool_server');
  expect(rows).toEqual([{ hints: [] }]);
});
