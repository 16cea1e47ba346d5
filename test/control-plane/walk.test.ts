// A client that knows only the API document sends generated input to every operation. No answer is a 5xx, and every
// answer is valid by the document (`ask` validates them). After every kind of write, a control plane that reads only
// the changes must hold the same as one that reads everything. A table that decisions depend on, and whose changes are
// not recorded, fails here.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askApproval } from '../../control-plane/approvals/operations/ask.ts';
import { hasToolServer, insertToolServer } from '../../control-plane/tool-servers/store/tool-servers.ts';
import { holdWorkspace } from '../../control-plane/publish/holding.ts';
import { viewPartsOf } from '../../control-plane/publish/view-parts.ts';
import { readWorkspace } from '../../control-plane/workspaces/store/workspace-state.ts';
import { findWorkspaceId } from '../../control-plane/workspaces/store/workspaces.ts';
import { askOf, callOf } from '../support/approvals.ts';
import { awkwardUrlsOf, type GeneratedRequest, requestOf } from '../support/generated-requests.ts';
import { field, operatorKey } from './rest.ts';
import { entry, record, ship, spool } from './spool.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

const casesEach = 60;
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 20261121);

let rest: RunsRest;
const seen = new Map<string, Set<number>>();

beforeAll(async () => {
  rest = await createRunsRest();
  await ship(rest, spool('a'), [record(1, entry({ requestId: 'walked' }))]);
});
afterAll(() => rest.close());

/** Existing names, fresh for each operation: the previous operation may have removed them. */
async function makeNames(operationId: string): Promise<Parameters<typeof requestOf>[1]> {
  const key = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'walked', scopes: ['govern'] } });
  const agent = await rest.createAgent();
  // A previous operation may have frozen it.
  await rest.ask('POST', '/acme/admin/unfreeze');
  await rest.ask('POST', '/acme/admin/members', { body: { uid: 'mia', email: 'mia@acme.test', role: 'member' } });
  await putToolServer();
  const ofApproval = operationId.includes('Approval');
  const ids = ofApproval
    ? [await askFor(field(key, 'id'))]
    : [agent, field(key, 'id'), field(await rest.run(agent, { input: 'walk' }), 'id')];
  return {
    components: rest.document.components,
    path: {
      workspace: ['acme'],
      slug: ['walked', 'other', 'Not A Slug'],
      id: [...ids, 'A'.repeat(20)],
      role: ['owner', 'admin', 'member', 'visitor'],
      key: ['hook::api::triage', 'hook::api::', 'a/b::interactive::c', 'none'],
      // Not the owner, whose key the walk uses.
      uid: ['mia', 'absent'],
      name: ['github', 'files'],
      requestId: ['walked', 'absent'],
    },
    properties: {
      agentType: ['hook::api::triage'],
      tier: ['api'],
      decision: ['allow'],
      since: ['2026-06-25T11:00:00Z'],
      sub: ['mia', 'absent'],
      uid: ['mia', 'max', 'maria'],
      email: ['max@acme.test'],
      slug: ['walked'],
      revision: [0, 1, 2, 3, 999_999],
      expiresAt: ['2030-01-01T00:00:00Z'],
      scopes: [['govern'], ['agents.read']],
    },
  };
}

/** Returns the id of a new approval, of a call that a sidecar asked for with this key. */
async function askFor(keyId: string): Promise<string> {
  const workspaceId = await findWorkspaceId(rest.pool, 'acme');
  if (workspaceId === null) throw new Error('the workspace is gone');
  const call = callOf({ keyId, originSub: 'mia', sessionId: keyId });
  const asked = await askApproval(rest.deps, { workspaceId, onlyKey: null, onlySub: null, isLocal: false, owner: keyId }, askOf(call));
  if (asked.kind !== 'approval') throw new Error(asked.words);
  return asked.approval.approvalId;
}

/** As if it had been registered and had answered: the walk has no server that does. */
async function putToolServer(): Promise<void> {
  const workspaceId = await findWorkspaceId(rest.pool, 'acme');
  if (workspaceId === null || (await hasToolServer(rest.pool, workspaceId, 'github'))) return;
  const digest = 'a'.repeat(64);
  await insertToolServer(
    rest.pool,
    workspaceId,
    {
      name: 'github',
      target: { kind: 'url', url: 'https://mcp.acme.invalid/mcp', headers: [] },
      scopes: [],
      admitted: [],
      hints: [],
      tools: [{ name: 'merge', description: '', inputSchema: { type: 'object' }, digest }],
      revision: 0,
      discoveredAt: rest.clock.now,
      createdAt: rest.clock.now,
    },
    null,
  );
}

