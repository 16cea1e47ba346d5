// Who may answer an approval, and what an answer does: over REST, on a real database.
import { randomUUID } from 'node:crypto';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askOf, digestOf, ruleOf } from '../../support/approvals.ts';
import { errorOf, field } from '../rest.ts';
import { entry, records, ship, spool } from '../spool.ts';
import { type ApprovalPlane, createApprovalPlane } from './plane.ts';

let plane: ApprovalPlane;
/** Keys of members, with the scope of approvals only. */
const keys = { adam: '', ada: '', ann: '', max: '' };

beforeAll(async () => {
  plane = await createApprovalPlane();
  for (const [uid, role] of [
    ['adam', 'admin'],
    ['ada', 'admin'],
    ['ann', 'member'],
    ['max', 'member'],
  ] as const)
    keys[uid] = await plane.keyOf(role, ['admin.approvals'], uid);
});
afterAll(async () => {
  // After a stream that it left, the HTTP client connects again and sends nothing. The server would wait for that.
  await getGlobalDispatcher().destroy();
  setGlobalDispatcher(new Agent());
  await plane.close();
});

/** A key of a member, made by the owner, with its id. */
async function issue(uid: string | null, scopes: readonly string[], by?: string) {
  const body = { name: 'key', scopes, ...(uid === null ? {} : { uid }) };
  const made = await plane.ask('POST', '/acme/admin/keys', { body, ...(by === undefined ? {} : { key: by }) });
  return { id: field(made, 'id'), key: field(made, 'key') };
}

test('the last calls of the session are shown, each once, although a permitted one has an entry of its output too', async () => {
  const call = plane.call();
  const of = { sessionId: call.sessionId, sub: call.originSub, ts: plane.clock.now.toISOString(), tool: 'look' };
  await ship(
    plane,
    spool('a'),
    records(1, 2, (n) => entry({ ...of, hookEvent: n === 1 ? 'PreToolUse' : 'PostToolUse' })),
  );
  const { approvalId } = await plane.pend(call);
  expect(await plane.show(approvalId, keys.adam)).toMatchObject({ session: { calls: [{ tool: 'look', decision: 'allow' }] } });
});

test('two approvers press at once: one decision, and the other is told by whom and when', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { approvalId } = await plane.pend(plane.call());
    const answers = await Promise.all([plane.press(approvalId, 'approve', keys.adam), plane.press(approvalId, 'deny', keys.ada)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const lost = answers.find(({ status }) => status === 409);
    expect(lost === undefined ? '' : errorOf(lost)).toMatch(/is already (?:approved by adam|denied by ada), since 20\d\d-/);
    const { steps } = await plane.show(approvalId);
    expect((steps as readonly { action: string }[]).map(({ action }) => action)).toHaveLength(2);
  }
});

test('a member whom no rule names, a service key, the asking key and a key without the scope may not answer', async () => {
  const { approvalId } = await plane.pend(plane.call());
  expect(await plane.press(approvalId, 'approve', keys.max)).toMatchObject({ status: 404 });
  const service = await issue(null, ['admin.approvals']);
  expect(errorOf(await plane.press(approvalId, 'approve', service.key))).toContain('a service key answers no approvals');
  const without = await issue('adam', ['agents.read']);
  expect(await plane.press(approvalId, 'approve', without.key)).toMatchObject({ status: 403 });
  const asking = await issue('adam', ['govern', 'admin.approvals']);
  const own = await plane.pend(plane.call({ keyId: asking.id }));
  expect(errorOf(await plane.press(own.approvalId, 'approve', asking.key))).toContain('the key that asks cannot answer');
  expect(await plane.press(own.approvalId, 'approve', keys.ada)).toMatchObject({ status: 200 });
});

test('the person that the call is made for may not answer, also behind a key of a colleague that they made', async () => {
  const lead = await issue('adam', ['*']);
  const { approvalId } = await plane.pend(plane.call({ originSub: 'adam' }));
  expect(errorOf(await plane.press(approvalId, 'approve', keys.adam))).toContain('the call is made for adam');
  // Made by adam, acts as ada.
  const behind = await issue('ada', ['admin.approvals'], lead.key);
  expect(errorOf(await plane.press(approvalId, 'approve', behind.key))).toContain('one of the persons behind this credential');
  // Made by the owner for ada, rotated by adam: adam knows its secret.
  const rotated = await issue('ada', ['admin.approvals']);
  const secret = field(await plane.ask('POST', `/acme/admin/keys/${rotated.id}/rotate`, { key: lead.key }), 'key');
  expect(errorOf(await plane.press(approvalId, 'approve', secret))).toContain('the call is made for adam');
  expect(await plane.press(approvalId, 'approve', keys.ada)).toMatchObject({ status: 200 });
});

