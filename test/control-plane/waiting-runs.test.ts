// Runs that wait for a person, on a real PostgreSQL, with the books of two control planes.
import { randomBytes } from 'node:crypto';
import { AppError } from '@tollgate/proto/contract';
import type { Pool, PoolClient } from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSeats } from '../../control-plane/base/turns.ts';
import { createConversation } from '../../control-plane/runs/conversation.ts';
import { endAbandonedRuns } from '../../control-plane/runs/operations/liveness/end-abandoned-runs.ts';
import { createRunBooks } from '../../control-plane/runs/operations/books/run-books.ts';
import { startResuming } from '../../control-plane/runs/operations/waiting/resume-waiting.ts';
import { findHalts } from '../../control-plane/runs/store/run-instances.ts';
import type { RunRef } from '../../control-plane/runs/rules/run.ts';
import { RunStopped } from '../../control-plane/runs/stopped.ts';
import { requestCancel } from '../../control-plane/runs/store/runs.ts';
import { countWaitingRuns, type DueRun, listDue } from '../../control-plane/runs/store/waiting-runs.ts';
import { type StoredRun, storedBytesMax, storedWriter, type Wait, type WaitOutcome } from '../../control-plane/runs/waiting.ts';
import { renewEpoch } from '../../control-plane/database/operations/renew-epoch.ts';
import { makeId } from '../../control-plane/access/rules/key.ts';
import { askOf, callOf, digestOf } from '../support/approvals.ts';
import { type Books, cent, completed, createBooks } from '../support/run-books.ts';
import { noApprovals } from '../support/no-approvals.ts';
import { silentLog } from '../support/silent-log.ts';

let books: Books;
beforeEach(async () => {
  books = await createBooks();
  await books.pool.query("insert into deployment (epoch, owner_key_hash, created_at) values ('e1', '', now())");
  await addMembers(books.workspaceId);
});
afterEach(() => books.close());

/** A member, and an admin that may answer. */
async function addMembers(workspaceId: number): Promise<void> {
  for (const [uid, role] of [
    ['ann', 'member'],
    ['bob', 'admin'],
  ])
    await books.pool.query('insert into member (workspace_id, uid, email, role, created_at) values ($1, $2, $2, $3, now())', [
      workspaceId,
      uid,
      role,
    ]);
}

const progress = { rounds: 1, toolCalls: 1, promptTokens: 10, completionTokens: 20 };

function storedRun(amounts: readonly number[], more: Partial<StoredRun> = {}): StoredRun {
  return {
    agentId: 'agent',
    caller: { credential: { kind: 'session', hash: 'h', expiresAt: null }, keyId: 'session:1', sub: 'ann', uid: 'ann', role: 'member' },
    tier: 'api',
    client: 'tollgate',
    model: 'demo/echo',
    system: 'be good',
    activeMs: 1_234,
    used: { toolCalls: 1, toolRounds: 1, spentCents: 2.5, stopped: null, allowed: 1, rounds: 1, highestMark: 3 },
    conversation: createConversation().save(),
    round: 1,
    seen: ['call-1'],
    after: null,
    calls: amounts.map((amount) => ({
      callId: `call-${amount}`,
      alias: 'pay',
      tool: 'pay',
      input: { amount },
      askDigest: 'd',
      isCounted: false,
    })),
    ...more,
  };
}

/** A wait for one approval for each amount. */
function waitFor({ id }: RunRef, amounts: readonly number[], more: Partial<StoredRun> = {}): Wait {
  const call = (amount: number) => callOf({ keyId: 'session:1', originSub: 'ann', sessionId: id, inputSha256: digestOf({ amount }) });
  const asks = amounts.map((amount) => askOf(call(amount), { shownInput: JSON.stringify({ amount }), roundId: `${id}-1` }));
  return { asks, write: storedWriter(storedRun(amounts, more)), isRead: false, progress, transcript: [{ role: 'user', text: 'pay' }] };
}

