// A policy with cases, applied to a running control plane, and the same calls at every endpoint. All must answer alike, and
// what the tool's servers received shows that a denied call did not run, and which input an allowed one had.
import { expect, test } from 'vitest';
import { doorsOf } from './every-door/doors.ts';
import { agent, server } from './every-door/policies.ts';
import { startStand } from './every-door/stand.ts';

/** The number of a call is a part of its input: `args.case`, or where the input is a request, a text in its query. */
const number = '(has(args.query) ? int(args.query.case) : args.case)';

const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
const rule = (fields: object, ...cases: readonly object[]): object =>
  Object.fromEntries(tiers.map((tier) => [tier, { ...fields, cases: cases.map((one, at) => ({ name: `case ${at}`, ...one })) }]));

const workspacePolicy = {
  tools: {
    [`${server}.POST`]: rule(
      { permission: 'allow' },
      { when: `${number} > 100`, permission: 'deny', reason: 'at most 100' },
      { when: `${number} in [7, 8] && agent.name == "${agent}" && tool.server == "${server}"`, transform: 'redact' },
      { when: 'now < timestamp("2020-01-01T00:00:00Z")', permission: 'deny' },
    ),
    [`${server}.GET`]: rule({ permission: 'deny' }, { when: `${number} == 6`, permission: 'allow' }),
    [`${server}.DELETE`]: rule({ permission: 'allow' }, { when: '!args.sure', permission: 'deny' }),
  },
};

const calls = [
  { method: 'POST', number: 5, decision: 'allow' },
  { method: 'POST', number: 100, decision: 'allow' },
  { method: 'POST', number: 101, decision: 'deny' },
  { method: 'POST', number: 7, decision: 'allow' },
  { method: 'GET', number: 6, decision: 'allow' },
  { method: 'GET', number: 9, decision: 'deny' },
  // The condition reads what the input does not have, so the rule is as strict as it may be.
  { method: 'DELETE', number: 11, decision: 'deny' },
] as const;

/** The endpoints that make an allowed call themselves. Behind the others the caller, or the gateway, makes it. */
const making = /^(?:run of the control plane|MCP|HTTP)/;

test('every endpoint decides by the input alike, and only allowed calls reach a server', { timeout: 120_000 }, async () => {
  const stand = await startStand();
  const applied = await stand.rest.ask('POST', '/acme/admin/policies/apply', { body: { workspacePolicy } });
  expect(applied, JSON.stringify(applied.body)).toMatchObject({ status: 200 });
  const { rows } = await stand.rest.pool.query<{ revision: string }>("select revision from workspace where slug = 'acme'");
  await stand.reached(Number(rows[0]?.revision));
  const [caller] = stand.callers;
  if (caller === undefined) throw new Error('there is no caller');
  const doors = [...doorsOf(stand)];
  expect(doors.length).toBeGreaterThan(15);
  for (const { decision, method, number: at } of calls)
    for (const [name, door] of doors) {
      const before = stand.made().length;
      const answered = await door({ caller, method, number: at });
      const about = `${name}, ${method} ${at}`;
      expect(answered.decision, about).toBe(decision);
      const made = stand.made().slice(before);
      expect(made, about).toEqual(decision === 'allow' && making.test(name) ? [{ method, case: at }] : []);
    }
  expect(stand.failures).toEqual([]);
});
