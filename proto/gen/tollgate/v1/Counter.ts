// Original file: tollgate/v1/quota.proto

import type { Limit as _tollgate_v1_Limit, Limit__Output as _tollgate_v1_Limit__Output } from '../../tollgate/v1/Limit.ts';
import type { SharedRun as _tollgate_v1_SharedRun, SharedRun__Output as _tollgate_v1_SharedRun__Output } from '../../tollgate/v1/SharedRun.ts';

export interface Counter {
  'limit'?: (_tollgate_v1_Limit | null);
  'run'?: (_tollgate_v1_SharedRun | null);
  'counted'?: "limit"|"run";
}

export interface Counter__Output {
  'limit'?: (_tollgate_v1_Limit__Output | null);
  'run'?: (_tollgate_v1_SharedRun__Output | null);
  'counted'?: "limit"|"run";
}
