// Published clients of the protocol work when their base URL is changed to a sidecar's. Each client sends its own
// requests, and reads its fields of the answers.
import { expect, test } from 'vitest';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { hookCases, useCases } from '../../../support/hook-cases.ts';
import { hookClients } from '../../../support/hook-clients.ts';
import { document, keyText, ruleFor } from '../../../support/snapshots.ts';

const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
const redacting = document({ defaults: tiers.map((tier) => [tier, { transform: 'redact' }] as const) });

async function start(documents: Parameters<typeof createTestSidecar>[0], options: Parameters<typeof createTestServer>[1] = {}) {
  const sidecar = await createTestSidecar(documents);
  const { app } = createTestServer(sidecar, options);
  const post = async (url: string, headers: Readonly<Record<string, string>>, body: unknown) => {
    const answer = await app.inject({
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${keyText('key1')}`, ...headers },
      payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  return { sidecar, post };
}

test.each(hookClients)('$client: a call is permitted, and its output is redacted', async ({ headers, before, after, recorded }) => {
  const { sidecar, post } = await start({ world: { agents: [], documents: [redacting] } });
  expect(await post('/govern/tool-use', headers, before)).toMatchObject({
    status: 200,
    body: { decision: 'allow', reason: expect.any(String) },
  });
  expect((await sidecar.entries())[0]).toMatchObject({ hookEvent: 'PreToolUse', decision: 'allow', ...recorded });
  if (after === undefined) return;
  const answer = await post('/govern/tool-output', headers, after);
  expect(answer).toMatchObject({ status: 200, body: { action: 'redact', findings: { pii: { types: ['email'], count: 1 } } } });
  // The type is the same as in the request, so that the client can replace the original output.
  expect(typeof answer.body['modified_output']).toBe(typeof after['tool_output']);
  expect(JSON.stringify(answer.body)).not.toContain('acme-mail');
  const entries = await sidecar.entries();
  expect(entries.map(({ hookEvent }) => hookEvent)).toEqual(['PreToolUse', 'PostToolUse']);
  expect(entries[1]?.requestId).toBe(entries[0]?.requestId);
});

test.each(hookClients)(
  '$client: a call is denied with a reason, in an answer that the client treats as a decision and not as an outage',
  async ({ headers, before }) => {
    const { post } = await start({ world: { agents: [], documents: [ruleFor(String(before['tool_name']), { permission: 'deny' })] } });
    expect(await post('/govern/tool-use', headers, before)).toMatchObject({
      status: 200,
      body: { decision: 'deny', kind: 'terminal', reason: expect.stringMatching(/^policy_denied: /) },
    });
  },
);

/** Whether a client runs the call after this answer, as the published clients do (docs/doors/hook-endpoint.md). */
const runsTheCall: Readonly<Record<string, (status: number, body: Readonly<Record<string, unknown>>) => boolean>> = {
  'acp-governance, and what is built on it': (status, body) => status < 200 || status > 299 || (body['decision'] ?? 'allow') === 'allow',
  'acp-hermes, hermes-acp': (status, body) => status < 200 || status > 299 || body['decision'] !== 'deny',
};

test.each(Object.entries(runsTheCall))('%s: no invalid request with a good key lets its call run', async (_, runs) => {
  const { post } = await start({ world: { agents: [], documents: [redacting] } });
  const ran: string[] = [];
  for (const { name, body, headers = {} } of [...hookCases, ...useCases]) {
    // A problem only in the output does not make the request invalid here.
    if (name.includes('output')) continue;
    const answer = await post('/govern/tool-use', { 'content-type': 'application/json', ...headers }, body);
    if (runs(answer.status, answer.body)) ran.push(name);
  }
  expect(ran).toEqual([]);
  const without = await start({ world: null });
  const early = await without.post('/govern/tool-use', { 'content-type': 'application/json' }, { tool_name: 'mail.send' });
  expect(runs(early.status, early.body)).toBe(false);
  const flooding = await start({ world: {} }, { requestsPerSecond: 1 });
  const flood = () => flooding.post('/govern/tool-use', { 'content-type': 'application/json' }, { tool_name: 'mail.send' });
  const [first, second] = [await flood(), await flood()];
  expect([first, second].map(({ status, body }) => runs(status, body))).toEqual([true, false]);
});