test('self: the person confirms with a credential that cannot ask, or a signed-in session', async () => {
  const rules = [ruleOf({ approvers: ['subject'], self: true })];
  const { approvalId } = await plane.pend(plane.call({ rules }));
  const asks = await issue('ann', ['admin.approvals', 'govern']);
  expect(errorOf(await plane.press(approvalId, 'approve', asks.key))).toContain('a key that cannot ask; this key has the scope govern');
  const all = await issue('ann', ['*']);
  expect(errorOf(await plane.press(approvalId, 'approve', all.key))).toContain('this key has the scope *');
  expect(await plane.press(approvalId, 'approve', keys.ann)).toMatchObject({ status: 200 });
  const other = await plane.pend(plane.call({ rules }));
  const headers = await plane.signIn('ann');
  const pressed = await plane.ask('POST', `/acme/admin/approvals/${other.approvalId}/approve`, { key: null, headers, body: {} });
  expect(pressed.status).toBe(200);
  // With a second rule that is not `self`, the person may not answer at all.
  const strict = ruleOf({}, 'role:member');
  expect(await plane.link.ask(askOf(plane.call({ rules: [...rules, strict] })))).toMatchObject({ code: 'approval_unanswerable' });
  const both = await plane.pend(plane.call({ rules: [ruleOf({ approvers: ['subject', 'role:admin'], self: true }), strict] }));
  expect(errorOf(await plane.press(both.approvalId, 'approve', keys.ann))).toContain('may not answer for themselves');
}, 60_000);

test('independent: the maker and the rotator of the asking key may not answer', async () => {
  const rules = [ruleOf({ independent: true })];
  const lead = await issue('adam', ['*']);
  const asking = await issue('ann', ['govern'], lead.key);
  const one = await plane.pend(plane.call({ keyId: asking.id, rules }));
  expect(errorOf(await plane.press(one.approvalId, 'approve', keys.adam))).toContain('adam made or rotated the key that asked');
  const service = await issue(null, ['govern'], lead.key);
  const ada = await issue('ada', ['*']);
  expect(await plane.ask('POST', `/acme/admin/keys/${service.id}/rotate`, { key: ada.key })).toMatchObject({ status: 200 });
  const two = await plane.pend(plane.call({ keyId: service.id, originSub: `apikey:${service.id}`, rules }));
  // A signed-in session stands for its member alone.
  const press = async (uid: string) =>
    plane.ask('POST', `/acme/admin/approvals/${two.approvalId}/approve`, { key: null, headers: await plane.signIn(uid), body: {} });
  expect(errorOf(await press('ada'))).toContain('ada made or rotated the key that asked');
  expect(errorOf(await press('adam'))).toContain('adam made or rotated the key that asked');
  expect(await press('owner')).toMatchObject({ status: 200 });
});

test('via session: only a session that was signed in at the issuer counts, not a key and not a session of a key', async () => {
  const { approvalId } = await plane.pend(plane.call({ rules: [ruleOf({ via: 'session' })] }));
  expect(errorOf(await plane.press(approvalId, 'approve', keys.adam))).toContain('signed in at the issuer');
  const opened = await plane.ask('POST', '/acme/admin/session', { key: keys.adam });
  const cookie = String([opened.headers['set-cookie']].flat()[0]).split(';', 1)[0] ?? '';
  const ofKey = { cookie, 'x-csrf-token': field(opened, 'csrf') };
  const url = `/acme/admin/approvals/${approvalId}/approve`;
  expect(errorOf(await plane.ask('POST', url, { key: null, headers: ofKey, body: {} }))).toContain('signed in at the issuer');
  expect(await plane.ask('POST', url, { key: null, headers: await plane.signIn('adam'), body: {} })).toMatchObject({ status: 200 });
  expect(await plane.show(approvalId)).toMatchObject({ state: 'approved', approvals: [{ by: 'adam', via: 'session' }] });
});

