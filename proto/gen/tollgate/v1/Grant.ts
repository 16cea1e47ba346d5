// Original file: tollgate/v1/quota.proto

import type { Long } from '@grpc/proto-loader';

export interface Grant {
  'id'?: (number | string | Long);
  'tokens'?: (number);
  'ttlMs'?: (number);
  'max'?: (number);
  'shared'?: (boolean);
  'ageMs'?: (number | string | Long);
  '_ttlMs'?: "ttlMs";
  '_ageMs'?: "ageMs";
}

export interface Grant__Output {
  'id': (number);
  'tokens': (number);
  'ttlMs'?: (number);
  'max': (number);
  'shared': (boolean);
  'ageMs'?: (number);
  '_ttlMs'?: "ttlMs";
  '_ageMs'?: "ageMs";
}
