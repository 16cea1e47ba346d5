// Original file: tollgate/v1/approval.proto

import type { AskedCall as _tollgate_v1_AskedCall, AskedCall__Output as _tollgate_v1_AskedCall__Output } from '../../tollgate/v1/AskedCall.ts';
import type { Long } from '@grpc/proto-loader';

export interface ClaimUse {
  'number'?: (number | string | Long);
  'approvalId'?: (string);
  'requestId'?: (string);
  'call'?: (_tollgate_v1_AskedCall | null);
}

export interface ClaimUse__Output {
  'number': (number);
  'approvalId': (string);
  'requestId': (string);
  'call': (_tollgate_v1_AskedCall__Output | null);
}
