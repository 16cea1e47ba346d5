// Channels: messages about approvals, from the step to a receiver on loopback. A real database, real HTTP, and the worker of
// jobs as in the program.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createReach } from '../../../control-plane/runs/mcp/reach.ts';
import { createWorkspace } from '../../../control-plane/workspaces/operations/create-workspace.ts';
import { beginDelivery, type DeliverDeps } from '../../../control-plane/channels/operations/deliver.ts';
import { expireDue } from '../../../control-plane/approvals/operations/expire.ts';
import { retrySeconds } from '../../../control-plane/channels/rules/channel.ts';
import { addJob, jobsSchema, type MessageRef } from '../../../control-plane/channels/store/messages.ts';
import { ruleOf } from '../../support/approvals.ts';
import { exitOf, startSource } from '../../support/source-process.ts';
import { errorOf, field } from '../rest.ts';
import { type ApprovalPlane, createApprovalPlane } from '../approvals/plane.ts';
import { dataOf, type Delivery, idOf, isSignedWith, startReceiver } from './receiver.ts';

const allowing = createReach({ allowPrivate: true, commands: [] }, {});
const list = '/acme/admin/approvalChannels';

let plane: ApprovalPlane;
let admin: string;
beforeAll(async () => {
  plane = await createApprovalPlane({ reach: allowing });
  await plane.keyOf('member', ['admin.approvals'], 'ann');
  admin = await plane.keyOf('admin', ['admin.approvals'], 'adam');
});
afterAll(() => plane.close());

let count = 0;
/** A channel of its own for a test, with its receiver. Rules name it. */
async function open(by: Pick<ApprovalPlane, 'ask'> = plane, more: object = {}) {
  const receiver = await startReceiver();
  const name = `channel-${(count += 1)}`;
  const secret = field(await by.ask('PUT', `${list}/${name}`, { body: { url: `${receiver.origin}/hook`, ...more } }), 'secret');
  onTestFinished(async () => {
    await by.ask('DELETE', `${list}/${name}`);
    await receiver.close();
  });
  return { ...receiver, name, secret, receiver, rules: [ruleOf({ channels: [name], reason: 'large\u202e sum' })] };
}

/** As if a day had passed for all messages, and the time of every attempt in progress was over. Then lost jobs are added. */
async function later(by: Pick<ApprovalPlane, 'pool' | 'deliveries'> = plane): Promise<void> {
  await by.pool.query(
    `update approval_message set next_at = next_at - interval '1 day', leased_until = leased_until - interval '1 day' where state = 'waiting'`,
  );
  await by.deliveries.recover();
}

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly problem: string | null;
}
async function messagesOf(channel: string, state?: string): Promise<readonly Listed[]> {
  const filter = state === undefined ? '' : `&state=${state}`;
  const { body } = await plane.ask('GET', `/acme/admin/approvalMessages?channel=${channel}${filter}`);
  return (body as { messages: readonly Listed[] }).messages;
}
/** The attempts of the messages of a channel, and whether the last one has ended. */
async function attemptsOf(channel: string): Promise<readonly object[]> {
  const { rows } = await plane.pool.query<object>(
    'select attempts, problem, leased_until is null as ended from approval_message where channel = $1',
    [channel],
  );
  return rows;
}
const eventually = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: 20_000, interval: 20 });

