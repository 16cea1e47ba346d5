// Original file: tollgate/v1/policy.proto

import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';

export interface Unchanged {
  'revision'?: (_tollgate_v1_Revision | null);
  'hash'?: (Buffer | Uint8Array | string);
}

export interface Unchanged__Output {
  'revision': (_tollgate_v1_Revision__Output | null);
  'hash': (Buffer);
}
