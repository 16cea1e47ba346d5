// What became of the approvals of each user in a day: `approvals` of the answer of usage, on a real database.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expireDue } from '../../../control-plane/approvals/operations/expire.ts';
import { ruleOf } from '../../support/approvals.ts';
import { type ApprovalPlane, createApprovalPlane } from './plane.ts';

const dayMs = 86_400_000;
const zero = { asked: 0, approved: 0, denied: 0, expired: 0, used: 0 };

let plane: ApprovalPlane;
let admin = '';
let now = 0;
beforeAll(async () => {
  plane = await createApprovalPlane();
  admin = await plane.keyOf('admin', ['admin.approvals'], 'ada');
  for (const uid of ['ann', 'bob']) await plane.keyOf('member', ['govern'], uid);
  now = plane.clock.now.getTime();
});
afterAll(() => plane.close());

interface Counted {
  readonly day: string;
  readonly users: readonly object[];
}

/** Asks for the day that begins at most two days and at least one day before the test, or at the given distance from it. */
async function counted(query = '', days = -1): Promise<Counted> {
  plane.clock.now = new Date(now + days * dayMs);
  const { status, body } = await plane.ask('GET', `/acme/admin/usage${query}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ truncated: false });
  return (body as { readonly approvals: Counted }).approvals;
}

test('the steps of the day are counted for each user, the one with the most asks first', async () => {
  const pend = async (originSub: string, terms: Parameters<typeof ruleOf>[0] = {}) => {
    const call = plane.call({ originSub, rules: [ruleOf(terms)] });
    return { call, id: (await plane.pend(call)).approvalId };
  };
  const press = async (id: string, verb: string) => expect((await plane.press(id, verb, admin)).status).toBe(200);
  expect(await counted()).toMatchObject({ users: [] });

  const [used, returned, unused, denied, late, cancelled] = [
    await pend('ann', { uses: 3 }),
    await pend('ann'),
    await pend('ann'),
    await pend('ann'),
    await pend('ann'),
    await pend('ann'),
  ];
  const half = await pend('bob', { need: 2 });
  expect((await counted()).users).toEqual([
    { sub: 'ann', ...zero, asked: 6 },
    { sub: 'bob', ...zero, asked: 1 },
  ]);

  for (const { id } of [used, returned, unused, half]) await press(id, 'approve');
  await press(denied.id, 'deny');
  await press(cancelled.id, 'cancel');
  for (const [{ id, call }, request] of [
    [used, 'first'],
    [used, 'second'],
    // The answer to the claim was lost, so it is sent again.
    [used, 'second'],
    [returned, 'third'],
  ] as const)
    expect(await plane.link.claim(id, request, call)).toMatchObject({ granted: true });
  plane.link.returnUse(returned.id, 'third');
  // One expires unanswered, the other approved.
  for (const { id } of [late, unused]) await plane.age(id, 90_000);
  await expireDue(plane.deps);

  const ann = { sub: 'ann', asked: 6, approved: 3, denied: 1, expired: 2, used: 2 };
  // The ledger takes a returned use without an answer.
  await expect.poll(async () => (await counted()).users).toEqual([ann, { sub: 'bob', ...zero, asked: 1 }]);
  expect((await counted('?sub=bob')).users).toEqual([{ sub: 'bob', ...zero, asked: 1 }]);
  expect((await counted('?agent=another')).users).toHaveLength(2);

  const tomorrow = await counted('', 2);
  expect(tomorrow).toMatchObject({ day: new Date(now + 2 * dayMs).toISOString().slice(0, 10), users: [] });

  // What was asked before the day and answered in it counts as answered only.
  await plane.pool.query(`update approval_event set at = at - interval '5 days' where action = 'asked' and approval_id = $1`, [denied.id]);
  expect((await counted('?sub=ann')).users).toEqual([{ ...ann, asked: 5 }]);
  await plane.pool.query(`update approval_use set claimed_at = claimed_at - interval '5 days' where request_id = 'first'`);
  expect((await counted('?sub=ann')).users).toEqual([{ ...ann, asked: 5, used: 1 }]);
});

test('nothing of another workspace is counted', async () => {
  await plane.pend(plane.call());
  plane.clock.now = new Date(now - dayMs);
  const own = await plane.ask('GET', '/acme/admin/usage');
  expect((own.body as { readonly approvals: Counted }).approvals.users).not.toEqual([]);
  const { body } = await plane.ask('GET', '/other/admin/usage', { key: plane.other });
  expect(body).toMatchObject({ approvals: { users: [] } });
});