function idsOf(outcome: WaitOutcome): readonly string[] {
  if (outcome.kind !== 'waits') throw new Error(`the run does not wait: ${JSON.stringify(outcome)}`);
  return outcome.answers.map((answer) => (answer.kind === 'approval' ? answer.approval.approvalId : ''));
}

const setState = (id: string, state: string) =>
  books.pool.query(
    `update approval set state = $2, changed_at = now(), due_at = case when $2 = 'approved' then now() + interval '1 hour' end,
       answered_at = now(), answered_by = 'bob' where id = $1`,
    [id, state],
  );

const dueAt = (instance = 'plane-0'): Promise<readonly DueRun[]> => listDue(books.pool, instance, 15_000, 10);

/** A run that waits for one approval, which was approved. */
async function approvedRun(): Promise<{ readonly run: RunRef; readonly due: DueRun }> {
  const run = await books.begin();
  const [id = ''] = idsOf(await books.one.records.wait(run, waitFor(run, [1])));
  await setState(id, 'approved');
  const [due] = await dueAt();
  return { run, due: due ?? expect.fail('the run is not due') };
}

const statusOf = async (run: RunRef): Promise<string | undefined> => (await books.row(run))?.status;

test('the run and its questions are stored in one transaction: if the run has ended, no one is asked', async () => {
  const run = await books.begin();
  await books.two.records.end(run, completed);
  await expect(books.one.records.wait(run, waitFor(run, [1, 2]))).rejects.toThrow(RunStopped);
  expect((await books.pool.query('select 1 from approval')).rowCount).toBe(0);
  expect((await books.pool.query('select 1 from run_wait')).rowCount).toBe(0);
});

test('calls of one round are one question, and the stored run has their approvals and exact counts', async () => {
  const run = await books.begin();
  const ids = idsOf(await books.one.records.wait(run, waitFor(run, [1, 2, 1])));
  expect(ids[2]).toBe(ids[0]);
  const { rows } = await books.pool.query<{ question_id: string }>('select distinct question_id from approval');
  expect(rows).toHaveLength(1);
  expect(await statusOf(run)).toBe('waiting');
  expect(await countWaitingRuns(books.pool)).toBe(1);
  expect(books.one.holds(run)).toBe(false);
  await setState(ids[1] ?? '', 'denied');
  const [due] = await dueAt();
  const taken = await books.two.take(due ?? expect.fail('the run is not due'));
  expect(taken?.stored).toMatchObject({ activeMs: 1_234, used: { toolCalls: 1, spentCents: 2.5, highestMark: 3 }, seen: ['call-1'] });
  // The third call met the approval of the first, so it was no attempt.
  expect(taken?.answers.map((one) => [one?.approval.state, one?.isCounted])).toEqual([
    ['pending', true],
    ['denied', true],
    ['pending', false],
  ]);
});

test('what is stored is sealed: the conversation is not in the database', async () => {
  const run = await books.begin();
  const conversation = createConversation();
  conversation.say({ role: 'user', text: 'the secret word' });
  await books.one.records.wait(run, waitFor(run, [1], { conversation: conversation.save() }));
  const { rows } = await books.pool.query<{ sealed: Buffer }>('select sealed from run_wait');
  expect(rows[0]?.sealed.includes('secret word')).toBe(false);
});

test('the money of open reservations is settled when the run waits', async () => {
  const run = await books.begin();
  const reserved = await books.one.money.reserve(run, { least: 1, enough: 1, most: 3 * cent });
  if (reserved.kind !== 'granted') throw new Error('not granted');
  await books.one.records.wait(run, waitFor(run, [1]));
  expect(await books.row(run)).toMatchObject({ status: 'waiting', reserved: 0, spent: reserved.amount });
  expect(await books.day()).toEqual({ settled: reserved.amount, reserved: 0 });
});