test('every operation, with generated input, answers as the document states and never with a 5xx', async () => {
  for (const operation of rest.document.operations) {
    const statuses = new Set<number>();
    seen.set(operation.operationId, statuses);
    const names = await makeNames(operation.operationId);
    await expectHeldAsRead(operation.operationId);
    let written = 0;
    await fc.assert(
      fc.asyncProperty(requestOf(operation, names), async (request) => {
        const status = await send(
          operation.method,
          request,
          operation.security.some((one) => 'operator' in one) ? operatorKey : rest.owner,
        );
        statuses.add(status);
        if (operation.method !== 'GET' && status === 200 && (written += 1) <= writesHeldEach) await expectHeldAsRead(operation.operationId);
        // A server that a client registers may be down: that is reported with 502, and is no error of ours.
        if (status !== 502 || operation.responses['502'] === undefined) expect(status, JSON.stringify(request)).toBeLessThan(500);
      }),
      { numRuns: casesEach, seed },
    );
  }
}, 300_000);

const writesHeldEach = 5;
let held: ReturnType<typeof holdWorkspace> | null = null;

/** Reading the changes since the last time leads to the current state. */
async function expectHeldAsRead(operationId: string): Promise<void> {
  const workspaceId = (await findWorkspaceId(rest.pool, 'acme')) ?? 0;
  const changed = await readWorkspace(rest.pool, workspaceId, held === null ? null : { epoch: held.epoch, number: held.revision });
  const whole = await readWorkspace(rest.pool, workspaceId, null);
  if (changed === null || whole?.kind !== 'whole') throw new Error('the workspace is gone');
  if (changed.kind === 'changes') held?.change(changed);
  else held = holdWorkspace(changed, rest.deps.defaults);
  const textOf = (holding: ReturnType<typeof holdWorkspace>): readonly string[] =>
    viewPartsOf(holding, { form: 'process' })
      .entries()
      .map(({ key, value }) => `${key} ${value.toString()}`);
  expect(held === null ? [] : textOf(held), operationId).toEqual(textOf(holdWorkspace(whole, rest.deps.defaults)));
  reads.add(changed.kind);
}
const reads = new Set<string>();

test('no text in any variable of a path is more than a 4xx', async () => {
  for (const operation of rest.document.operations) {
    const names = await makeNames(operation.operationId);
    const key = operation.security.some((one) => 'operator' in one) ? operatorKey : rest.owner;
    const headers: Readonly<Record<string, string>> = operation.body === null ? {} : { 'content-type': 'application/json' };
    for (const url of awkwardUrlsOf(operation, names)) {
      const slug = decodeURIComponent(url.split('/').at(-1) ?? '');
      for (const body of operation.body === null ? [undefined] : [{}, { slug }])
        expect(await send(operation.method, { url, headers, body }, key), `${operation.method} ${url}`).toBeLessThan(500);
    }
  }
}, 300_000);

test('the walk had full coverage: every operation accepted some request, and every one with input refused some', () => {
  // Some of these need a server that answers, others a browser.
  const needsMore = new Set(['registerToolServer', 'refreshToolServer', 'endSession', 'beginSignIn', 'finishSignIn', 'rollbackPolicies']);
  // Its token is only on the terminal of the start.
  needsMore.add('openLinkedSession');
  // There is no TLS here, so there are no authorities.
  needsMore.add('readAuthorities');
  // Only the key that asked reads an approval there, and that key is not the one of the walk.
  needsMore.add('governApproval').add('governApprovalInWorkspace');
  // Channels need an address that receives messages: test/control-plane/channels/channels.test.ts asks these.
  for (const { operationId } of rest.document.operations) if (/Approval(?:Channel|Message)$/.test(operationId)) needsMore.add(operationId);
  for (const { operationId, body } of rest.document.operations) {
    const statuses = [...(seen.get(operationId) ?? [])];
    if (!needsMore.has(operationId)) expect(statuses, operationId).toContain(200);
    // A hook answers a refusal with a decision.
    if (body !== null) expect(statuses, operationId).toContain(operationId.startsWith('govern') ? 200 : 400);
  }
  expect([...reads].toSorted()).toEqual(['changes', 'whole']);
});

async function send(method: string, { url, headers, body }: GeneratedRequest, key: string): Promise<number> {
  // So that rate limits do not hide all other answers.
  rest.clock.now = new Date(rest.clock.now.getTime() + 3_000);
  const asked = { key, headers, ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }) };
  return (await rest.ask(method as 'GET', url, asked)).status;
}
