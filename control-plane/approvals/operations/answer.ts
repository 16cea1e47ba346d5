// Approves and denies. Who may answer is checked in the transaction of the answer, and again when a use is claimed.
import type { Actor } from '../../access/rules/actor.ts';
import { type Write, writeOperation } from '../../access/operation.ts';
import { conflict, forbidden, notFound } from '../../base/refusal.ts';
import type { Approval } from '../rules/approval.ts';
import {
  answeredRules,
  answerProblem,
  type Answerer,
  type AskingSide,
  countByRule,
  isApproved,
  type StandingMember,
  type StoredAnswer,
} from '../rules/who-may-answer.ts';
import { findKeyPersons, hasRevealed, holdMembers, listAnswers, putAnswer } from '../store/answers.ts';
import {
  findApproval,
  insertSessionDenials,
  lockApprovals,
  lockPendingOfSession,
  lockSubject,
  recordStep,
  type StepBy,
} from '../store/approvals.ts';
import { askingSideOf, settleDue } from './parts.ts';
import { isSeenBy } from './sight.ts';

export interface AnswerInput {
  readonly id: string;
  readonly note: string | null;
  /** Other approvals of the same question, which get the same answer. */
  readonly with: readonly string[];
}

const signedIn = 'session:';

/** Returns everything about the caller that decides whether it may answer. */
export async function answererOf(client: Write['client'], actor: Actor): Promise<Answerer> {
  const isSignedIn = actor.keyId.startsWith(signedIn);
  const key = isSignedIn ? null : await findKeyPersons(client, actor.workspaceId, actor.keyId);
  const persons = [actor.memberUid, ...(actor.uid === null ? [] : [actor.uid]), ...(key === null ? [] : [key.madeBy, key.secretBy])];
  return { uid: actor.uid, role: actor.role, scopes: actor.scopes, keyId: actor.keyId, isSignedIn, persons: [...new Set(persons)] };
}

const byActor = ({ sub, keyId }: Actor): StepBy => ({ sub, keyId });

/** Locks the approvals of one question. Throws if one does not exist for this caller, or is of another question. */
export async function lockQuestion({ client, actor, workspaceId }: Write, ids: readonly string[]): Promise<readonly Approval[]> {
  const wanted = [...new Set(ids)];
  const found = await lockApprovals(client, workspaceId, wanted);
  if (found.length < wanted.length || !found.every((approval) => isSeenBy(actor, approval))) throw notFound('there is no such approval');
  if (new Set(found.map(({ questionId }) => questionId)).size > 1)
    throw conflict('the approvals are not of one question; answer each of them by itself');
  return found;
}

/** Throws if the approval is no longer pending. Says who answered it, and when. */
export async function requirePending(
  client: Write['client'],
  locked: Approval,
): Promise<{ readonly approval: Approval; readonly now: Date }> {
  const { approval, now } = await settleDue(client, locked);
  if (approval.state === 'pending') return { approval, now };
  const by = approval.answeredBy === null ? '' : ` by ${approval.answeredBy}`;
  const at = (approval.answeredAt ?? approval.changedAt).toISOString();
  throw conflict(`the approval ${approval.id} is already ${approval.state}${by}, since ${at}`);
}

interface Answering {
  readonly write: Write;
  readonly answerer: Answerer & { readonly uid: string };
  readonly note: string | null;
}

async function answeringOf(write: Write, side: AskingSide, note: string | null): Promise<Answering> {
  const answerer = await answererOf(write.client, write.actor);
  const { uid } = answerer;
  const problem = answerProblem(side, answerer);
  if (problem !== null || uid === null) throw forbidden(problem ?? 'a service key answers no approvals');
  return { write, answerer: { ...answerer, uid }, note };
}

const targetsOf = (approvals: readonly { readonly id: string }[]): readonly string[] => approvals.map(({ id }) => `approval/${id}`);

export const approve = writeOperation('approval.approve', async (write, { id, note, with: others }: AnswerInput) => {
  const results: Approval[] = [];
  const decided: number[] = [];
  for (const locked of await lockQuestion(write, [id, ...others])) {
    const { approval } = await requirePending(write.client, locked);
    const side = await askingSideOf(write.client, approval);
    const after = await approveOne(await answeringOf(write, side, note), approval, side);
    results.push(after);
    if (after.state === 'approved' && after.answeredAt !== null) decided.push(after.answeredAt.getTime() - after.createdAt.getTime());
  }
  for (const ms of decided) write.deps.approvals.metrics.decided('approved', ms);
  return { result: { states: statesOf(results) }, target: targetsOf(results), detail: { note } };
});

const statesOf = (approvals: readonly Approval[]) => approvals.map(({ id, state }) => ({ id, state }));