test('a person is asked and answers: two signed messages, which name the call and contain nothing of its input', async () => {
  const channel = await open();
  const call = plane.call({ rules: channel.rules, agents: ['root', 'evil\nagent'] });
  const { approvalId } = await plane.pend(call, { shownInput: '{"iban":"DE02120300000000202051"}' });
  const asked = await channel.next();
  expect(isSignedWith(channel.secret, asked)).toBe(true);
  expect(isSignedWith(channel.secret, { ...asked, body: `${asked.body} ` })).toBe(false);
  expect(idOf(asked)).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(dataOf(asked)).toEqual({
    type: 'approval.asked',
    timestamp: expect.any(String),
    data: {
      workspace: 'acme',
      approval: approvalId,
      question: approvalId,
      state: 'pending',
      tool: 'pay',
      agent: String.raw`evil\nagent`,
      sub: 'ann',
      why: String.raw`workspace tools["pay"].api asks: large\u202e sum`,
      need: 1,
      expiresAt: expect.any(String),
      command: `tollgate approvals show ${approvalId}`,
    },
  });
  expect(asked.body).not.toContain('DE02');
  await plane.press(approvalId, 'approve', admin, { note: 'secret note' });
  const ended = await channel.next();
  expect(dataOf(ended)).toMatchObject({ type: 'approval.approved', data: { approval: approvalId, state: 'approved', by: 'adam' } });
  expect(ended.body).not.toContain('secret note');
  expect(idOf(ended)).not.toBe(idOf(asked));
  await eventually(() => messagesOf(channel.name, 'sent')).toHaveLength(2);
  expect(JSON.stringify((await plane.ask('GET', list)).body)).not.toContain('whsec_');
  const { rows } = await plane.pool.query<{ secret: Buffer }>('select secret from approval_channel where name = $1', [channel.name]);
  expect(rows[0]?.secret.includes(Buffer.from(channel.secret.slice('whsec_'.length), 'base64'))).toBe(false);
  expect(rows[0]?.secret.toString('latin1')).not.toContain(channel.secret.slice('whsec_'.length, -4));
});

test('every end of a question is told once: denied, cancelled, expired', async () => {
  const channel = await open();
  for (const [end, how] of [
    ['denied', (id: string) => plane.press(id, 'deny', admin)],
    ['cancelled', (id: string) => plane.press(id, 'cancel', admin)],
    ['expired', (id: string) => plane.age(id, 90_000).then(() => expireDue(plane.deps))],
  ] as const) {
    const { approvalId } = await plane.pend(plane.call({ rules: channel.rules }));
    expect(dataOf(await channel.next()).type).toBe('approval.asked');
    await how(approvalId);
    expect(dataOf(await channel.next())).toMatchObject({ type: `approval.${end}`, data: { approval: approvalId } });
  }
});

test('a receiver that fails gets the same message again, with the same id and a new time, and at last it is in the list of failed ones', async () => {
  const channel = await open();
  channel.receiver.replies.push(...retrySeconds.map(() => ({ status: 500 })), {
    status: 302,
    headers: { location: 'http://127.0.0.1:1/' },
  });
  await plane.pend(plane.call({ rules: channel.rules }));
  const seen: Delivery[] = [await channel.next()];
  for (let attempt = 1; attempt <= retrySeconds.length; attempt += 1) {
    await eventually(() => attemptsOf(channel.name)).toEqual([{ attempts: attempt, problem: 'it answered with status 500', ended: true }]);
    await later();
    seen.push(await channel.next());
  }
  expect(new Set(seen.map(idOf)).size).toBe(1);
  expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
  expect(seen.every((delivery) => isSignedWith(channel.secret, delivery))).toBe(true);
  await eventually(() => messagesOf(channel.name, 'failed')).toMatchObject([
    { attempts: seen.length, problem: 'it answered with a redirect (302), and redirects are not followed' },
  ]);
  await later();
  const [failed] = await messagesOf(channel.name, 'failed');
  expect(channel.deliveries).toHaveLength(seen.length);
  expect(await plane.ask('POST', `/acme/admin/approvalMessages/${failed?.id}/retry`)).toMatchObject({ status: 200 });
  expect(idOf(await channel.next())).toBe(failed?.id);
  await eventually(() => messagesOf(channel.name)).toMatchObject([{ state: 'sent', attempts: 1 }]);
  expect(await plane.ask('POST', '/acme/admin/approvalMessages/msg_none/retry')).toMatchObject({ status: 404 });
}, 60_000);

