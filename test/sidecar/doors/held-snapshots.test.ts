// What is stored for callers must not keep old snapshots in memory. After twenty revisions, each of which decided a
// call of a caller that is still connected, only the current snapshot is left. The test observes the index and its
// large parts: a profile, a document, settings.
import { setImmediate as turn } from 'node:timers/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { plainRedaction } from '@tollgate/proto/contract';
import { expect, onTestFinished, test, vi } from 'vitest';
import { governRun } from '../../../control-plane/runs/governance/governed.ts';
import { createRefusedRequests } from '../../../sidecar/doors/entrance/refused-requests.ts';
import { startRun } from '../../../sidecar/doors/library/library.ts';
import type { PolicyCell } from '../../../sidecar/engine/snapshot/cell.ts';
import { collectGarbage } from '../../bench/garbage.ts';
import { createTestServer, createTestSidecar, type TestSidecar } from '../../support/governing.ts';
import { agent, key, member, ruleFor, type World } from '../../support/snapshots.ts';
import { startTool } from './http/behind-the-gate.ts';
import { behind, call as mcpCall, own } from './mcp/proxied.ts';
import { mcpRequest, startTestMesh } from './mesh/asked-by-a-gateway.ts';
import { decidedCall } from '../../support/decided-call.ts';

const revisions = 20;
/** Each world has its own objects. */
const world: World = {
  agents: [agent()],
  documents: [ruleFor('mail.send', { permission: 'allow', transform: 'redact' })],
  keys: [key({ scopes: ['govern', 'agents.write'] })],
  members: [member()],
};

/** Weak references to the large parts of the current snapshot. */
function partsOf({ current }: PolicyCell): readonly WeakRef<object>[] {
  const profile = current?.agentsById.get('agent-1');
  const document = current?.documents.get('workspace');
  if (current === null || profile === undefined || document === undefined) throw new Error('what is held is not what was offered');
  return [current, profile, document, current.settings.redaction].map((part) => new WeakRef(part));
}

/** The end of an answer can come some turns after the answer was read, and it holds its snapshot until then. */
const triesMax = 20;
const theOneThatIsHeld = [1, 1, 1, 1];

/** Returns how many objects are left of each part, over all revisions. `act` runs under each revision. */
async function leftAfter(sidecar: TestSidecar, act: (revision: number) => unknown): Promise<readonly number[]> {
  const all: (readonly WeakRef<object>[])[] = [];
  for (let revision = 1; revision <= revisions; revision += 1) {
    sidecar.take(world);
    all.push(partsOf(sidecar.cell));
    await act(revision);
  }
  let left: readonly number[] = [];
  for (let tries = 0; tries < triesMax && left.join() !== theOneThatIsHeld.join(); tries += 1) {
    // An object that was read through a weak reference is held until the end of that turn.
    await turn();
    collectGarbage();
    left = [0, 1, 2, 3].map((part) => all.filter((parts) => parts[part]?.deref() !== undefined).length);
  }
  return left;
}

const bodyOf = (revision: number, fields: object = {}): object => ({
  tool_name: 'mail.send',
  tool_input: { n: 1 },
  session_id: `session-${revision}`,
  call_id: 'c1',
  agent_name: 'bot',
  ...fields,
});

test('the test detects a snapshot that something holds', async () => {
  const sidecar = await createTestSidecar({ world });
  const held: unknown[] = [];
  expect(await leftAfter(sidecar, () => held.push(sidecar.cell.current))).toEqual([20, 20, 20, 20]);
  expect(held).toHaveLength(revisions);
});

test('sessions with calls that wait for their outcome hold no snapshot', async () => {
  const sidecar = await createTestSidecar({ world });
  const { app } = createTestServer(sidecar);
  const post = async (url: string, payload: object): Promise<string> => {
    const answer = await app.inject({ method: 'POST', url, headers: { authorization: `Bearer ${own}` }, payload });
    expect(answer.statusCode).toBe(200);
    return answer.body;
  };
  const left = await leftAfter(sidecar, async (revision) => {
    await post('/govern/tool-use', bodyOf(revision));
    await post(
      '/govern/tool-use',
      bodyOf(revision, { session_id: `handed-${revision}`, agent_chain: ['parent', 'bot'], delegated_tools: ['mail.send'] }),
    );
    await post('/hooks/claude-code', {
      hook_event_name: 'PreToolUse',
      session_id: `session-${revision}`,
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
    });
  });
  expect(left).toEqual(theOneThatIsHeld);
  expect(await sidecar.entries()).toHaveLength(3 * revisions);
  // An outcome still belongs to the call as it was decided. Redaction uses the current patterns.
  sidecar.take({ ...world, settings: { redaction: { ...plainRedaction, patterns: [['ticket', 'T-[0-9]{4}']] } } });
  expect(await post('/govern/tool-output', bodyOf(3, { tool_output: 'T-1234 of bob@acme-mail.eu' }))).toContain(
    '[redacted:ticket#1] of [redacted:email#1]',
  );
  expect((await sidecar.entries()).at(-1)).toMatchObject({
    hookEvent: 'PostToolUse',
    sessionId: 'session-3',
    code: 'allowed',
    revision: 4,
  });
});