async function approveOne({ write, answerer, note }: Answering, approval: Approval, side: AskingSide): Promise<Approval> {
  const { client, actor, workspaceId } = write;
  const { uid } = answerer;
  const before = await listAnswers(client, approval);
  const members = await holdMembers(client, workspaceId, [uid, ...before.map((answer) => answer.uid)]);
  const member: StandingMember | undefined = members.get(uid);
  if (member === undefined) throw forbidden(`${uid} is no member of this workspace`);
  if (approval.hidden.length > 0 && !(await hasRevealed(client, approval, { uid, memberSince: member.createdAt })))
    throw conflict(
      `${approval.hidden.length} values of the call are hidden; POST …/${approval.id}/reveal shows them, and only then can the call be approved`,
    );
  const answer: StoredAnswer = {
    uid,
    persons: answerer.persons,
    memberSince: member.createdAt,
    via: answerer.isSignedIn ? 'session' : 'key',
    keyId: actor.keyId,
    at: write.now,
  };
  const counted = countByRule(side, before, members);
  const counts = countByRule(side, [...before.filter((one) => one.uid !== uid), answer], members);
  if (counts.every((count, at) => count <= (counted[at] ?? 0))) throw forbidden(whyNotCounted(before, answer));
  await putAnswer(client, approval, answer);
  const isDone = isApproved(side, counts);
  return recordStep(
    client,
    approval,
    isDone ? 'approved' : 'answered',
    byActor(actor),
    { answeredBy: uid, note, answered: true, ...(isDone ? { state: 'approved', usable: true } : {}) },
    { via: answer.via, persons: answer.persons },
  );
}

function whyNotCounted(before: readonly StoredAnswer[], { uid, persons }: StoredAnswer): string {
  const own = before.find((one) => one.uid === uid);
  if (own !== undefined) return `${uid} has approved this call already; it needs another person`;
  const shared = before.flatMap((one) =>
    one.persons.filter((person) => persons.includes(person)).map((person) => ({ person, by: one.uid })),
  )[0];
  return shared === undefined
    ? `the rules that ${uid} may answer have enough answers already; the others need another person`
    : `this answer and that of ${shared.by} share the person ${shared.person}, so they count as one; the call needs another person`;
}

export interface DenyInput extends AnswerInput {
  /** Deny for the rest of the session everything that the same rules ask about. */
  readonly session: boolean;
}

/** One denial denies. */
export const deny = writeOperation('approval.deny', async (write, { id, note, session, with: others }: DenyInput) => {
  const { client, actor, deps } = write;
  const by = byActor(actor);
  const denied: Approval[] = [];
  const denyOne = async (approval: Approval, uid: string): Promise<void> => {
    const changes = { state: 'denied', answeredBy: uid, note, answered: true } as const;
    denied.push(await recordStep(client, approval, 'denied', by, changes, { session }));
  };
  if (session) await lockAsksLike(write, id);
  for (const locked of await lockQuestion(write, [id, ...others])) {
    const { approval } = await requirePending(client, locked);
    const side = await askingSideOf(client, approval);
    const { answerer } = await answeringOf(write, side, note);
    await denyOne(approval, answerer.uid);
    if (!session) continue;
    const digests = answeredRules(side, answerer);
    await insertSessionDenials(client, approval, approval.call, digests);
  }
  if (session) await denyRestOfSession(write, denied, denyOne);
  for (const { answeredAt, createdAt } of denied)
    deps.approvals.metrics.decided('denied', answeredAt === null ? null : answeredAt.getTime() - createdAt.getTime());
  return { result: { states: statesOf(denied) }, target: targetsOf(denied), detail: { note, session } };
});

/** From now on no approval of the same subject is made, so that none is made between the denial of its session and its commit. */
async function lockAsksLike({ client, workspaceId }: Write, id: string): Promise<void> {
  const found = await findApproval(client, { workspaceId, id });
  if (found !== null) await lockSubject(client, workspaceId, found.call.originSub);
}

/** Denies what the same session already waits for, as far as the caller may answer it. */
async function denyRestOfSession(
  { client, actor, workspaceId }: Write,
  denied: readonly Approval[],
  denyOne: (approval: Approval, uid: string) => Promise<void>,
): Promise<void> {
  const [first] = denied;
  const answerer = await answererOf(client, actor);
  const { uid } = answerer;
  if (first === undefined || uid === null) return;
  const side = await askingSideOf(client, first);
  const digests = answeredRules(side, { uid, role: answerer.role });
  for (const locked of await lockPendingOfSession(client, workspaceId, first.call, digests)) {
    const { approval } = await settleDue(client, locked);
    if (approval.state === 'pending' && answerProblem(await askingSideOf(client, approval), answerer) === null)
      await denyOne(approval, uid);
  }
}
