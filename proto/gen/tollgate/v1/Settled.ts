// Original file: tollgate/v1/quota.proto

import type { Used as _tollgate_v1_Used, Used__Output as _tollgate_v1_Used__Output } from '../../tollgate/v1/Used.ts';
import type { Long } from '@grpc/proto-loader';

export interface Settled {
  'grantId'?: (number | string | Long);
  'used'?: (_tollgate_v1_Used)[];
}

export interface Settled__Output {
  'grantId': (number);
  'used': (_tollgate_v1_Used__Output)[];
}
