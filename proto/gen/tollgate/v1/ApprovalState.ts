// Original file: tollgate/v1/approval.proto

export const ApprovalState = {
  APPROVAL_STATE_UNSPECIFIED: 'APPROVAL_STATE_UNSPECIFIED',
  PENDING: 'PENDING',
  APPROVED: 'APPROVED',
  DENIED: 'DENIED',
  EXPIRED: 'EXPIRED',
  CANCELLED: 'CANCELLED',
  USED: 'USED',
} as const;

export type ApprovalState =
  | 'APPROVAL_STATE_UNSPECIFIED'
  | 0
  | 'PENDING'
  | 1
  | 'APPROVED'
  | 2
  | 'DENIED'
  | 3
  | 'EXPIRED'
  | 4
  | 'CANCELLED'
  | 5
  | 'USED'
  | 6

export type ApprovalState__Output = typeof ApprovalState[keyof typeof ApprovalState]