test('of two control planes that resume a run at the same time, exactly one gets it', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { run, due } = await approvedRun();
    const taken = await Promise.all([books.one.take(due), books.two.take(due)]);
    expect(taken.filter((one) => one !== null)).toHaveLength(1);
    expect(books.one.holds(run)).toBe(!books.two.holds(run));
    await (taken[0] === null ? books.two : books.one).records.end(run, completed);
  }
});

test('a control plane that was thought dead writes nothing of a run that another one has resumed', async () => {
  const { run, due } = await approvedRun();
  expect(await books.one.take(due)).not.toBeNull();
  await books.silence('plane-0', 60_000);
  // It has done nothing since it was resumed, so it waits again.
  await endAbandonedRuns({ ...books.deps, log: silentLog });
  expect(await statusOf(run)).toBe('waiting');
  const [again] = await dueAt('plane-1');
  expect(await books.two.take(again ?? expect.fail('the run is not due'))).not.toBeNull();

  await expect(books.one.records.markContinued(run)).rejects.toThrow(RunStopped);
  await expect(books.one.records.wait(run, waitFor(run, [2]))).rejects.toThrow(RunStopped);
  expect(await books.one.money.reserve(run, { least: 1, enough: 1, most: cent })).toEqual({ kind: 'ended' });
  books.one.records.update(run, { ...progress, rounds: 9, transcript: [] });
  expect(await books.one.records.begin(books.newRun({ parentRunId: run.id }))).toBe(false);
  expect(await books.one.records.end(run, completed)).toBeNull();
  expect(await findHalts(books.pool, 'plane-0', [run])).toMatchObject([{ why: 'ended' }]);
  expect(await findHalts(books.pool, 'plane-1', [run])).toEqual([]);

  expect(await statusOf(run)).toBe('running');
  await books.two.records.markContinued(run);
  expect(await books.two.money.reserve(run, { least: 1, enough: 1, most: cent })).toMatchObject({ kind: 'granted' });
  expect(await books.two.records.end(run, completed)).not.toBeNull();
});

test('a run that has continued after its wait is not resumed a second time when its control plane dies: it fails', async () => {
  const { run, due } = await approvedRun();
  await books.one.take(due);
  await books.one.records.markContinued(run);
  await books.silence('plane-0', 60_000);
  expect(await endAbandonedRuns({ ...books.deps, log: silentLog })).toBe(1);
  expect(await books.row(run)).toMatchObject({ status: 'failed', error: 'the control plane of the run ended unexpectedly' });
});

test('a cancel ends a waiting run, and cancels what it waits for', async () => {
  const run = await books.begin();
  const [id = ''] = idsOf(await books.one.records.wait(run, waitFor(run, [1])));
  expect(await dueAt()).toEqual([]);
  await requestCancel(books.pool, run.workspaceId, run.id, new Date());
  const [due] = await dueAt();
  expect(await books.two.take(due ?? expect.fail('the run is not due'))).toBeNull();
  expect(await statusOf(run)).toBe('cancelled');
  const { rows } = await books.pool.query('select state, note from approval where id = $1', [id]);
  expect(rows).toEqual([{ state: 'cancelled', note: 'the run that asked has ended' }]);
});

test('a run is due when time has ended its question, when its approval is gone, and when its workspace is frozen', async () => {
  const run = await books.begin();
  const [id = ''] = idsOf(await books.one.records.wait(run, waitFor(run, [1])));
  const expectDue = async (is: boolean): Promise<void> => expect((await dueAt()).length).toBe(is ? 1 : 0);
  await expectDue(false);
  await books.pool.query('update workspace set frozen = true where id = $1', [books.workspaceId]);
  await expectDue(true);
  await books.pool.query('update workspace set frozen = false where id = $1', [books.workspaceId]);
  await books.pool.query("update approval set due_at = now() - interval '1 second' where id = $1", [id]);
  await expectDue(true);
  await books.pool.query('delete from approval where id = $1', [id]);
  const [due] = await dueAt();
  expect((await books.one.take(due ?? expect.fail('the run is not due')))?.answers).toMatchObject([{ approval: { state: 'expired' } }]);
});

