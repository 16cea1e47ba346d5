// Clients of the protocol in the field work when their base URL is changed to a sidecar's: each sends what it sends, and reads
// what it reads of the answers.
import { expect, test } from 'vitest';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { hookClients } from '../../../support/hook-clients.ts';
import { document, keyText, ruleFor } from '../../../support/snapshots.ts';

const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
const redacting = document({ defaults: tiers.map((tier) => [tier, { transform: 'redact' }] as const) });

async function start(documents: Parameters<typeof createTestSidecar>[0]) {
  const sidecar = await createTestSidecar(documents);
  const { app } = createTestServer(sidecar);
  const post = async (url: string, headers: Readonly<Record<string, string>>, body: unknown) => {
    const answer = await app.inject({
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${keyText('key1')}`, ...headers },
      payload: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  return { sidecar, post };
}

test.each(hookClients)('$client: is permitted, and its output is redacted', async ({ headers, before, after, recorded }) => {
  const { sidecar, post } = await start({ world: { agents: [], documents: [redacting] } });
  expect(await post('/govern/tool-use', headers, before)).toMatchObject({
    status: 200,
    body: { decision: 'allow', reason: expect.any(String) },
  });
  expect((await sidecar.entries())[0]).toMatchObject({ hookEvent: 'PreToolUse', decision: 'allow', ...recorded });
  if (after === undefined) return;
  const answer = await post('/govern/tool-output', headers, after);
  expect(answer).toMatchObject({ status: 200, body: { action: 'redact', findings: { pii: { types: ['email'], count: 1 } } } });
  // Of the form that was sent, so that the client can put it in the place of that.
  expect(typeof answer.body['modified_output']).toBe(typeof after['tool_output']);
  expect(JSON.stringify(answer.body)).not.toContain('acme-mail');
  const entries = await sidecar.entries();
  expect(entries.map(({ hookEvent }) => hookEvent)).toEqual(['PreToolUse', 'PostToolUse']);
  expect(entries[1]?.requestId).toBe(entries[0]?.requestId);
});

test.each(hookClients)(
  '$client: is denied with a reason, in an answer that it takes for a verdict and not for an outage',
  async ({ headers, before }) => {
    const { post } = await start({ world: { agents: [], documents: [ruleFor(String(before['tool_name']), { permission: 'deny' })] } });
    expect(await post('/govern/tool-use', headers, before)).toMatchObject({
      status: 200,
      body: { decision: 'deny', kind: 'terminal', reason: expect.stringMatching(/^policy_denied: /) },
    });
  },
);
