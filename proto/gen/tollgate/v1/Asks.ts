// Original file: tollgate/v1/quota.proto

import type { Ask as _tollgate_v1_Ask, Ask__Output as _tollgate_v1_Ask__Output } from '../../tollgate/v1/Ask.ts';

export interface Asks {
  'asks'?: (_tollgate_v1_Ask)[];
}

export interface Asks__Output {
  'asks': (_tollgate_v1_Ask__Output)[];
}