test('requests for which agentgateway has not reported results hold no snapshot', async () => {
  const { sidecar, checkRequest } = await startTestMesh(world);
  const left = await leftAfter(sidecar, async (revision) => {
    const headers = [
      { key: 'authorization', value: Buffer.from(`Bearer ${own}`) },
      { key: 'mcp-session-id', value: Buffer.from(`m${revision}`) },
    ];
    for (const [method, params] of [
      ['tools/call', { name: 'create_issue', arguments: {} }],
      ['tools/list', {}],
    ] as const)
      expect((await checkRequest(mcpRequest(method, params, { headers }))).result).toBe('pass');
  });
  expect(left).toEqual(theOneThatIsHeld);
});

test('runs of the library, and of a control plane, hold no snapshot', async () => {
  const sidecar = await createTestSidecar({ world });
  const runs: unknown[] = [];
  const left = await leftAfter(sidecar, async (revision) => {
    const run = startRun(sidecar, { agent: 'bot', tier: 'api' });
    await run.decide({ tool: 'mail.send', input: {} });
    const credential = { kind: 'key', hash: key().hash, expiresAt: null } as never;
    const caller = { credential, keyId: 'key-1', sub: 'ann', uid: 'ann', role: 'member' } as const;
    const governed = governRun(sidecar, { runId: `run-${revision}`, agentId: 'agent-1', caller, tier: 'api', client: 'runs' });
    await decidedCall(governed, { tool: 'mail.send', input: {} });
    expect(governed.offers('mail.send')).toBe(true);
    runs.push(run, governed);
  });
  expect(left).toEqual(theOneThatIsHeld);
  expect(runs).toHaveLength(2 * revisions);
});

test('open streams and calls of MCP hold no snapshot', async () => {
  const { proxied } = await behind({
    ...world,
    // A stream that stays open, and an answer that does not come.
    answer: ({ method }, response) => {
      if (method === 'GET') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      else response.flushHeaders();
    },
  });
  const ends = new AbortController();
  onTestFinished(() => ends.abort());
  const headers = { authorization: `Bearer ${own}`, accept: 'application/json, text/event-stream' };
  const left = await leftAfter(proxied.sidecar, async () => {
    const stream = await fetch(proxied.urlOf('s'), { headers, signal: ends.signal });
    expect(stream.status).toBe(200);
    const before = (await proxied.sidecar.entries()).length;
    const body = JSON.stringify(mcpCall('echo', {}));
    void fetch(proxied.urlOf('s'), {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      signal: ends.signal,
    }).catch(() => undefined);
    await vi.waitFor(async () => expect((await proxied.sidecar.entries()).length).toBe(before + 1));
  });
  expect(left).toEqual(theOneThatIsHeld);
});

test('unanswered calls of HTTP tools, and requests whose body does not end, hold no snapshot', async () => {
  const { sidecar, port, reached, server } = await startTool({ world, answer: () => undefined });
  onTestFinished(() => server.closeAllConnections());
  const left = await leftAfter(sidecar, async (revision) => {
    const request = httpRequest({
      port,
      method: 'POST',
      path: '/tools/billing/x',
      headers: { authorization: `Bearer ${own}` },
      agent: false,
    });
    request.on('error', () => undefined).end();
    onTestFinished(() => void request.destroy());
    await vi.waitFor(() => expect(reached).toHaveLength(revision));
    const unread = connect(port, '127.0.0.1');
    onTestFinished(() => void unread.destroy());
    unread.write(
      `POST /govern/tool-use HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${own}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`,
    );
    // The request was admitted: the next request on another connection comes after it.
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
  });
  expect(left).toEqual(theOneThatIsHeld);
});

test('refused requests for which no entry can be written hold no snapshot', async () => {
  const sidecar = await createTestSidecar({ world });
  const { entrance } = createTestServer(sidecar, { requestsPerSecond: 1 });
  const left = await leftAfter(sidecar, () => {
    for (let n = 0; n < 3; n += 1) entrance.enter({ authorization: `Bearer ${own}`, workspace: undefined });
  });
  expect(left).toEqual(theOneThatIsHeld);
  const refused = createRefusedRequests(sidecar.govern.clock, () => undefined);
  refused.note('key-1', 'requests', () => ({ governing: sidecar, identity: { sub: 'ann', keyId: 'key-1' } }));
  await refused.close();
  expect((await sidecar.entries()).at(-1)).toMatchObject({ keyId: 'key-1', code: 'request_limit', revision: revisions + 1 });
});
