// Original file: tollgate/v1/quota.proto

import type { Counter as _tollgate_v1_Counter, Counter__Output as _tollgate_v1_Counter__Output } from '../../tollgate/v1/Counter.ts';
import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';
import type { Settled as _tollgate_v1_Settled, Settled__Output as _tollgate_v1_Settled__Output } from '../../tollgate/v1/Settled.ts';
import type { Long } from '@grpc/proto-loader';

export interface Ask {
  'counter'?: (_tollgate_v1_Counter | null);
  'number'?: (number | string | Long);
  'waiting'?: (number);
  'onlySettles'?: (boolean);
  'revision'?: (_tollgate_v1_Revision | null);
  'settled'?: (_tollgate_v1_Settled)[];
  'max'?: (number);
  'made'?: (number);
  '_max'?: "max";
  '_made'?: "made";
}

export interface Ask__Output {
  'counter': (_tollgate_v1_Counter__Output | null);
  'number': (number);
  'waiting': (number);
  'onlySettles': (boolean);
  'revision': (_tollgate_v1_Revision__Output | null);
  'settled': (_tollgate_v1_Settled__Output)[];
  'max'?: (number);
  'made'?: (number);
  '_max'?: "max";
  '_made'?: "made";
}
