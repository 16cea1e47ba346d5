// Original file: tollgate/v1/policy.proto

import type { Long } from '@grpc/proto-loader';

export interface ClockDifference {
  'aheadSeconds'?: (number | string | Long);
}

export interface ClockDifference__Output {
  'aheadSeconds': (number);
}