test('need 2: two answers that share a person are one', async () => {
  const { approvalId } = await plane.pend(plane.call({ rules: [ruleOf({ need: 2 })] }));
  const lead = await issue('adam', ['*']);
  const behind = await issue('ada', ['admin.approvals'], lead.key);
  expect(await plane.press(approvalId, 'approve', keys.adam)).toMatchObject({ status: 200, body: { states: [{ state: 'pending' }] } });
  expect(errorOf(await plane.press(approvalId, 'approve', keys.adam))).toContain('adam has approved this call already');
  expect(errorOf(await plane.press(approvalId, 'approve', behind.key))).toContain('share the person adam');
  // The owner made the keys of both: their own keys share the owner. A signed-in session stands for one person.
  expect(errorOf(await plane.press(approvalId, 'approve', keys.ada))).toContain('share the person owner');
  const signedIn = { key: null, headers: await plane.signIn('ada'), body: {} };
  expect(await plane.ask('POST', `/acme/admin/approvals/${approvalId}/approve`, signedIn)).toMatchObject({
    status: 200,
    body: { states: [{ id: approvalId, state: 'approved' }] },
  });
});

test('several rules: each has its approvers, and the smallest times and uses hold', async () => {
  const rules = [
    ruleOf({ approvers: ['user:max'], pendingSeconds: 1_000, uses: 3 }),
    ruleOf({ approvers: ['user:ada'], validSeconds: 60, uses: 5 }, 'role:member'),
  ];
  const call = plane.call({ rules });
  const { approvalId, remainingMs } = await plane.pend(call);
  expect(remainingMs).toBeLessThanOrEqual(1_000_000);
  await plane.press(approvalId, 'approve', keys.max);
  expect(await plane.show(approvalId, keys.max)).toMatchObject({ state: 'pending', need: 1, uses: 3, approvals: [{ by: 'max' }] });
  await plane.press(approvalId, 'approve', keys.ada);
  const { approval } = await plane.link.claim(approvalId, 'r', call);
  expect(approval.state).toBe('approved');
  expect(approval.remainingMs).toBeLessThanOrEqual(60_000);
});

test('an approver who is removed between pressing and use no longer counts, also if the uid is made again', async () => {
  const zoe = await plane.keyOf('admin', ['admin.approvals'], 'zoe');
  const call = plane.call();
  const { approvalId } = await plane.pend(call);
  await plane.press(approvalId, 'approve', zoe);
  await plane.ask('DELETE', '/acme/admin/members/zoe');
  plane.clock.now = new Date(plane.clock.now.getTime() + 5);
  await plane.keyOf('admin', ['admin.approvals'], 'zoe');
  expect(await plane.link.claim(approvalId, 'r', call)).toMatchObject({ granted: false, approval: { state: 'cancelled' } });
  // The same call asks again, and is a new question.
  expect((await plane.pend(call)).approvalId).not.toBe(approvalId);
  // A lost role counts too.
  const lowered = plane.call();
  const second = await plane.pend(lowered);
  await plane.press(second.approvalId, 'approve', keys.ada);
  await plane.ask('PATCH', '/acme/admin/members/ada', { body: { role: 'member' } });
  expect(await plane.link.claim(second.approvalId, 'r', lowered)).toMatchObject({ granted: false });
  await plane.ask('PATCH', '/acme/admin/members/ada', { body: { role: 'admin' } });
});

