// Original file: tollgate/v1/policy.proto

import type { Long } from '@grpc/proto-loader';

export interface Revision {
  'epoch'?: (string);
  'number'?: (number | string | Long);
}

export interface Revision__Output {
  'epoch': (string);
  'number': (number);
}
