// What the operations of approvals share: what they need, the step that time makes, and who stands behind a call.
import type pg from 'pg';
import type { RandomBytes } from '../../access/rules/key.ts';
import { type Approval, isDue } from '../rules/approval.ts';
import type { FatigueBounds } from '../rules/fatigue.ts';
import type { AskingSide } from '../rules/who-may-answer.ts';
import { findKeyPersons, hasSubject } from '../store/answers.ts';
import { byTime, readTime, recordStep } from '../store/approvals.ts';
import type { Asker } from './asker.ts';
import type { ReadApprovalKeys } from './secrets.ts';

export type ApprovalOutcome = 'approved' | 'denied' | 'expired' | 'cancelled';

export interface ApprovalMetrics {
  /** An ask was answered: with a new approval, with an earlier one, or by a refusal. */
  asked(result: 'new' | 'met' | 'refused'): void;
  /** A question ended so. `waitedMs`: from the ask to the answer of a person; null: no person answered. */
  decided(outcome: ApprovalOutcome, waitedMs: number | null): void;
  /** A use was claimed. */
  claimed(granted: boolean): void;
  /** An attempt to send a message ended so. */
  messaged(result: 'sent' | 'retried' | 'failed'): void;
}

/** The work that sends messages to channels. */
export interface ApprovalDeliveries {
  /** Makes the schema of the jobs and begins to send, if that has not happened. Rejects with a refusal if it cannot. */
  start(): Promise<void>;
  /** Begins to send if there is a channel: another control plane may have added the first one. */
  startIfNeeded(): Promise<void>;
  /** Deletes old messages, and jobs that will not run again. */
  removeOld(): Promise<void>;
}

/** The part of the dependencies that only approvals use. */
export interface ApprovalParts {
  readonly keys: ReadApprovalKeys;
  readonly metrics: ApprovalMetrics;
  readonly fatigue: FatigueBounds;
  readonly changes: ApprovalChanges;
  readonly deliveries: ApprovalDeliveries;
}

/** Tells in this process that an approval of a workspace may have changed. A lost message delays only until the next look. */
export interface ApprovalChanges {
  /** Calls the function after each change, until the returned function is called. */
  onChange(call: (workspaceId: number, id: string) => void): () => void;
}

export interface ApprovalDeps {
  readonly pool: pg.Pool;
  readonly random: RandomBytes;
  readonly approvals: ApprovalParts;
}

export const noApprovalMetrics: ApprovalMetrics = {
  asked: () => undefined,
  decided: () => undefined,
  claimed: () => undefined,
  messaged: () => undefined,
};

/** The approval after the step that time has made, if it is due. Its row must be locked. */
export interface Settled {
  readonly approval: Approval;
  /** The time of the database, after the row was locked. */
  readonly now: Date;
  readonly hasExpired: boolean;
}

export async function settleDue(client: pg.PoolClient, approval: Approval): Promise<Settled> {
  const now = await readTime(client);
  if (!isDue(approval, now)) return { approval, now, hasExpired: false };
  return { approval: await recordStep(client, approval, 'expired', byTime, { state: 'expired' }), now, hasExpired: true };
}

/** Returns what decides who may answer the approval. */
export async function askingSideOf(
  client: Pick<pg.PoolClient, 'query'>,
  { workspaceId, call, rules }: Pick<Approval, 'workspaceId' | 'call' | 'rules'>,
): Promise<AskingSide> {
  const key = await findKeyPersons(client, workspaceId, call.keyId);
  const keyPersons = key === null ? [] : [...new Set([key.madeBy, key.secretBy])];
  return { rules, originSub: call.originSub, keyId: call.keyId, keyPersons, keyUid: key?.uid ?? null };
}

/**
 * Returns why no call may be asked for or made in this name; null: it may. A sidecar may not know yet that a key was revoked or
 * a member removed.
 */
export async function standingProblem(
  client: Pick<pg.PoolClient, 'query'>,
  { workspaceId, isLocal }: Pick<Asker, 'workspaceId' | 'isLocal'>,
  { keyId, originSub }: Pick<Approval['call'], 'keyId' | 'originSub'>,
): Promise<string | null> {
  const isOfSession = isLocal && keyId.startsWith('session:');
  const key = isOfSession ? null : await findKeyPersons(client, workspaceId, keyId);
  if (!isOfSession && (key === null || key.isRevoked)) return 'call.key_id must be a key of this workspace';
  return (await hasSubject(client, workspaceId, originSub)) ? null : 'call.origin_sub must be a member or a service key of this workspace';
}
