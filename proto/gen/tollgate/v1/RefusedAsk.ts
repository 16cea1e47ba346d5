// Original file: tollgate/v1/approval.proto

import type { Long } from '@grpc/proto-loader';

export interface RefusedAsk {
  'code'?: (string);
  'words'?: (string);
  'retryAfterMs'?: (number | string | Long);
}

export interface RefusedAsk__Output {
  'code': (string);
  'words': (string);
  'retryAfterMs': (number);
}