test('while a client reads the events of a run at a live control plane, no other one resumes it', async () => {
  const run = await books.begin();
  const [id = ''] = idsOf(await books.one.records.wait(run, { ...waitFor(run, [1]), isRead: true }));
  await setState(id, 'approved');
  expect(await dueAt('plane-1')).toEqual([]);
  expect(await dueAt('plane-0')).toHaveLength(1);
  await books.silence('plane-0', 60_000);
  expect(await dueAt('plane-1')).toHaveLength(1);
});

test('a conversation that is too large is not stored: no one is asked, and the run continues', async () => {
  const run = await books.begin();
  const outcome = await books.one.records.wait(run, waitFor(run, [1], { system: 'x'.repeat(storedBytesMax) }));
  expect(outcome).toMatchObject({ kind: 'impossible', why: expect.stringContaining(`at most ${storedBytesMax} are stored`) });
  expect(await statusOf(run)).toBe('running');
  expect((await books.pool.query('select 1 from approval')).rowCount).toBe(0);
});

test.each([
  ['another secret', "update deployment set approval_secret = decode(repeat('00', 32), 'hex')", 'cannot be decrypted'],
  ['a changed row', "update run_wait set sealed = decode('00', 'hex')", 'cannot be decrypted'],
  ['no row', 'update run_wait set sealed = null', 'cannot be decrypted'],
])('with %s a waiting run fails, and says why', async (_what, sql, why) => {
  const { run, due } = await approvedRun();
  await books.pool.query(sql);
  expect(await books.two.take(due)).toBeNull();
  expect(await books.row(run)).toMatchObject({ status: 'failed', error: expect.stringContaining(why) });
});

test('if no question is pending, the run does not wait', async () => {
  const run = await books.begin();
  const first = await books.one.records.wait(run, waitFor(run, [1]));
  const [id = ''] = idsOf(first);
  await setState(id, 'denied');
  const [due] = await dueAt();
  await books.one.take(due ?? expect.fail('the run is not due'));
  const outcome = await books.one.records.wait(run, waitFor(run, [1]));
  expect(outcome).toMatchObject({ kind: 'answered', answers: [{ kind: 'approval', approval: { state: 'denied' } }] });
  expect(await statusOf(run)).toBe('running');
});

test('in a restored backup a run whose question was answered fails, and says why; one whose question is pending waits', async () => {
  const { run } = await approvedRun();
  const pending = await books.begin();
  await books.one.records.wait(pending, waitFor(pending, [2]));
  const restoring = { pool: books.pool, random: randomBytes, wait: () => Promise.resolve(), migrate: () => Promise.resolve() };
  expect(await renewEpoch(restoring, { force: true })).toMatchObject({ kind: 'renewed' });
  expect(await books.row(run)).toMatchObject({ status: 'failed', error: expect.stringContaining('the backup was made') });
  expect(await statusOf(pending)).toBe('waiting');
  expect(await dueAt()).toEqual([]);
});

test('a waiting run is deleted with its workspace, and nothing takes it', async () => {
  const { due } = await approvedRun();
  await books.pool.query('delete from workspace where id = $1', [books.workspaceId]);
  expect((await books.pool.query('select 1 from run_wait')).rowCount).toBe(0);
  expect(await books.one.take({ ...due, id: makeId(randomBytes) })).toBeNull();
  expect(await books.one.take(due)).toBeNull();
});

