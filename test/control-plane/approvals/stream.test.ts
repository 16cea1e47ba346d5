// The approval stream of a real control plane: what a sidecar may send, what it is answered, and that nothing is taken
// from a message that the credential of its stream decides.
import type { ApproveRequest, ApproveResponse__Output } from '@tollgate/proto';
import type { AskedCall } from '@tollgate/proto/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askMessage, askOf, callOf, claimMessage, digestOf, hello, ruleOf } from '../../support/approvals.ts';
import { openApprove, type Plane, startPlane, type Wire } from '../../support/plane.ts';

type Stream = Wire<ApproveRequest, ApproveResponse__Output>;

let plane: Plane;
let admin = '';
let process: { readonly key: string; readonly id: string };
let library: { readonly key: string; readonly id: string };

beforeAll(async () => {
  plane = await startPlane();
  admin = await plane.keyOf('admin', ['admin.approvals']);
  await plane.keyOf('member', ['govern'], 'ann');
  process = await plane.issueKey(['sidecar.sync', 'govern']);
  library = await plane.issueKey(['sidecar.library', 'govern'], { uid: 'ann' });
});
afterAll(() => plane.close());

let sessions = 0;
/** A call of a session of its own. */
const call = (more: Partial<AskedCall> = {}): AskedCall =>
  callOf({ keyId: process.id, originSub: 'ann', sessionId: `session-${(sessions += 1)}`, ...more });

function open(key = process.key): Stream {
  const stream = openApprove(plane, key);
  stream.write(hello);
  return stream;
}

async function asked(stream: Stream, message: ApproveRequest) {
  stream.write(message);
  const { asked: answer } = await stream.next();
  if (answer == null) throw new Error('not answered');
  return answer;
}

async function claimed(stream: Stream, message: ApproveRequest) {
  stream.write(message);
  const { claimed: answer } = await stream.next();
  if (answer == null) throw new Error('not answered');
  return answer;
}

const answer = (id: string, verb: string, key = admin, body: object = {}) =>
  plane.ask('POST', `/acme/admin/approvals/${id}/${verb}`, { key, body });

test('a call is asked for, approved, told to the one who waits, claimed once and used', async () => {
  const stream = open();
  const one = call();
  const first = await asked(stream, askMessage(1, askOf(one)));
  expect(first).toMatchObject({ number: 1, isNew: true, approval: { state: 'APPROVAL_STATE_PENDING', by: '' } });
  const id = first.approval?.approvalId ?? '';
  expect(first.approval?.remainingMs).toBeGreaterThan(86_000_000);
  expect(await asked(stream, askMessage(2, askOf(one)))).toMatchObject({ isNew: false, approval: { approvalId: id } });
  stream.write({ watch: { approvalId: id } });
  expect((await answer(id, 'approve', admin, { note: 'go' })).status).toBe(200);
  const { decided } = await stream.next();
  expect(decided).toMatchObject({ approvalId: id, state: 'APPROVAL_STATE_APPROVED', by: 'admin-1', note: 'go' });
  expect(await claimed(stream, claimMessage(3, id, 'request-1', one))).toMatchObject({
    granted: true,
    approval: { state: 'APPROVAL_STATE_USED' },
  });
  // A lost answer: the same claim on another stream is the same use; another request has none.
  const other = open();
  expect(await claimed(other, claimMessage(4, id, 'request-1', one))).toMatchObject({
    granted: true,
    approval: { state: 'APPROVAL_STATE_USED' },
  });
  expect(await claimed(other, claimMessage(5, id, 'request-2', one))).toMatchObject({
    granted: false,
    approval: { state: 'APPROVAL_STATE_USED' },
  });
});

