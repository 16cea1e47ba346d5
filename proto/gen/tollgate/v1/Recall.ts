// Original file: tollgate/v1/quota.proto

import type { Counter as _tollgate_v1_Counter, Counter__Output as _tollgate_v1_Counter__Output } from '../../tollgate/v1/Counter.ts';

export interface Recall {
  'counters'?: (_tollgate_v1_Counter)[];
}

export interface Recall__Output {
  'counters': (_tollgate_v1_Counter__Output)[];
}
