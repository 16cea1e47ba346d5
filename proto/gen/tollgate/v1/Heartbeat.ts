// Original file: tollgate/v1/policy.proto

import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';
import type { Long } from '@grpc/proto-loader';

export interface Heartbeat {
  'current'?: (_tollgate_v1_Revision | null);
  'timeMs'?: (number | string | Long);
}

export interface Heartbeat__Output {
  'current': (_tollgate_v1_Revision__Output | null);
  'timeMs': (number);
}
