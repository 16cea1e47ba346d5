// Original file: tollgate/v1/audit.proto

import type { Long } from '@grpc/proto-loader';

export interface Acknowledged {
  'spoolId'?: (string);
  'sequence'?: (number | string | Long);
}

export interface Acknowledged__Output {
  'spoolId': (string);
  'sequence': (number);
}
