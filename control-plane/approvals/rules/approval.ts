// Defines an approval as it is stored, and its states.
//
// `pending → approved | denied | expired | cancelled`, `approved → used | expired | cancelled`. A returned use leads from
// `used` back to `approved`. An approved call is cancelled if, when a use is claimed, its approvers may no longer answer.
// Pure.
import type { ApprovalState, ApprovalStatus, AskedCall, AskingRule, RevisionName } from '@tollgate/proto/contract';
import { approvalStates } from '@tollgate/proto/contract';

export interface ApprovalRef {
  readonly workspaceId: number;
  readonly id: string;
}

export const isApprovalState = (value: unknown): value is ApprovalState => approvalStates.some((one) => one === value);

/** The states that time or a person can still end. */
const openStates = ['pending', 'approved'] as const satisfies readonly ApprovalState[];
export const isOpen = (state: ApprovalState): boolean => openStates.some((one) => one === state);

export interface HiddenPlace {
  readonly path: string;
  readonly kind: string;
  /** In UTF-16 code units. */
  readonly length: number;
}

export interface Approval extends ApprovalRef {
  readonly questionId: string;
  readonly state: ApprovalState;
  /** Raised by each step. */
  readonly version: number;
  readonly createdAt: Date;
  readonly changedAt: Date;
  readonly expiresAt: Date;
  readonly usableUntil: Date | null;
  /** When it expires without a further step; null: it is final. */
  readonly dueAt: Date | null;
  readonly answeredAt: Date | null;
  readonly answeredBy: string | null;
  readonly note: string | null;
  readonly call: Omit<AskedCall, 'inputSha256' | 'rules'>;
  readonly callHmac: Uint8Array;
  readonly rules: readonly AskingRule[];
  readonly validSeconds: number;
  readonly uses: number;
  readonly need: number;
  readonly revision: RevisionName;
  readonly claimedClient: string;
  readonly shownInput: string;
  readonly findings: readonly { readonly kind: string; readonly count: number }[];
  readonly hidden: readonly HiddenPlace[];
  /** Null: nothing is hidden, or it was erased. */
  readonly sealed: Uint8Array | null;
  readonly revealedBy: readonly string[];
}

/** The part of an approval that a sidecar is told. */
export type StatusParts = Pick<Approval, 'id' | 'state' | 'dueAt' | 'answeredAt' | 'answeredBy' | 'note'>;

/** Whether time has ended it, although no step has recorded that yet. `now` is the time of the database. */
export const isDue = ({ dueAt }: Pick<Approval, 'dueAt'>, now: Date): boolean => dueAt !== null && dueAt <= now;

export function statusOf(approval: StatusParts, now: Date): ApprovalStatus {
  const { id, state, dueAt, answeredAt, answeredBy, note } = approval;
  return {
    approvalId: id,
    state: isDue(approval, now) ? 'expired' : state,
    by: answeredBy,
    at: answeredAt?.toISOString() ?? null,
    note,
    remainingMs: dueAt === null ? 0 : Math.max(0, dueAt.getTime() - now.getTime()),
  };
}

/** Of an approval that does not exist here. */
export const unknownStatus = (approvalId: string): ApprovalStatus => ({
  approvalId,
  state: 'expired',
  by: null,
  at: null,
  note: null,
  remainingMs: 0,
});