test('hidden values are revealed before approving, by the same person, recorded, and erased at the end', async () => {
  const value = 'gh-\u202esecret';
  const hidden = [{ path: 'token', kind: 'secret', length: value.length, value: JSON.stringify(value) }];
  const { approvalId } = await plane.pend(plane.call(), { hidden, shownInput: '{"token":"[redacted:secret]","note":"a\u202eb\u200b"}' });
  const shown = await plane.show(approvalId);
  expect(shown).toMatchObject({ hidden: [{ path: 'token', kind: 'secret', length: value.length }], revealedBy: [] });
  expect(JSON.stringify(shown)).not.toContain('gh-');
  expect(shown['shownText']).toContain('a\\u202eb\\u200b');
  expect(errorOf(await plane.press(approvalId, 'approve', keys.adam))).toContain('1 values of the call are hidden');
  expect(await plane.press(approvalId, 'reveal', keys.ann)).toMatchObject({ status: 403 });
  const sealed = () => plane.pool.query<{ sealed: Buffer | null }>('select sealed from approval where id = $1', [approvalId]);
  expect((await sealed()).rows[0]?.sealed?.toString('latin1')).not.toContain('gh-');
  const answer = await plane.press(approvalId, 'reveal', keys.ada);
  expect(answer.body).toMatchObject({ hidden: [{ path: 'token', value, text: '"gh-\\u202esecret"' }] });
  expect(errorOf(await plane.press(approvalId, 'approve', keys.adam))).toContain('hidden');
  expect(await plane.press(approvalId, 'approve', keys.ada)).toMatchObject({ status: 200 });
  expect((await sealed()).rows[0]?.sealed).not.toBeNull();
  await plane.press(approvalId, 'cancel', plane.owner);
  expect((await sealed()).rows[0]?.sealed).toBeNull();
  expect(await plane.press(approvalId, 'reveal', keys.ada)).toMatchObject({ status: 409 });
  const { body } = await plane.ask('GET', '/acme/admin/events?limit=10');
  const { events } = body as { readonly events: readonly { action: string; target: string; sub: string }[] };
  expect(events.slice(0, 3).map(({ action, target, sub }) => `${action} ${target} ${sub}`)).toEqual([
    `approval.cancel approval/${approvalId} owner`,
    `approval.approve approval/${approvalId} ada`,
    `approval.reveal approval/${approvalId} ada`,
  ]);
});

test('parallel calls of one round are one question, answered as a whole or one by one', async () => {
  const call = plane.call();
  const inputs = [1, 2, 3, 4].map((amount) => ({ ...call, inputSha256: digestOf({ amount }) }));
  const pended = [];
  for (const one of inputs) pended.push((await plane.pend(one)).approvalId);
  const [first = '', second = '', third = '', fourth = ''] = pended;
  const { questionIds, question } = await plane.show(fourth);
  expect(questionIds).toEqual(pended);
  expect(question).toBe(first);
  const elsewhere = (await plane.pend(plane.call())).approvalId;
  expect(await plane.press(first, 'approve', keys.ada, { with: [elsewhere] })).toMatchObject({ status: 409 });
  expect(await plane.press(second, 'deny', keys.ada, { note: 'not this one' })).toMatchObject({ status: 200 });
  // One of them is no longer pending, so nothing of the whole is answered.
  expect(await plane.press(first, 'approve', keys.ada, { with: [second, third] })).toMatchObject({ status: 409 });
  expect(await plane.show(first)).toMatchObject({ state: 'pending' });
  expect(await plane.press(first, 'approve', keys.ada, { with: [third, fourth] })).toMatchObject({ status: 200 });
  for (const id of [first, third, fourth]) expect(await plane.show(id)).toMatchObject({ state: 'approved' });
  // A question that was begun to be answered is not joined any more; a round that is named is joined whenever it asks.
  expect(await plane.show((await plane.pend({ ...call, inputSha256: digestOf(5) })).approvalId)).not.toMatchObject({ question: first });
  const round = { roundId: 'round-1' };
  const a = (await plane.pend(plane.call({ sessionId: 'rounds' }), round)).approvalId;
  await plane.age(a, 60);
  const b = (await plane.pend(plane.call({ sessionId: 'rounds', inputSha256: digestOf(6) }), round)).approvalId;
  expect(await plane.show(b)).toMatchObject({ question: a });
});

test.each(['\u001b[2J', 'no\u202eyes', 'a\u2066b', 'a\rb'])('a note that a terminal would obey is refused: %j', async (note) => {
  const { approvalId } = await plane.pend(plane.call());
  for (const verb of ['approve', 'deny'])
    expect(await plane.press(approvalId, verb, keys.ada, { note })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('without control characters') },
    });
  expect(await plane.press(approvalId, 'deny', keys.ada, { note: 'first line\n\tsecond \u{1f468}\u200d\u{1f469}' })).toMatchObject({
    status: 200,
  });
});

