// An outcome belongs to its call. Its entry names the revision that decided the call, and that revision decides whether
// the outcome may pass without an entry, whatever revision decided later calls of the session. Checked at each door.
import type { AuditEntry } from '@tollgate/proto/contract';
import { expect, onTestFinished, test, vi } from 'vitest';
import { governRun } from '../../../control-plane/runs/governance/governed.ts';
import { startRun } from '../../../sidecar/doors/library/library.ts';
import { judge } from '../../../sidecar/engine/govern/govern.ts';
import { recorded } from '../../../sidecar/engine/govern/recorded.ts';
import { openRun } from '../../../sidecar/engine/govern/run.ts';
import { createNumbers } from '../../../sidecar/engine/redact/index.ts';
import { createTestServer, createTestSidecar, type TestSidecar } from '../../support/governing.ts';
import { agent, key, member, type World } from '../../support/snapshots.ts';
import { startTool } from './http/behind-the-gate.ts';
import { behind, call as mcpCall, json, own, rpcOf } from './mcp/proxied.ts';
import { callOf, mcpRequest, mcpResponse, startTestMesh } from './mesh/asked-by-a-gateway.ts';
import { decidedCall } from '../../support/decided-call.ts';

const world: World = { agents: [agent()], keys: [key({ scopes: ['govern', 'agents.write'] })], members: [member()] };
/** Under the second revision an outcome that cannot be recorded passes. Under the first it does not. */
const laxer: World = { ...world, settings: { auditUnavailable: 'allow' } };

const outcomes = async (sidecar: TestSidecar): Promise<readonly Pick<AuditEntry, 'revision'>[]> =>
  (await sidecar.entries()).filter(({ hookEvent }) => hookEvent === 'PostToolUse').map(({ revision }) => ({ revision }));

/**
 * `call` is decided under the first revision and again under the second. `tell` reports both outcomes and returns
 * whether the output passed.
 */
async function twice<T>(sidecar: TestSidecar, call: (n: number) => Promise<T>, tell: (call: T, n: number) => Promise<boolean>) {
  const first = [await call(1), await call(2)] as const;
  sidecar.take(laxer);
  const second = [await call(3), await call(4)] as const;
  expect(await tell(first[0], 1)).toBe(true);
  expect(await tell(second[0], 3)).toBe(true);
  sidecar.spoolFault = 'full';
  const passed = [await tell(first[1], 2), await tell(second[1], 4)];
  return { revisions: (await outcomes(sidecar)).map(({ revision }) => revision), passed };
}

const asDecided = { revisions: [1, 2], passed: [false, true] };

test('at the library, and in runs of a control plane', async () => {
  const sidecar = await createTestSidecar({ world });
  const run = startRun(sidecar, { agent: 'bot', tier: 'api' });
  const told = await twice(
    sidecar,
    async () => {
      const verdict = await run.decide({ tool: 'mail.send', input: {} });
      if (!verdict.allowed) throw new Error(verdict.reason);
      return verdict;
    },
    async (permit) => (await run.report(permit, { output: 'sent', isError: false, durationMs: 1 })).action === 'pass',
  );
  expect(told).toEqual(asDecided);

  const other = await createTestSidecar({ world });
  const credential = { kind: 'key', hash: key().hash, expiresAt: null } as never;
  const caller = { credential, keyId: 'key-1', sub: 'ann', uid: 'ann', role: 'member' } as const;
  const governed = governRun(other, { runId: 'r', agentId: 'agent-1', caller, tier: 'api', client: 'runs' });
  const ofRun = await twice(
    other,
    async () => {
      const { verdict } = await decidedCall(governed, { tool: 'mail.send', input: {} });
      if (!verdict.allowed) throw new Error(verdict.reason);
      return verdict;
    },
    async (permit) => (await governed.report(permit, { output: 'sent', isError: false, durationMs: 1 })).delivery.action === 'pass',
  );
  expect(ofRun).toEqual(asDecided);
});

