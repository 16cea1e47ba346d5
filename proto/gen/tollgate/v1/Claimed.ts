// Original file: tollgate/v1/approval.proto

import type { ApprovalStatus as _tollgate_v1_ApprovalStatus, ApprovalStatus__Output as _tollgate_v1_ApprovalStatus__Output } from '../../tollgate/v1/ApprovalStatus.ts';
import type { Long } from '@grpc/proto-loader';

export interface Claimed {
  'number'?: (number | string | Long);
  'granted'?: (boolean);
  'approval'?: (_tollgate_v1_ApprovalStatus | null);
  'isFirstUse'?: (boolean);
}

export interface Claimed__Output {
  'number': (number);
  'granted': (boolean);
  'approval': (_tollgate_v1_ApprovalStatus__Output | null);
  'isFirstUse': (boolean);
}
