// Original file: tollgate/v1/audit.proto

import type { Long } from '@grpc/proto-loader';

export interface Refused {
  'spoolId'?: (string);
  'code'?: (string);
  'expected'?: (number | string | Long);
}

export interface Refused__Output {
  'spoolId': (string);
  'code': (string);
  'expected': (number);
}
