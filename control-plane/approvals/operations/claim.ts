// Claims uses of approvals, and returns them. Over any number of sidecars, repeats and crashes, an approval is used at
// most as often as its rules say: each step locks the row of the approval.
import type pg from 'pg';
import type { AskedCall, ClaimResult } from '@tollgate/proto/contract';
import { inTransaction } from '../../database/transaction.ts';
import { type Approval, statusOf, unknownStatus } from '../rules/approval.ts';
import { callProblem, isRequestId } from '../rules/ask-form.ts';
import { countByRule, isApproved } from '../rules/who-may-answer.ts';
import { holdMembers, listAnswers } from '../store/answers.ts';
import { byTime, findApproval, lockApprovals, lockOpen, lockSubject, readTime, recordStep } from '../store/approvals.ts';
import { countUses, findUse, insertUse, isFirstUse, returnUse as storeReturn } from '../store/uses.ts';
import { type Asker, mayAskFor } from './asker.ts';
import { type ApprovalDeps, type ApprovalOutcome, askingSideOf, settleDue, standingProblem } from './parts.ts';

/** The maximum number of claims and returns that are stored of one approval. Beyond it, no use is granted. */
const usesStoredMax = 1_000;

export interface Claim {
  readonly approvalId: string;
  /** Made by the sidecar. A second claim with it is the same use. */
  readonly requestId: string;
  readonly call: AskedCall;
}

interface Claimed {
  readonly result: ClaimResult;
  readonly outcome: ApprovalOutcome | null;
}

/** Claims a use. A use is granted only to exactly the call that was approved. */
export async function claimUse(deps: ApprovalDeps, asker: Asker, { approvalId, requestId, call }: Claim): Promise<ClaimResult> {
  const { keys, metrics } = deps.approvals;
  const isWellFormed = isRequestId(requestId) && callProblem(call) === null && mayAskFor(asker, call) === null;
  const callHmac = isWellFormed ? (await keys()).callHmac(call) : null;
  const { result, outcome } = await inTransaction(deps.pool, async (client): Promise<Claimed> => {
    const [approval] = callHmac === null ? [] : await lockApprovals(client, asker.workspaceId, [approvalId]);
    // Nothing is shown of an approval that is of another call, or that this sidecar may not ask about.
    if (approval === undefined || callHmac === null || !Buffer.from(approval.callHmac).equals(callHmac))
      return { result: { granted: false, isFirstUse: false, approval: unknownStatus(approvalId) }, outcome: null };
    return grant(client, asker, approval, requestId);
  });
  if (outcome !== null) metrics.decided(outcome, null);
  metrics.claimed(result.granted);
  return result;
}

async function grant(client: pg.PoolClient, asker: Asker, locked: Approval, requestId: string): Promise<Claimed> {
  const earlier = await findUse(client, locked, requestId);
  const { approval, now, hasExpired } = await settleDue(client, locked);
  const refused = (at: Approval, outcome: ApprovalOutcome | null): Claimed => ({
    result: { granted: false, isFirstUse: false, approval: statusOf(at, now) },
    outcome,
  });
  const granted = async (at: Approval, outcome: ApprovalOutcome | null): Promise<Claimed> => ({
    result: { granted: true, isFirstUse: await isFirstUse(client, at, requestId), approval: statusOf(at, now) },
    outcome,
  });
  // The answer to an earlier claim of this request may have been lost.
  if (earlier === 'used') return granted(approval, hasExpired ? 'expired' : null);
  if (hasExpired || earlier === 'returned' || approval.state !== 'approved') return refused(approval, hasExpired ? 'expired' : null);
  const note = await endedBy(client, asker, approval);
  if (note !== null)
    return refused(await recordStep(client, approval, 'cancelled', byTime, { state: 'cancelled', note }, { why: note }), 'cancelled');
  const { used, all } = await countUses(client, approval);
  if (used >= approval.uses || all >= usesStoredMax) return refused(approval, null);
  await insertUse(client, approval, requestId);
  const isLast = used + 1 >= approval.uses;
  return granted(await recordStep(client, approval, 'claimed', byTime, isLast ? { state: 'used' } : {}, { requestId }), null);
}

/** Returns why the approval holds no more, although its time is not over; null: it holds. */
async function endedBy(client: pg.PoolClient, asker: Asker, approval: Approval): Promise<string | null> {
  if ((await standingProblem(client, asker, approval.call)) !== null)
    return 'the key that asked was revoked, or the person that the call is made for was removed';
  return (await isStillApproved(client, approval)) ? null : 'those who approved the call may no longer approve it';
}

/** Whether those who approved may still do so. They cannot be removed until the transaction ends. */
async function isStillApproved(client: pg.PoolClient, approval: Approval): Promise<boolean> {
  const answers = await listAnswers(client, approval);
  const members = await holdMembers(
    client,
    approval.workspaceId,
    answers.map(({ uid }) => uid),
  );
  const side = await askingSideOf(client, approval);
  return isApproved(side, countByRule(side, answers, members));
}

/** Gives a use back whose call was not made. A return that arrives before its claim makes the claim fail. */
export async function returnUse(
  deps: ApprovalDeps,
  asker: Asker,
  { approvalId, requestId }: Pick<Claim, 'approvalId' | 'requestId'>,
): Promise<void> {
  if (!isRequestId(requestId)) return;
  await inTransaction(deps.pool, async (client) => {
    const { workspaceId } = asker;
    const found = await findApproval(client, { workspaceId, id: approvalId });
    if (found === null || mayAskFor(asker, found.call) !== null) return;
    // No ask of the same call makes a newer approval meanwhile: only one of them may be open.
    await lockSubject(client, workspaceId, found.call.originSub);
    const [approval] = await lockApprovals(client, workspaceId, [approvalId]);
    if (approval === undefined) return;
    const earlier = await findUse(client, approval, requestId);
    if (earlier === 'returned') return;
    if (earlier === null && (await countUses(client, approval)).all >= usesStoredMax) return;
    await storeReturn(client, approval, requestId);
    if (earlier === null) return;
    await recordStep(client, approval, 'returned', byTime, { state: await stateAfterReturn(client, approval) }, { requestId });
  });
}

/** A use that returns can be claimed again, if there is still time and no newer approval of the same call. */
async function stateAfterReturn(
  client: pg.PoolClient,
  { state, usableUntil, workspaceId, callHmac }: Approval,
): Promise<Approval['state']> {
  if (state !== 'used') return state;
  if (usableUntil === null || usableUntil <= (await readTime(client))) return 'expired';
  const newer = await lockOpen(client, workspaceId, callHmac);
  return newer === null || (await settleDue(client, newer)).hasExpired ? 'approved' : 'expired';
}