test('a claim of another call is not granted, and is told nothing', async () => {
  const stream = open();
  const one = call({ inputSha256: digestOf({ a: 1, b: 'x' }) });
  const id = (await asked(stream, askMessage(1, askOf(one)))).approval?.approvalId ?? '';
  await answer(id, 'approve');
  const others: readonly AskedCall[] = [
    { ...one, inputSha256: digestOf({ a: 1, b: 'y' }) },
    { ...one, sessionId: 'another' },
    { ...one, tool: 'pay2' },
    { ...one, tier: 'background' },
    { ...one, agents: ['agent', 'child'] },
    { ...one, agentType: 'client::api::other' },
    { ...one, originSub: 'owner' },
    { ...one, keyId: library.id },
    { ...one, rules: [ruleOf({ uses: 2 })] },
    { ...one, rules: [...one.rules, ruleOf({}, 'role:member')] },
  ];
  for (const [at, wrong] of others.entries())
    expect(await claimed(stream, claimMessage(at, id, 'request', wrong))).toMatchObject({
      granted: false,
      approval: { approvalId: id, state: 'APPROVAL_STATE_EXPIRED', by: '' },
    });
  // The order of keys in the input means nothing.
  const same = { ...one, inputSha256: digestOf({ b: 'x', a: 1 }) };
  expect(await claimed(stream, claimMessage(99, id, 'request', same))).toMatchObject({ granted: true });
});

test('a library asks, reads and claims only for its own key and subject', async () => {
  const stream = open(library.key);
  const own = call({ keyId: library.id });
  const theirs = call();
  expect(await asked(stream, askMessage(1, askOf(theirs)))).toMatchObject({
    refused: { code: 'call_malformed', words: 'call.key_id must be the key of this sidecar' },
  });
  expect(await asked(stream, askMessage(2, askOf({ ...own, originSub: 'admin-1' })))).toMatchObject({
    refused: { code: 'call_malformed' },
  });
  const id = (await asked(open(), askMessage(1, askOf(theirs)))).approval?.approvalId ?? '';
  await answer(id, 'approve');
  expect(await claimed(stream, claimMessage(3, id, 'stolen', theirs))).toMatchObject({ granted: false });
  stream.write({ watch: { approvalId: id } });
  stream.write({ read: { number: 4, approvalId: id, keyId: process.id } });
  expect(await stream.next()).toMatchObject({ read: { number: 4, approval: null } });
  stream.write({ return: { approvalId: id, requestId: 'stolen' } });
  const mine = (await asked(stream, askMessage(5, askOf(own)))).approval?.approvalId ?? '';
  stream.write({ read: { number: 6, approvalId: mine, keyId: library.id } });
  expect(await stream.next()).toMatchObject({ read: { number: 6, approval: { approvalId: mine, state: 'APPROVAL_STATE_PENDING' } } });
  // It was not told of the other's approval.
  expect(stream.received.some(({ decided }) => decided != null)).toBe(false);
  expect(await claimed(open(), claimMessage(7, id, 'rightful', theirs))).toMatchObject({ granted: true });
});

