// Original file: tollgate/v1/quota.proto

import type { Counter as _tollgate_v1_Counter, Counter__Output as _tollgate_v1_Counter__Output } from '../../tollgate/v1/Counter.ts';
import type { Grant as _tollgate_v1_Grant, Grant__Output as _tollgate_v1_Grant__Output } from '../../tollgate/v1/Grant.ts';
import type { Full as _tollgate_v1_Full, Full__Output as _tollgate_v1_Full__Output } from '../../tollgate/v1/Full.ts';
import type { Later as _tollgate_v1_Later, Later__Output as _tollgate_v1_Later__Output } from '../../tollgate/v1/Later.ts';
import type { NoSuchLimit as _tollgate_v1_NoSuchLimit, NoSuchLimit__Output as _tollgate_v1_NoSuchLimit__Output } from '../../tollgate/v1/NoSuchLimit.ts';
import type { Taken as _tollgate_v1_Taken, Taken__Output as _tollgate_v1_Taken__Output } from '../../tollgate/v1/Taken.ts';
import type { Long } from '@grpc/proto-loader';

export interface Answer {
  'counter'?: (_tollgate_v1_Counter | null);
  'number'?: (number | string | Long);
  'grant'?: (_tollgate_v1_Grant | null);
  'full'?: (_tollgate_v1_Full | null);
  'later'?: (_tollgate_v1_Later | null);
  'none'?: (_tollgate_v1_NoSuchLimit | null);
  'taken'?: (_tollgate_v1_Taken | null);
  'result'?: "grant"|"full"|"later"|"none"|"taken";
}

export interface Answer__Output {
  'counter': (_tollgate_v1_Counter__Output | null);
  'number': (number);
  'grant'?: (_tollgate_v1_Grant__Output | null);
  'full'?: (_tollgate_v1_Full__Output | null);
  'later'?: (_tollgate_v1_Later__Output | null);
  'none'?: (_tollgate_v1_NoSuchLimit__Output | null);
  'taken'?: (_tollgate_v1_Taken__Output | null);
  'result'?: "grant"|"full"|"later"|"none"|"taken";
}
