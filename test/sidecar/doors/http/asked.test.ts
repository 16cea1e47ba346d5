// Calls of HTTP tools that policy asks a person for. The tool's server notes each request that reaches it.
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { preferredWait, withoutWait } from '../../../../sidecar/doors/http/prefer.ts';
import { asking, createAsked, settled, usesOf } from '../../../support/asked.ts';
import { keyText, key } from '../../../support/snapshots.ts';
import { type HttpQuestion, own, raw, startTool } from './behind-the-gate.ts';

const json = { 'content-type': 'application/json' };
const body = '{"amount":5}';
const plain: HttpQuestion = { headers: json, body };
const patient = (wait: number | string, headers: Readonly<Record<string, string>> = {}): HttpQuestion => ({
  body,
  headers: { ...json, prefer: `wait=${wait}`, ...headers },
});

async function start(options: Parameters<typeof startTool>[0] = {}) {
  const asked = createAsked();
  const world = { ...asking('billing'), keys: [key(), key({ id: 'key-2', uid: 'ann' })] };
  return { ...asked, ...(await startTool({ world, asked, ...options })) };
}

test('without a preference the call is answered at once, with the place of its approval, and the same call meets it', async () => {
  const { ledger, reached, app, ask } = await start();
  const denied = await ask(plain);
  expect([denied.status, denied.headers['retry-after'], denied.headers['location'], denied.headers['preference-applied']]).toEqual([
    403,
    '5',
    '/govern/approvals/ap-1',
    undefined,
  ]);
  expect(JSON.parse(denied.text)).toEqual({
    error: expect.stringMatching(/make exactly the same call again.*tollgate approvals show ap-1$/),
    decision: {
      decision: 'deny',
      reason: expect.stringMatching(/^approval_pending: approval ap-1 has no answer yet; /),
      kind: 'retry',
      retryAfterMs: expect.any(Number),
      waitMs: 300_000,
      remedies: expect.any(Array),
      approval_id: 'ap-1',
      request_id: denied.headers['x-tollgate-request-id'],
    },
  });
  const place = denied.headers['location'] ?? '';
  expect((await app.inject({ url: place, headers: { authorization: `Bearer ${own}` } })).json()).toMatchObject({ state: 'pending' });
  expect((await app.inject({ url: place, headers: { authorization: `Bearer ${keyText('key2')}` } })).statusCode).toBe(404);
  expect(reached).toEqual([]);
  ledger.approve('ap-1');
  expect((await ask(plain)).status).toBe(200);
  expect(reached.map((request) => request.body)).toEqual([body]);
  expect((await ask(plain)).headers['location']).toBe('/govern/approvals/ap-2');
  expect(reached).toHaveLength(1);
});

test('Prefer: wait holds the call until the answer, and is not forwarded', async () => {
  const { approvals, ledger, reached, ask, sidecar } = await start({
    tool: { forwardHeaders: ['prefer'] },
    answer: (_request, response) => void response.setHeader('preference-applied', 'return=minimal').end('{}'),
  });
  const calling = ask(patient('30, return=minimal'));
  await expect.poll(() => approvals.status().held).toBe(1);
  expect(reached).toEqual([]);
  ledger.approve('ap-1');
  const { status, headers } = await calling;
  expect([status, headers['preference-applied']]).toEqual([200, 'return=minimal, wait=30']);
  expect(reached.map((request) => [request.headers['prefer'], request.body])).toEqual([['return=minimal', body]]);
  expect((await sidecar.entries())[0]).toMatchObject({ code: 'allowed', approval: { id: 'ap-1', by: 'ann' } });
});

test('the wait is no part of the call: another one meets the same approval', async () => {
  const { clock, approvals, ledger, reached, ask } = await start({ tool: { forwardHeaders: ['prefer'] } });
  const calling = ask(patient(10));
  await expect.poll(() => approvals.status().held).toBe(1);
  clock.advance(10_000);
  const denied = await calling;
  expect([denied.status, denied.headers['preference-applied']]).toEqual([403, 'wait=10']);
  ledger.approve('ap-1');
  const made = await ask(patient(20));
  expect([made.status, made.headers['preference-applied']]).toEqual([200, 'wait=20']);
  expect([reached.length, reached[0]?.headers['prefer'], ledger.rows.length]).toEqual([1, undefined, 1]);
});

