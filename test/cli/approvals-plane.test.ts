// `tollgate approvals` against a real control plane: asked by the stream of a sidecar, decided by the command line.
import type { ApproveRequest, ApproveResponse__Output } from '@tollgate/proto';
import type { ApprovalAsk, AskedCall } from '@tollgate/proto/contract';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askMessage, askOf, callOf, hello, ruleOf } from '../support/approvals.ts';
import { openApprove, type Plane, startPlane, type Wire } from '../support/plane.ts';
import { createCli, jsonOf } from './cli.ts';

let plane: Plane;
let origin = '';
let admin = '';
let ann = '';
let sidecar: { readonly key: string; readonly id: string };
let stream: Wire<ApproveRequest, ApproveResponse__Output>;

beforeAll(async () => {
  plane = await startPlane();
  ({ origin } = plane);
  admin = await plane.keyOf('admin', ['admin.approvals']);
  ann = await plane.keyOf('member', ['admin.approvals'], 'ann');
  sidecar = await plane.issueKey(['sidecar.sync', 'govern']);
  stream = openApprove(plane, sidecar.key);
  stream.write(hello);
});
afterAll(async () => {
  stream.close();
  // After a stream that it left, the HTTP client connects again and sends nothing. The server would wait for that.
  await getGlobalDispatcher().destroy();
  setGlobalDispatcher(new Agent());
  await plane.close();
});

let count = 0;
async function asked(more: Partial<Omit<ApprovalAsk, 'call'>> = {}, call: Partial<AskedCall> = {}): Promise<string> {
  count += 1;
  const one = callOf({ keyId: sidecar.id, originSub: 'ann', sessionId: `cli-${count}`, ...call });
  stream.write(askMessage(count, askOf(one, more)));
  const { asked: answer } = await stream.next();
  const id = answer?.approval?.approvalId ?? '';
  if (id === '') throw new Error(`not asked: ${JSON.stringify(answer)}`);
  return id;
}

const cli = (words: readonly string[], circumstances = {}) => createCli(origin, admin)(['approvals', ...words], circumstances);
const terminal = { columns: 100, prompts: { confirm: async () => true } };

test('an input is shown whole, whatever its names are, and nothing in it is hidden', async () => {
  const shownInput = '{"__proto__":{"a":1},"constructor":2,"to":"a\\u202eb","list":[1,[],{}],"2":null,"big":1e300}';
  const id = await asked({ shownInput });
  const { code, out, err } = await cli(['show', id]);
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(out.slice(out.indexOf('input, whole:'))).toBe(`input, whole:
| {
|   "2": null,
|   "__proto__": {
|     "a": 1
|   },
|   "constructor": 2,
|   "to": "a\\u202eb",
|   "list": [
|     1,
|     [],
|     {}
|   ],
|   "big": 1e+300
| }
warning   1 character that changes the direction of text (\\u202e) in "to"
approve   tollgate approvals approve ${id} [--note <text>]
          on a terminal it asks you first; elsewhere add --yes
deny      tollgate approvals deny ${id} [--note <why>]
          it does not ask; the agent reads the note
`);
  expect((await cli(['list', '--session', `cli-${count}`])).out).toContain(id);
});

test('a hidden value is revealed before the call is approved, and both are recorded', async () => {
  const hidden = [{ path: 'token', kind: 'secret', length: 6, value: '"hunter"' }];
  const findings = [{ kind: 'secret', count: 1 }];
  const id = await asked({ shownInput: '{"token":"[redacted:secret#1]"}', hidden, findings });
  expect(await cli(['approve', id, '--yes'])).toMatchObject({ code: 1, err: expect.stringContaining(`tollgate approvals reveal ${id}`) });
  const { code, out } = await cli(['approve', id, '--note', 'go'], terminal);
  expect(code).toBe(0);
  expect(out).toContain('hidden value 1 (secret)\n');
  expect(out).toContain('hidden value 1 at "token": "hunter"');
  expect(out).toMatch(new RegExp(`^${id} is approved for 1 call until \\d{4}-\\d\\d-\\d\\d .*Z\n\\| pay {2}token: \\(hidden\\)$`, 'm'));
  expect(jsonOf(await cli(['show', id, '--json']))).toMatchObject({
    state: 'approved',
    by: 'admin-1',
    note: 'go',
    revealedBy: ['admin-1'],
  });
  expect(await cli(['approve', id], terminal)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/is approved by admin-1 at .*cannot be approved/),
  });
});