test('a denial answers the same call for a time, and a denial for the session answers its rules', async () => {
  const call = plane.call();
  const { approvalId } = await plane.pend(call);
  const other = await plane.pend({ ...call, inputSha256: digestOf('other') });
  await plane.press(approvalId, 'deny', keys.ada, { note: 'too much' });
  expect(await plane.link.ask(askOf(call))).toMatchObject({
    kind: 'approval',
    isNew: false,
    approval: { approvalId, state: 'denied', by: 'ada', note: 'too much' },
  });
  await plane.age(approvalId, 901);
  expect(await plane.link.ask(askOf(call))).toMatchObject({ isNew: true });
  await plane.press(other.approvalId, 'deny', keys.ada, { session: true, note: 'stop' });
  // What waited in the session is denied with it, and so is what it asks later by the same rule, with other input.
  expect(await plane.link.ask(askOf({ ...call, inputSha256: digestOf('later') }))).toMatchObject({
    approval: { approvalId: other.approvalId, state: 'denied', note: 'stop' },
  });
  const { body } = await plane.ask('GET', `/acme/admin/approvals?session=${call.sessionId}&state=pending`);
  expect(body).toEqual({ approvals: [] });
  // Another rule, and another session, still ask.
  expect(await plane.link.ask(askOf({ ...call, rules: [ruleOf({ need: 2 })] }))).toMatchObject({ isNew: true });
  expect(await plane.link.ask(askOf({ ...call, sessionId: randomUUID() }))).toMatchObject({ isNew: true });
});

test('members see the approvals that they may answer and their own, owners and admins all', async () => {
  const mine = (await plane.pend(plane.call({ tool: 'seen' }))).approvalId;
  const named = (await plane.pend(plane.call({ tool: 'seen', originSub: 'adam', rules: [ruleOf({ approvers: ['user:max'] })] })))
    .approvalId;
  const idsOf = async (key: string, query = ''): Promise<readonly string[]> => {
    const { body } = await plane.ask('GET', `/acme/admin/approvals?tool=seen${query}`, { key });
    return (body as { readonly approvals: readonly { id: string }[] }).approvals.map(({ id }) => id);
  };
  expect(await idsOf(keys.ann)).toEqual([mine]);
  expect(await idsOf(keys.max)).toEqual([named]);
  expect(await idsOf(keys.ada)).toEqual([named, mine]);
  expect(await idsOf(keys.adam, '&mine=true')).toEqual([named]);
  expect(await plane.ask('GET', `/acme/admin/approvals/${mine}`, { key: keys.max })).toMatchObject({ status: 404 });
  expect(await plane.press(mine, 'cancel', keys.ada)).toMatchObject({ status: 200 });
  expect(await plane.press(named, 'cancel', keys.max)).toMatchObject({ status: 403 });
  expect(await plane.ask('GET', `/other/admin/approvals/${named}`, { key: plane.other })).toMatchObject({ status: 404 });
  const first = await plane.ask('GET', '/acme/admin/approvals?tool=seen&limit=1');
  expect(await idsOf(plane.owner, `&limit=1&cursor=${field(first, 'next')}`)).toEqual([mine]);
});

test('an own call can be cancelled by its person, and what is final stays so', async () => {
  const { approvalId } = await plane.pend(plane.call());
  expect(await plane.press(approvalId, 'cancel', keys.ann)).toMatchObject({ status: 200 });
  for (const verb of ['approve', 'deny', 'cancel'])
    expect(errorOf(await plane.press(approvalId, verb, keys.adam))).toContain('is already cancelled');
  expect(await plane.press('x'.repeat(20), 'approve', keys.adam)).toMatchObject({ status: 404 });
  expect(await plane.press("'; drop table approval", 'deny', keys.adam)).toMatchObject({ status: 404 });
});