test('a longer wait is bounded', async () => {
  const { clock, approvals, ask } = await start();
  const calling = ask(patient(86_400));
  await expect.poll(() => approvals.status().held).toBe(1);
  clock.advance(300_000);
  expect((await calling).headers['preference-applied']).toBe('wait=300');
});

test('a caller that closes its connection while it waits makes no call, and its approval remains', async () => {
  const { port, approvals, ledger, reached, ask, sidecar } = await start();
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    raw('POST /tools/billing/invoices', ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Prefer: wait=300'], body),
  );
  await expect.poll(() => approvals.status().held).toBe(1);
  socket.destroy();
  await expect.poll(() => approvals.status().held).toBe(0);
  ledger.approve('ap-1');
  await settled();
  expect((await sidecar.entries()).map(({ code }) => code)).toEqual(['caller_gone']);
  expect([reached, usesOf(ledger, 'ap-1')]).toEqual([[], 0]);
  expect((await ask(plain)).status).toBe(200);
  expect(reached).toHaveLength(1);
});

test('a person who denies answers the same call', async () => {
  const { approvals, ledger, reached, ask } = await start();
  const calling = ask(patient(30));
  await expect.poll(() => approvals.status().held).toBe(1);
  ledger.deny('ap-1', 'ask finance');
  const denied = await calling;
  expect([denied.status, denied.headers['retry-after']]).toEqual([403, undefined]);
  expect(denied.text).toContain('ask finance');
  expect((await ask(plain)).text).toContain('ask finance');
  expect(reached).toEqual([]);
});

test('headers that the tool receives besides the input are shown and bound, and a trace state is not forwarded', async () => {
  const { ledger, reached, ask } = await start();
  const asked = (ifMatch: string, more: Readonly<Record<string, string>> = {}): HttpQuestion => ({
    method: 'PATCH',
    body,
    headers: {
      'content-type': 'application/merge-patch+json',
      'if-match': ifMatch,
      accept: 'application/json',
      tracestate: 'a=1',
      ...more,
    },
  });
  await ask(asked('"1"'));
  expect(JSON.parse(ledger.rows[0]?.ask.shownInput ?? '')).toEqual({
    input: { method: 'PATCH', path: '/invoices', body: { amount: 5 } },
    alsoForwarded: { headers: { 'if-match': '"1"', 'content-type': 'application/merge-patch+json' } },
  });
  ledger.approve('ap-1');
  for (const changed of [asked('"2"'), asked('"1"', { 'content-type': 'application/json' }), asked('"1"', { 'user-agent': 'pay eve' })])
    expect((await ask(changed)).status).toBe(403);
  expect(reached).toEqual([]);
  expect((await ask(asked('"1"', { tracestate: 'a=2' }))).status).toBe(200);
  expect(reached).toMatchObject([{ headers: { 'if-match': '"1"', accept: 'application/json' } }]);
  expect(reached[0]?.headers['tracestate']).toBeUndefined();
});

test('a body of which the input has only size and digest cannot be asked for', async () => {
  const { ledger, reached, ask } = await start();
  const denied = await ask({ headers: { 'content-type': 'application/octet-stream' }, body: 'bytes' });
  expect([denied.status, denied.text]).toEqual([403, expect.stringMatching(/call_malformed.*cannot be asked for/)]);
  expect([ledger.rows, reached]).toEqual([[], []]);
});

test.each([
  ['wait=10', 10, undefined],
  ['WAIT = 10', 10, undefined],
  ['wait="10"; foo', 10, undefined],
  ['respond-async, wait=10, wait=20', 10, 'respond-async'],
  ['foo="a, wait=9"', 0, 'foo="a, wait=9"'],
  ['foo="a, wait=9", wait=3', 3, 'foo="a, wait=9"'],
  ['wait', 0, undefined],
  ['wait=-1', 0, 'wait=-1'],
  ['wait=1.5', 0, 'wait=1.5'],
  ['wait=999999999', 300, undefined],
  ['waiting=10', 0, 'waiting=10'],
  ['"'.repeat(2_000), 0, '"'.repeat(2_000)],
])('Prefer: %s', (header, seconds, others) => {
  expect([preferredWait(header), withoutWait(header)]).toEqual([seconds, others]);
});