test('a hidden value may be read again, which is recorded again, and who has read it is told when', async () => {
  const hidden = [{ path: 'token', kind: 'secret', length: 6, value: '"hunter"' }];
  const id = await asked({ shownInput: '{"token":"[redacted:secret#1]"}', hidden, findings: [{ kind: 'secret', count: 1 }] });
  for (const _time of ['first', 'second']) expect((await cli(['reveal', id])).out).toBe('hidden value 1 at "token": "hunter"\n');
  expect((await cli(['show', id])).out).toMatch(/sent in full to the tool; you read it at \d{4}-\d\d-\d\d .*Z; again:\n/);
  expect(jsonOf(await cli(['show', id, '--json']))).toMatchObject({
    revealedBy: ['admin-1'],
    steps: [{ action: 'asked' }, { action: 'revealed' }, { action: 'revealed' }],
  });
  const answers = [true, false];
  const { code, out } = await cli(['approve', id], { columns: 100, prompts: { confirm: async () => answers.pop() === true } });
  expect({ code, out }).toMatchObject({ code: 0, out: expect.not.stringContaining('hunter') });
});

test('the person that the call is made for may not answer, and is told why', async () => {
  const id = await asked({}, { rules: [ruleOf({ approvers: ['role:member'] })] });
  const own = await createCli(origin, ann)(['approvals', 'approve', id, '--yes']);
  expect(own).toMatchObject({ code: 1, err: expect.stringContaining('may not answer for themselves') });
  expect((await createCli(origin, ann)(['approvals', 'list', '--mine'])).out).toContain(id);
});

test('two calls of one round are answered as a whole, and a rule may need two persons', async () => {
  const rules = [ruleOf({ need: 2 })];
  const ids = [];
  for (const amount of [1, 2])
    ids.push(
      await asked(
        { roundId: 'r1', shownInput: `{"amount":${amount}}` },
        { sessionId: 'round', rules, inputSha256: String(amount).repeat(64) },
      ),
    );
  const [first = '', second = ''] = ids;
  expect((await cli(['show', first])).out).toContain(`together  ${second}  pay`);
  const { out } = await cli(['approve', first, second], terminal);
  expect(out).toContain(`${first} is approved by you, and needs the approval of another person\n`);
  expect((await cli(['show', second])).out).toContain('pending (1 of 2 approved)');
  const denied = await cli(['deny', first, second, '--note', 'no']);
  expect(denied.out.split('\n').toSorted()).toEqual(
    ['', ...ids.map((id) => `${id} is denied`), '| pay  amount: 1', '| pay  amount: 2'].toSorted(),
  );
  expect(await cli(['cancel', first])).toMatchObject({ code: 1, err: expect.stringContaining('already denied') });
});

test('watch prints a call when it is asked for, and its answer', async () => {
  const stop = new AbortController();
  let seen = '';
  let arrived = (): void => undefined;
  const heard = (text: string): void => {
    seen += text;
    arrived();
  };
  const until = (words: string): Promise<void> =>
    new Promise((done) => {
      arrived = () => {
        if (seen.includes(words)) done();
      };
      arrived();
    });
  const first = await asked({}, { tool: 'watched' });
  const watching = cli(['watch', '--tool', 'watched'], { signal: stop.signal, heard });
  await until(first);
  const other = await asked({}, { tool: 'other' });
  const second = await asked({}, { tool: 'watched' });
  await until(second);
  await cli(['deny', second, '--note', 'not now']);
  await until('not now');
  stop.abort();
  expect(await watching).toMatchObject({ code: 0 });
  expect(seen).not.toContain(other);
});