test.each([
  ['longer than the planned delay', '90', 90, 90],
  ['as a date', 'Thu, 01 Jan 2099 00:00:00 GMT', 3_600, 3_600],
  ['longer than an hour', '999999999', 3_600, 3_600],
  ['shorter than the planned delay', '1', 5, 5],
  ['as a date that has passed', 'Thu, 01 Jan 2015 00:00:00 GMT', 5, 5],
  ['as something else', 'soon', 5, 5],
])(
  'Retry-After %s: the next attempt is as late as it says, but not earlier than planned and at most an hour later',
  async (_, value, least, most) => {
    const channel = await open();
    channel.receiver.replies.push({ status: 503, headers: { 'retry-after': value } });
    await plane.pend(plane.call({ rules: channel.rules }));
    await channel.next();
    await eventually(() => attemptsOf(channel.name)).toEqual([{ attempts: 1, problem: 'it answered with status 503', ended: true }]);
    // The attempt was recorded after the message was due, and before now.
    const { rows } = await plane.pool.query(
      `select next_at >= due_at + make_interval(secs => $2) as late_enough, next_at <= clock_timestamp() + make_interval(secs => $3) as soon_enough
     from approval_message where channel = $1`,
      [channel.name, least, most],
    );
    expect(rows).toEqual([{ late_enough: true, soon_enough: true }]);
  },
);

test('a receiver that is gone (410) gets no further attempt', async () => {
  const channel = await open();
  channel.receiver.replies.push({ status: 410 });
  await plane.pend(plane.call({ rules: channel.rules }));
  await channel.next();
  await eventually(() => messagesOf(channel.name)).toMatchObject([{ state: 'failed', attempts: 1 }]);
});

test('rotation: both secrets sign for a time, and then only the new one; a leaked one stops at once', async () => {
  const channel = await open();
  const press = async (body: object) => field(await plane.ask('POST', `${list}/${channel.name}/rotate`, { body }), 'secret');
  const second = await press({});
  expect(await plane.ask('POST', `${list}/${channel.name}/test`)).toMatchObject({ status: 200 });
  const both = await channel.next();
  expect(dataOf(both)).toMatchObject({ type: 'approval.test', data: { channel: channel.name } });
  expect([channel.secret, second].map((secret) => isSignedWith(secret, both))).toEqual([true, true]);
  await plane.pool.query(`update approval_channel set old_secret_until = now() where name = $1`, [channel.name]);
  await plane.ask('POST', `${list}/${channel.name}/test`);
  const later = await channel.next();
  expect([channel.secret, second].map((secret) => isSignedWith(secret, later))).toEqual([false, true]);
  const third = await press({ keepSeconds: 0 });
  await plane.ask('POST', `${list}/${channel.name}/test`);
  const last = await channel.next();
  expect([second, third].map((secret) => isSignedWith(secret, last))).toEqual([false, true]);
});

test('past five asks in ten minutes a channel gets one digest, and no message about the end of what only the digest named', async () => {
  const channel = await open();
  const ids: string[] = [];
  for (let one = 0; one < 8; one += 1) ids.push((await plane.pend(plane.call({ rules: channel.rules }))).approvalId);
  const asked: string[] = [];
  for (let one = 0; one < 5; one += 1) asked.push(String(dataOf(await channel.next()).data['approval']));
  expect(asked.toSorted()).toEqual(ids.slice(0, 5).toSorted());
  expect(await messagesOf(channel.name, 'waiting')).toMatchObject([{ kind: 'digest', attempts: 0 }]);
  await plane.press(ids[7] ?? '', 'deny', admin);
  await later();
  const digest = dataOf(await channel.next());
  expect(digest).toMatchObject({
    type: 'approval.digest',
    data: { count: 3, approvals: ids.slice(5), command: 'tollgate approvals list' },
  });
  await eventually(() => messagesOf(channel.name, 'waiting')).toEqual([]);
  // What comes next waits for the next digest, which is not sent within ten minutes of the first.
  await plane.pend(plane.call({ rules: channel.rules }));
  const { rows } = await plane.pool.query<{ later: boolean }>(
    `select max(due_at) - min(due_at) >= interval '10 minutes' as later from approval_message where channel = $1 and kind = 'digest'`,
    [channel.name],
  );
  expect(rows).toEqual([{ later: true }]);
  expect(channel.deliveries).toHaveLength(6);
});

