// Original file: tollgate/v1/approval.proto

import type { ApprovalState as _tollgate_v1_ApprovalState, ApprovalState__Output as _tollgate_v1_ApprovalState__Output } from '../../tollgate/v1/ApprovalState.ts';
import type { Long } from '@grpc/proto-loader';

export interface ApprovalStatus {
  'approvalId'?: (string);
  'state'?: (_tollgate_v1_ApprovalState);
  'by'?: (string);
  'at'?: (string);
  'note'?: (string);
  'remainingMs'?: (number | string | Long);
}

export interface ApprovalStatus__Output {
  'approvalId': (string);
  'state': (_tollgate_v1_ApprovalState__Output);
  'by': (string);
  'at': (string);
  'note': (string);
  'remainingMs': (number);
}
