// Original file: tollgate/v1/quota.proto

import type { LeaseHello as _tollgate_v1_LeaseHello, LeaseHello__Output as _tollgate_v1_LeaseHello__Output } from '../../tollgate/v1/LeaseHello.ts';
import type { Asks as _tollgate_v1_Asks, Asks__Output as _tollgate_v1_Asks__Output } from '../../tollgate/v1/Asks.ts';

export interface LeaseRequest {
  'hello'?: (_tollgate_v1_LeaseHello | null);
  'asks'?: (_tollgate_v1_Asks | null);
  'message'?: "hello"|"asks";
}

export interface LeaseRequest__Output {
  'hello'?: (_tollgate_v1_LeaseHello__Output | null);
  'asks'?: (_tollgate_v1_Asks__Output | null);
  'message'?: "hello"|"asks";
}