test('the channels of the rules are told; the default channels are, where a rule names none that exists', async () => {
  const [usual, own] = [await open(plane, { default: true }), await open()];
  const told = async (channels: readonly string[] | undefined) => {
    const { approvalId } = await plane.pend(plane.call({ rules: [ruleOf(channels === undefined ? {} : { channels })] }));
    const { rows } = await plane.pool.query<{ channel: string }>(
      `select channel from approval_message where approval_id = $1 order by channel`,
      [approvalId],
    );
    return rows.map(({ channel }) => channel);
  };
  expect(await told(undefined)).toEqual([usual.name]);
  expect(await told([own.name])).toEqual([own.name]);
  expect(await told([own.name, 'gone'])).toEqual([own.name]);
  expect(await told(['gone'])).toEqual([usual.name]);
});

test('a rule may name a channel, and a write that names one that does not exist warns', async () => {
  const channel = await open();
  const put = (channels: readonly string[]) =>
    plane.ask('PUT', '/acme/admin/workspacePolicy', {
      body: { tools: { pay: { api: { permission: 'ask', ask: { channels } } } } },
    });
  const wrong = await put([channel.name, 'gone']);
  expect(wrong.status).toBe(200);
  expect(JSON.stringify(wrong.body)).toContain('names the channel gone, and there is no such channel');
  const right = await put([channel.name]);
  expect(right.status).toBe(200);
  expect(JSON.stringify(right.body)).not.toContain('no such channel');
  expect(errorOf(await put(['No Name']))).toContain('channels[0]');
  expect(errorOf(await put([]))).toContain('at least one channel');
});

test('a long text is cut at a whole character, because many readers of JSON refuse half of one', async () => {
  const channel = await open();
  for (const before of ['', 'a']) {
    const rules = [1, 2, 3, 4].map((at) =>
      ruleOf({ channels: [channel.name], reason: before + '\u{1f600}'.repeat(140) }, 'workspace', `${at}`),
    );
    await plane.pend(plane.call({ rules }));
    const { body } = await channel.next();
    expect(body).toContain('…');
    expect(body).not.toMatch(/\\ud[89a-f]/i);
  }
});

test('an address that changes leaves the channel a default one, if the request does not say otherwise', async () => {
  const channel = await open(plane, { default: true });
  const put = async (body: object): Promise<unknown> => {
    await plane.ask('PUT', `${list}/${channel.name}`, { body: { url: `${channel.origin}/moved`, ...body } });
    const { channels } = (await plane.ask('GET', list)).body as { readonly channels: readonly { name: string; default: boolean }[] };
    return channels.find(({ name }) => name === channel.name)?.default;
  };
  expect(await put({})).toBe(true);
  expect(await put({ default: false })).toBe(false);
  expect(await put({})).toBe(false);
});

/** Stores messages to a channel that are due now. They have no job. */
async function storeDue(
  by: Pick<ApprovalPlane, 'pool'>,
  workspaceId: number,
  channel: string,
  many: number,
): Promise<readonly MessageRef[]> {
  const { rows } = await by.pool.query<{ id: string }>(
    `insert into approval_message (workspace_id, id, channel, kind, approval_id, body, state, created_at, due_at, next_at)
     select $1, 'msg_' || md5($2 || at), $2, 'asked', 'a', '{}', 'waiting', now(), now(), now() from generate_series(1, $3) as at returning id`,
    [workspaceId, channel, many],
  );
  return rows.map(({ id }) => ({ workspaceId, id }));
}

test('a workspace makes at most four attempts at the same time, and those that found it crowded follow when one ends', async () => {
  const quiet = await createApprovalPlane({ reach: allowing });
  onTestFinished(() => quiet.close());
  const channel = await open(quiet);
  // Nothing sends from here on.
  await quiet.deliveries.close();
  const refs = await storeDue(quiet, quiet.workspaceId, channel.name, 12);
  const { approvals, reach, pool } = quiet.deps;
  const deps = { pool, keys: approvals.keys, rules: reach, chance: () => 0, ended: () => undefined };
  const begun = (await Promise.all(refs.map((ref) => beginDelivery(deps, ref)))).filter((delivery) => delivery !== null);
  expect(begun).toHaveLength(4);
  const jobs = async () => (await pool.query(`select count(*)::int as count from ${jobsSchema}.jobs`)).rows;
  expect(await jobs()).toEqual([{ count: 0 }]);
  await begun[0]?.(new AbortController().signal);
  expect(channel.deliveries).toHaveLength(1);
  expect(await jobs()).toEqual([{ count: 4 }]);
}, 60_000);