test('changes are streamed, and only those that the caller may see', async () => {
  const open = async (key: string) => {
    const leaving = new AbortController();
    const answer = await fetch(`${plane.origin}/acme/admin/approvals/stream`, {
      headers: { authorization: `Bearer ${key}` },
      signal: leaving.signal,
    });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    /** Reads until the text matches. */
    const until = async (wanted: RegExp): Promise<string> => {
      while (!wanted.test(text)) text += (await reader?.read())?.value ?? '';
      return text;
    };
    return { until, close: () => leaving.abort() };
  };
  const [ofAdmin, ofMax] = await Promise.all([open(keys.ada), open(keys.max)]);
  await Promise.all([ofAdmin.until(/: listening/), ofMax.until(/: listening/)]);
  const hidden = (await plane.pend(plane.call())).approvalId;
  const named = (await plane.pend(plane.call({ rules: [ruleOf({ approvers: ['user:max'] })] }))).approvalId;
  expect(await ofMax.until(new RegExp(`event: approval\ndata: .*"id":"${named}"`))).not.toContain(hidden);
  await ofAdmin.until(new RegExp(`"id":"${hidden}".*"state":"pending"`));
  await plane.press(hidden, 'deny', keys.ada);
  const events = [...(await ofAdmin.until(new RegExp(`"id":"${hidden}".*"state":"denied".*\n`))).matchAll(/^event: (.*)\ndata: (.*)$/gm)];
  expect(events.length).toBeGreaterThan(1);
  for (const [, event = '', data = ''] of events)
    plane.document.checkEvent({ method: 'GET', url: '/acme/admin/approvals/stream' }, { event, id: null, data: JSON.parse(data) });
  ofAdmin.close();
  ofMax.close();
}, 60_000);

test('the member whose key asks for another person may not answer either', async () => {
  const asking = await issue('adam', ['govern', 'govern.impersonate']);
  const { approvalId } = await plane.pend(plane.call({ keyId: asking.id }));
  expect(errorOf(await plane.press(approvalId, 'approve', keys.adam))).toContain('asked for with a key of adam');
  const session = { key: null, headers: await plane.signIn('adam'), body: {} };
  expect(errorOf(await plane.ask('POST', `/acme/admin/approvals/${approvalId}/approve`, session))).toContain('with a key of adam');
  expect(await plane.press(approvalId, 'approve', keys.ada)).toMatchObject({ status: 200 });
  // Where only that member could answer, no one is asked.
  const alone = plane.call({ keyId: asking.id, rules: [ruleOf({ approvers: ['user:adam'] })] });
  expect(await plane.link.ask(askOf(alone))).toMatchObject({ code: 'approval_unanswerable' });
});

test('a key that starts runs can ask, so it does not confirm for its own person', async () => {
  const { approvalId } = await plane.pend(plane.call({ rules: [ruleOf({ approvers: ['subject'], self: true })] }));
  const starts = await issue('ann', ['admin.approvals', 'agents.write']);
  expect(errorOf(await plane.press(approvalId, 'approve', starts.key))).toContain('this key has the scope agents.write');
});

test('what a removed member has revealed is not revealed to a later member of the same uid', async () => {
  const first = await plane.keyOf('admin', ['admin.approvals'], 'eva');
  const hidden = [{ path: 'token', kind: 'secret', length: 3, value: '"abc"' }];
  const { approvalId } = await plane.pend(plane.call(), { hidden });
  expect(await plane.press(approvalId, 'reveal', first)).toMatchObject({ status: 200 });
  await plane.ask('DELETE', '/acme/admin/members/eva');
  plane.clock.now = new Date(plane.clock.now.getTime() + 5);
  const later = await plane.keyOf('admin', ['admin.approvals'], 'eva');
  expect(errorOf(await plane.press(approvalId, 'approve', later))).toContain('1 values of the call are hidden');
  expect(await plane.press(approvalId, 'reveal', later)).toMatchObject({ status: 200 });
  expect(await plane.press(approvalId, 'approve', later)).toMatchObject({ status: 200 });
});

test('a call of a session that asks while the session is denied is denied too', async () => {
  const { approvalId } = await plane.pend(plane.call());
  // The transaction of an ask of the same session, which has found no denial and is not committed yet.
  const asking = await plane.pool.connect();
  await asking.query('begin');
  await asking.query('select pg_advisory_xact_lock(7605533, hashtext($1))', [`${plane.workspaceId} ann`]);
  await asking.query(
    `insert into approval select (jsonb_populate_record(a, '{"id": "meanwhile", "call_hmac": "\\\\x00"}'::jsonb)).* from approval a where id = $1`,
    [approvalId],
  );
  const denying = plane.press(approvalId, 'deny', keys.ada, { session: true });
  let isAnswered = false;
  void denying.then(() => (isAnswered = true));
  await expect
    .poll(async () => {
      const { rows } = await plane.pool.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'",
      );
      return isAnswered || rows.length > 0;
    })
    .toBe(true);
  await asking.query('commit');
  asking.release();
  expect(await denying).toMatchObject({ status: 200 });
  expect(await plane.show('meanwhile')).toMatchObject({ state: 'denied' });
});
