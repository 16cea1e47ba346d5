// `tollgate channels` against a real control plane and a receiver on loopback.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { ruleOf } from '../support/approvals.ts';
import { createApprovalPlane, type ApprovalPlane } from '../control-plane/approvals/plane.ts';
import { isSignedWith, startReceiver } from '../control-plane/channels/receiver.ts';
import { createCli, jsonOf } from './cli.ts';

let plane: ApprovalPlane;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  plane = await createApprovalPlane({ reach: createReach({ allowPrivate: true, commands: [] }, {}) });
  await plane.keyOf('member', ['admin.approvals'], 'ann');
  await plane.keyOf('admin', ['admin.approvals'], 'adam');
  receiver = await startReceiver();
});
afterAll(async () => {
  await plane.close();
  await receiver.close();
});

const cli = (...words: readonly string[]) => createCli(plane.origin, plane.owner)(['channels', ...words]);

test('a channel is added, tried, rotated and removed; its secret is alone on standard output', async () => {
  expect(await cli('list')).toMatchObject({ code: 0, out: '', err: expect.stringContaining('there is no channel') });
  const added = await cli('add', 'chat', receiver.origin, '--default');
  expect(added).toMatchObject({ code: 0, out: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=\n$/) });
  expect(await cli('test', 'chat')).toMatchObject({ code: 0, out: expect.stringMatching(/^chat has taken the message msg_/) });
  expect(isSignedWith(added.out.trim(), await receiver.next())).toBe(true);
  expect((await cli('list')).out).toMatch(/chat +http:\/\/127\.0\.0\.1:\d+\/ +yes/);
  expect(await cli('add', 'chat', `${receiver.origin}/moved`)).toMatchObject({
    code: 0,
    out: '',
    err: expect.stringContaining('is unchanged'),
  });
  // A new address must not stop the messages that no rule sends elsewhere.
  expect((await cli('list')).out).toMatch(/chat +\S+\/moved +yes/);
  expect(await cli('add', 'chat', receiver.origin, '--no-default')).toMatchObject({ code: 0 });
  expect((await cli('list')).out).toMatch(/chat +\S+ +no/);
  const rotated = await cli('rotate', 'chat', '--keep', '0');
  expect(rotated).toMatchObject({ code: 0, err: expect.stringContaining('the old one has stopped') });
  await cli('test', 'chat');
  const tried = await receiver.next();
  expect([added, rotated].map(({ out }) => isSignedWith(out.trim(), tried))).toEqual([false, true]);
  expect(await cli('rotate', 'chat', '--keep', 'x')).toMatchObject({ code: 1, err: expect.stringContaining('a number of seconds') });
  expect(await cli('remove', 'chat')).toMatchObject({ code: 0 });
  expect(await cli('test', 'chat')).toMatchObject({ code: 1, err: expect.stringContaining('there is no such channel') });
});

test('what could not be sent is listed, and sent again', async () => {
  await cli('add', 'ops', receiver.origin);
  expect((await cli('failed')).err).toContain('no message has failed');
  receiver.replies.push({ status: 410 }, { status: 410 });
  for (let one = 0; one < 2; one += 1) {
    await plane.pend(plane.call({ rules: [ruleOf({ channels: ['ops'] })] }));
    await receiver.next();
  }
  const failed = async () => (jsonOf(await cli('failed', '--json')) as { messages: readonly { id: string }[] }).messages;
  await expect.poll(failed, { timeout: 20_000, interval: 20 }).toHaveLength(2);
  expect((await cli('failed', '--channel', 'ops')).out).toContain('it answered with status 410');
  const [first] = await failed();
  expect(await cli('retry', String(first?.id))).toMatchObject({ code: 0, out: `${first?.id} is sent again\n` });
  expect((await receiver.next()).headers['webhook-id']).toBe(first?.id);
  expect(await cli('retry')).toMatchObject({ code: 1, err: expect.stringContaining('name the messages, or use --all') });
  await cli('retry', '--all');
  await receiver.next();
  await expect.poll(failed, { timeout: 20_000, interval: 20 }).toEqual([]);
});