test('receivers of several workspaces that do not answer delay no other workspace', async () => {
  for (const slug of ['slow-1', 'slow-2', 'slow-3']) {
    const { key } = await createWorkspace(plane.deps, { slug, owner: { uid: 'owner', email: `owner@${slug}.test` } });
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    receiver.replies.push(...Array.from({ length: 4 }, () => null));
    await plane.ask('PUT', `/${slug}/admin/approvalChannels/slow`, { key, body: { url: receiver.origin } });
    const { rows } = await plane.pool.query<{ id: string }>('select id from workspace where slug = $1', [slug]);
    for (const ref of await storeDue(plane, Number(rows[0]?.id), 'slow', 4)) await addJob(plane.pool, ref);
  }
  const inProgress = `select count(*)::int as count from approval_message where channel = 'slow' and leased_until > now()`;
  await eventually(async () => (await plane.pool.query(inProgress)).rows).toEqual([{ count: 12 }]);
  const channel = await open();
  await plane.pend(plane.call({ rules: channel.rules }));
  await channel.next();
  expect((await plane.pool.query(inProgress)).rows).toEqual([{ count: 12 }]);
}, 60_000);

test('a control plane that is killed between the commit and the delivery, or during it: the next one sends, with the same id', async () => {
  const killed = await createApprovalPlane({ reach: allowing });
  onTestFinished(() => killed.close());
  await killed.keyOf('member', ['admin.approvals'], 'ann');
  await killed.keyOf('admin', ['admin.approvals'], 'adam');
  const channel = await open(killed);
  // Nothing sends from here on.
  await killed.deliveries.close();
  await killed.pend(killed.call({ rules: channel.rules }));
  expect(channel.deliveries).toEqual([]);
  // The next process begins the attempt. The receiver hears it, and the process is killed before it is answered.
  channel.receiver.replies.push(null);
  const { host, port, user, password, database } = killed.pool.options;
  const child = startSource('send-until-killed.ts', JSON.stringify({ host, port, user, password, database, max: 3 }));
  const first = await channel.next();
  child.kill('SIGKILL');
  await exitOf(child);
  const { rows } = await killed.pool.query(`select leased_until > now() as leased, attempts from approval_message where state = 'waiting'`);
  expect(rows).toEqual([{ leased: true, attempts: 1 }]);
  const third = killed.openDeliveries();
  await third.start();
  await later({ ...killed, deliveries: third });
  const again = await channel.next();
  expect({ id: idOf(again), body: again.body }).toEqual({ id: idOf(first), body: first.body });
  await eventually(async () => (await killed.pool.query(`select state from approval_message`)).rows).toEqual([{ state: 'sent' }]);
  await third.removeOld();
  await third.close();
}, 60_000);

test('two control planes that live send each message once: an attempt belongs to the one that began it', async () => {
  const two = await createApprovalPlane({ reach: allowing });
  onTestFinished(() => two.close());
  await two.keyOf('member', ['admin.approvals'], 'ann');
  const answering = await two.keyOf('admin', ['admin.approvals'], 'adam');
  const channel = await open(two);
  const ids = async (): Promise<readonly MessageRef[]> => {
    const { rows } = await two.pool.query<{ id: string }>(`select id from approval_message where state = 'waiting' order by id`);
    return rows.map(({ id }) => ({ workspaceId: two.workspaceId, id }));
  };
  const ended: string[] = [];
  const sender: DeliverDeps = {
    pool: two.pool,
    keys: two.deps.approvals.keys,
    rules: allowing,
    chance: () => 0,
    ended: (result) => void ended.push(result),
  };
  const attempt = async (ref: MessageRef) => (await beginDelivery(sender, ref))?.(new AbortController().signal);

  // No worker runs, so that the senders meet at the same message: several begin at the same time, and one comes while the
  // receiver has not answered yet.
  await two.deliveries.close();
  const asked = [];
  for (let one = 0; one < 3; one += 1) asked.push(await two.pend(two.call({ rules: channel.rules })));
  for (const ref of await ids()) {
    let answer: (reply: { readonly status: number }) => void = () => undefined;
    channel.receiver.replies.push(
      new Promise((resolve) => {
        answer = resolve;
      }),
    );
    const racing = Promise.all([attempt(ref), attempt(ref), attempt(ref)]);
    expect(idOf(await channel.next())).toBe(ref.id);
    await attempt(ref);
    answer({ status: 204 });
    await racing;
    await attempt(ref);
  }
  expect(channel.deliveries).toHaveLength(asked.length);
  expect(ended).toEqual(asked.map(() => 'sent'));

  // The workers of two control planes take the jobs of the answers.
  const replicas = [two.openDeliveries(), two.openDeliveries()];
  await Promise.all(replicas.map((replica) => replica.start()));
  await Promise.all(asked.map(({ approvalId }) => two.press(approvalId, 'deny', answering)));
  await expect.poll(ids, { timeout: 20_000, interval: 20 }).toEqual([]);
  await Promise.all(replicas.map((replica) => replica.close()));
  expect(channel.deliveries).toHaveLength(2 * asked.length);
  expect(new Set(channel.deliveries.map(idOf)).size).toBe(2 * asked.length);
}, 60_000);

