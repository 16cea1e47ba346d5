// Original file: tollgate/v1/approval.proto

import type { ApprovalStatus as _tollgate_v1_ApprovalStatus, ApprovalStatus__Output as _tollgate_v1_ApprovalStatus__Output } from '../../tollgate/v1/ApprovalStatus.ts';
import type { Long } from '@grpc/proto-loader';

export interface Read {
  'number'?: (number | string | Long);
  'approval'?: (_tollgate_v1_ApprovalStatus | null);
}

export interface Read__Output {
  'number': (number);
  'approval': (_tollgate_v1_ApprovalStatus__Output | null);
}
