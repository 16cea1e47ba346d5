// Original file: tollgate/v1/policy.proto

import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';

export interface Nack {
  'revision'?: (_tollgate_v1_Revision | null);
  'code'?: (string);
  'message'?: (string);
}

export interface Nack__Output {
  'revision': (_tollgate_v1_Revision__Output | null);
  'code': (string);
  'message': (string);
}