test('addresses that are not public are refused: as a URL, as a name, and if the operator allows them no longer', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const strict = createReach({ allowPrivate: false, commands: [] }, {});
  const guarded = await createApprovalPlane({ reach: { ...strict, resolve: async () => [{ address: '127.0.0.1', family: 4 }] } });
  onTestFinished(() => guarded.close());
  const put = (url: string) => guarded.ask('PUT', `${list}/one`, { body: { url } });
  for (const [url, why] of [
    [receiver.origin, 'must begin with https://'],
    ['https://127.0.0.1/', 'must be at a public address'],
    ['https://[::1]/', 'must be at a public address'],
    ['https://169.254.169.254/latest', 'must be at a public address'],
    ['https://ann:secret@example.com/', 'must hold no credentials'],
    ['ftp://example.com/', 'must begin with https://'],
  ] as const)
    expect(errorOf(await put(url))).toContain(why);
  await put('https://internal.example/');
  const tried = await guarded.ask('POST', `${list}/one/test`);
  expect(tried.status).toBe(502);
  expect(errorOf(tried)).toContain('is not at a public address');
  // It was added while the operator allowed it.
  await guarded.pool.query('update approval_channel set url = $1', [`${receiver.origin}/`]);
  expect(errorOf(await guarded.ask('POST', `${list}/one/test`))).toContain('must begin with https://');
  expect(receiver.deliveries).toEqual([]);
}, 60_000);

test('a filter that the database cannot take is refused', async () => {
  for (const query of [
    'approvals?tool=%00',
    'approvals?agent=%00',
    'approvals?sub=a%00',
    'approvals?session=%00',
    'approvalMessages?channel=%00',
  ])
    expect(await plane.ask('GET', `/acme/admin/${query}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('must be text without NUL') },
    });
});

test('only owners and admins see and change channels, within a bound', async () => {
  const ann = await plane.keyOf('member', ['*'], 'max');
  for (const [method, path, body] of [
    ['GET', list, undefined],
    ['PUT', `${list}/x`, { url: 'https://example.com/' }],
    ['POST', `${list}/x/rotate`, {}],
    ['GET', '/acme/admin/approvalMessages', undefined],
  ] as const)
    expect(await plane.ask(method, path, { key: ann, ...(body === undefined ? {} : { body }) })).toMatchObject({ status: 403 });
  const { length } = ((await plane.ask('GET', list)).body as { channels: readonly unknown[] }).channels;
  const add = (at: number) => plane.ask('PUT', `${list}/full-${at}`, { body: { url: 'https://example.com/' } });
  for (let at = length; at < 20; at += 1) expect(await add(at)).toMatchObject({ status: 200 });
  expect(await add(20)).toMatchObject({ status: 409 });
  for (let at = length; at < 20; at += 1) expect(await plane.ask('DELETE', `${list}/full-${at}`)).toMatchObject({ status: 200 });
  expect(await plane.ask('DELETE', `${list}/full-1`)).toMatchObject({ status: 404 });
  expect(await plane.ask('POST', `${list}/none/test`)).toMatchObject({ status: 404 });
});