test('a commit whose answer was lost: the run waits, and its caller is told for which approvals', async () => {
  const lossy = poolThatLosesCommits(books.pool);
  const { records } = createRunBooks({ ...books.deps, pool: lossy.pool }, 'plane-0', { triesAfterMs: [0] });
  const run = books.newRun();
  await records.begin(run);
  lossy.loseNext();
  const ids = idsOf(await records.wait(run, waitFor(run, [1, 2])));
  const { rows } = await books.pool.query<{ id: string }>('select id from approval order by shown_input');
  expect(ids).toEqual(rows.map(({ id }) => id));
  expect(await statusOf(run)).toBe('waiting');
});

test('the runs of a workspace that has no free place do not hide those of another workspace', async () => {
  await addMembers(books.otherWorkspaceId);
  const waits = async (workspaceId: number): Promise<void> => {
    const run = await books.begin({ workspaceId });
    for (const id of idsOf(await books.one.records.wait(run, waitFor(run, [1])))) await setState(id, 'approved');
  };
  for (let count = 0; count < 3; count += 1) await waits(books.workspaceId);
  await waits(books.otherWorkspaceId);
  const found = await listDue(books.pool, 'plane-0', 15_000, 2);
  expect(found.map(({ workspaceId }) => workspaceId)).toEqual([books.workspaceId, books.otherWorkspaceId]);
});

test('a taken run that is given back waits again, and another control plane takes it', async () => {
  const { run, due } = await approvedRun();
  await books.one.take(due);
  await books.one.giveBack(run);
  expect(books.one.holds(run)).toBe(false);
  expect(await statusOf(run)).toBe('waiting');
  expect(await books.two.take(due)).not.toBeNull();
  // The first one has no say any more.
  await books.one.giveBack(run);
  expect(await statusOf(run)).toBe('running');
});

test.each([
  ['the policy has not arrived yet', new AppError({ code: 'unavailable', publicMessage: 'not yet' }), 'waiting', null],
  ['the database is not available', new Error('Connection terminated unexpectedly'), 'waiting', null],
  ['its agent was deleted', new AppError({ code: 'not_found', publicMessage: 'no such agent' }), 'failed', 'no such agent'],
])('a run that cannot be resumed because %s', async (_why, reason, status, error) => {
  const { run } = await approvedRun();
  const outcomes: string[] = [];
  const runner = {
    isDraining: false,
    isActive: () => false,
    followed: () => [],
    unfollow: () => undefined,
    resume: async (_taken: unknown, notResumed: (error: unknown) => Promise<string>) => {
      outcomes.push(await notResumed(reason));
      throw reason;
    },
  };
  const { changes } = noApprovals;
  const resuming = startResuming(
    {
      pool: books.pool,
      approvals: { changes },
      books: books.one,
      runner,
      seats: createSeats({ each: 1 }),
      instance: 'plane-0',
      log: silentLog,
    },
    longestMs,
  );
  await resuming.look();
  await vi.waitFor(() => expect(outcomes).toEqual([status === 'waiting' ? 'waits' : 'ended']));
  await resuming.close();
  expect(await books.row(run)).toMatchObject({ status, error });
  expect(books.one.holds(run)).toBe(false);
});

/** No timer of the test is as long. */
const longestMs = 2 ** 31 - 1;

/** After `loseNext`, the next commit is made, and then the connection is lost. */
function poolThatLosesCommits(pool: Pool): { readonly pool: Pool; readonly loseNext: () => void } {
  let isLost = false;
  const losing = (client: PoolClient): PoolClient => {
    const query = client.query.bind(client) as (...asked: readonly unknown[]) => Promise<unknown>;
    return Object.assign(client, {
      query: async (...asked: readonly unknown[]): Promise<unknown> => {
        const answer = await query(...asked);
        if (!isLost || asked[0] !== 'commit') return answer;
        isLost = false;
        throw new Error('Connection terminated unexpectedly');
      },
    });
  };
  const connect = async (): Promise<PoolClient> => losing(await pool.connect());
  const query = pool.query.bind(pool);
  return { pool: { connect, query } as unknown as Pool, loseNext: () => void (isLost = true) };
}
