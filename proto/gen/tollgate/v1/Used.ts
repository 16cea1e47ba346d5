// Original file: tollgate/v1/quota.proto

import type { Long } from '@grpc/proto-loader';

export interface Used {
  'ageMs'?: (number | string | Long);
  'count'?: (number);
}

export interface Used__Output {
  'ageMs': (number);
  'count': (number);
}