test('at the hook endpoint', async () => {
  const sidecar = await createTestSidecar({ world });
  const { app } = createTestServer(sidecar);
  const post = async (url: string, fields: object) => {
    const payload = { tool_name: 'mail.send', tool_input: {}, session_id: 's', agent_name: 'bot', ...fields };
    const answer = await app.inject({ method: 'POST', url, headers: { authorization: `Bearer ${own}` }, payload });
    expect(answer.statusCode).toBe(200);
    return answer.body;
  };
  const told = await twice(
    sidecar,
    (n) => post('/govern/tool-use', { call_id: `c${n}` }),
    async (_, n) => !(await post('/govern/tool-output', { call_id: `c${n}`, tool_output: 'sent' })).includes('audit_unavailable'),
  );
  expect(told).toEqual(asDecided);
});

test('at the doors of coding agents', async () => {
  const sidecar = await createTestSidecar({ world });
  const { app } = createTestServer(sidecar);
  const post = async (event: string, n: number, fields: object = {}): Promise<string> => {
    const payload = {
      hook_event_name: event,
      session_id: 's',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: `t${n}`,
      ...fields,
    };
    const answer = await app.inject({ method: 'POST', url: '/hooks/claude-code', headers: { authorization: `Bearer ${own}` }, payload });
    expect(answer.statusCode).toBe(200);
    return answer.body;
  };
  const told = await twice(
    sidecar,
    (n) => post('PreToolUse', n),
    async (_, n) => !(await post('PostToolUse', n, { tool_response: { stdout: 'a' } })).includes('audit_unavailable'),
  );
  expect(told).toEqual(asDecided);
});

test('at the MCP door', async () => {
  const answers: (() => void)[] = [];
  const { proxied } = await behind({
    ...world,
    answer: (heard, response) => {
      const { id } = rpcOf(heard);
      answers.push(() => json(response, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'sent' }] } }));
    },
  });
  const headers = {
    authorization: `Bearer ${own}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  const told = await twice(
    proxied.sidecar,
    async (n) => {
      const answer = fetch(proxied.urlOf('s'), { method: 'POST', headers, body: JSON.stringify(mcpCall('echo', {})) });
      await vi.waitFor(() => expect(answers).toHaveLength(n));
      return { answer };
    },
    async ({ answer }, n) => {
      answers[n - 1]?.();
      return (await (await answer).text()).includes('sent');
    },
  );
  expect(told).toEqual(asDecided);
});

test('at the HTTP door', async () => {
  const answers: (() => void)[] = [];
  const { sidecar, ask } = await startTool({ world, answer: (_request, response) => void answers.push(() => response.end('sent')) });
  const told = await twice(
    sidecar,
    async (n) => {
      const answer = ask().catch(() => null);
      await vi.waitFor(() => expect(answers).toHaveLength(n));
      return { answer };
    },
    async ({ answer }, n) => {
      answers[n - 1]?.();
      return (await answer)?.text === 'sent';
    },
  );
  expect(told).toEqual(asDecided);
});

test('behind agentgateway', async () => {
  const { sidecar, checkRequest, checkResponse } = await startTestMesh(world);
  const told = await twice(
    sidecar,
    () => checkRequest(mcpRequest('tools/call', { name: 'create_issue', arguments: {} })),
    async (asked) => (await checkResponse(mcpResponse('tools/call', { content: [] }, callOf(asked)))).result === 'pass',
  );
  expect(told).toEqual(asDecided);
});

test('the call itself follows the revision that decided it, even if its entry is rejected later', async () => {
  const sidecar = await createTestSidecar({ world, durability: 'remote' });
  const { govern } = sidecar;
  const run = openRun(sidecar, {
    claim: { identity: { sub: 'ann', keyId: 'key-1' }, hops: [{ agent: 'bot', tier: 'api', client: 'c' }] },
    facts: { sessionId: 's', client: { name: 'c' }, runChain: ['bot'], chainClaimed: false },
    numbers: createNumbers(),
  });
  const decide = () => judge(govern, run, { tool: 'mail.send', input: {} }, { forwards: true });
  sidecar.spoolFault = 'unconfirmed';
  const answering = recorded(sidecar, decide());
  sidecar.take(laxer);
  void decide();
  expect(await answering).toMatchObject({ allowed: false, code: 'audit_unavailable' });
  onTestFinished(() => sidecar.owed.close());
  await vi.waitFor(async () => expect(await outcomes(sidecar)).toEqual([{ revision: 1 }]));
});
