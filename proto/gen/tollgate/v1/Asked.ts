// Original file: tollgate/v1/approval.proto

import type { ApprovalStatus as _tollgate_v1_ApprovalStatus, ApprovalStatus__Output as _tollgate_v1_ApprovalStatus__Output } from '../../tollgate/v1/ApprovalStatus.ts';
import type { RefusedAsk as _tollgate_v1_RefusedAsk, RefusedAsk__Output as _tollgate_v1_RefusedAsk__Output } from '../../tollgate/v1/RefusedAsk.ts';
import type { Long } from '@grpc/proto-loader';

export interface Asked {
  'number'?: (number | string | Long);
  'approval'?: (_tollgate_v1_ApprovalStatus | null);
  'refused'?: (_tollgate_v1_RefusedAsk | null);
  'isNew'?: (boolean);
  'result'?: "approval"|"refused";
}

export interface Asked__Output {
  'number': (number);
  'approval'?: (_tollgate_v1_ApprovalStatus__Output | null);
  'refused'?: (_tollgate_v1_RefusedAsk__Output | null);
  'isNew': (boolean);
  'result'?: "approval"|"refused";
}