test('a malformed ask is refused with its place, and the stream continues', async () => {
  const stream = open();
  const good = askOf(call());
  const [rule] = good.call.rules;
  if (rule === undefined) throw new Error('there is a rule');
  const terms = (more: object) => [{ ...rule, terms: JSON.stringify({ ...rule.terms, ...more }) }];
  const message = askMessage(1, good).ask?.call ?? {};
  const wrong: readonly [object, RegExp][] = [
    [{ call: { ...message, rules: [{ ...rule, digest: 'f'.repeat(64), terms: JSON.stringify(rule.terms) }] } }, /rules\[0\]\.digest/],
    [{ call: { ...message, rules: [{ ...rule, terms: '{' }] } }, /rules\[0\]\.terms must be an object/],
    [{ call: { ...message, rules: terms({ need: 0 }) } }, /\.need must be an integer from 1 to 5/],
    [{ call: { ...message, rules: terms({ pendingSeconds: 31 * 86_400 }) } }, /\.pendingSeconds/],
    [{ call: { ...message, rules: terms({ approvers: ['everyone'] }) } }, /\.approvers/],
    [{ call: { ...message, rules: terms({ channels: [] }) } }, /\.channels must be 1 to 20/],
    [{ call: { ...message, rules: terms({ later: 1 }) } }, /\.terms\.later is not a field of the terms/],
    [{ call: { ...message, rules: [] } }, /call\.rules must be 1 to 64/],
    [{ call: { ...message, sessionId: '' } }, /call\.session_id/],
    [{ call: { ...message, sessionId: 'a\u0000b' } }, /call\.session_id/],
    [{ call: { ...message, tier: 'root' } }, /call\.tier/],
    [{ call: { ...message, inputSha256: Buffer.alloc(31) } }, /call\.input_sha256/],
    [{ call: { ...message, keyId: 'x'.repeat(20) } }, /call\.key_id must be a key of this workspace/],
    [{ call: { ...message, originSub: 'unknown' } }, /call\.origin_sub must be a member/],
    [{ call: null }, /call must be there/],
    [{ shownInput: '{"a":' }, /shown_input/],
    [{ shownInput: `${'['.repeat(100)}${']'.repeat(100)}` }, /shown_input must be JSON/],
    [{ shownInput: `${'['.repeat(60)}${'0,'.repeat(90_000)}0${']'.repeat(60)}` }, /when it is printed in lines/],
    [{ shownInput: JSON.stringify({ a: 'x'.repeat(1_114_112) }) }, /shown_input must be .* at most 1114112 bytes/],
    [{ hidden: [{ path: 'a', kind: 'secret', length: 300_000, value: JSON.stringify('s'.repeat(300_000)) }] }, /hidden must be/],
    [{ roundId: 'r'.repeat(201) }, /round_id/],
  ];
  for (const [at, [fields, words]] of wrong.entries())
    expect(await asked(stream, askMessage(at, good, fields))).toMatchObject({
      number: at,
      refused: { code: 'call_malformed', words: expect.stringMatching(words) },
    });
  expect(await asked(stream, askMessage(99, good))).toMatchObject({ isNew: true });
});

test('a stream that does not begin with one hello ends, and so does one with an empty message', async () => {
  const silent = openApprove(plane, process.key);
  silent.write(askMessage(1, askOf(call())));
  expect(await silent.ended).toBe('INVALID_ARGUMENT: the first message must be hello');
  const twice = open();
  twice.write(hello);
  expect(await twice.ended).toBe('INVALID_ARGUMENT: hello must be sent only once');
  const empty = open();
  empty.write({});
  expect(await empty.ended).toBe('INVALID_ARGUMENT: a message must contain ask, watch, claim, return or read');
  const { key } = await plane.issueKey(['govern']);
  expect(await openApprove(plane, key).ended).toMatch(/^PERMISSION_DENIED/);
});

test('a stream ends soon after its key is revoked or narrowed to a library', async () => {
  const revoked = await plane.issueKey(['sidecar.sync']);
  const narrowed = await plane.issueKey(['sidecar.sync', 'govern.impersonate', 'sidecar.library']);
  const streams = [open(revoked.key), open(narrowed.key)];
  // Both keys were accepted before one is revoked.
  for (const stream of streams) expect(await asked(stream, askMessage(1, askOf(call())))).toMatchObject({ number: 1 });
  await plane.ask('DELETE', `/acme/admin/keys/${revoked.id}`);
  await plane.ask('PATCH', `/acme/admin/keys/${narrowed.id}`, { body: { scopes: ['govern.impersonate', 'sidecar.library'] } });
  expect(await streams[0]?.ended).toMatch(/^UNAUTHENTICATED: this key was revoked/);
  expect(await streams[1]?.ended).toMatch(/^UNAUTHENTICATED: the permissions of this key have changed/);
}, 30_000);

test('two hundred asks and claims that are written at once are all answered', async () => {
  const stream = open();
  const calls = Array.from({ length: 200 }, () => call());
  for (const [at, one] of calls.entries()) stream.write(askMessage(at, askOf(one)));
  const numbers: number[] = [];
  while (numbers.length < calls.length) numbers.push((await stream.next()).asked?.number ?? -1);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(calls.map((_, at) => at));
}, 60_000);
