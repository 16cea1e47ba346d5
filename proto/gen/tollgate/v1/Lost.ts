// Original file: tollgate/v1/audit.proto

import type { Long } from '@grpc/proto-loader';

export interface Lost {
  'last'?: (number | string | Long);
  'reason'?: (string);
}

export interface Lost__Output {
  'last': (number);
  'reason': (string);
}
