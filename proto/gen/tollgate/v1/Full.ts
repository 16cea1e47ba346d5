// Original file: tollgate/v1/quota.proto

import type { Long } from '@grpc/proto-loader';

export interface Full {
  'roomAfterMs'?: (number | string | Long);
  'shared'?: (boolean);
  '_roomAfterMs'?: "roomAfterMs";
}

export interface Full__Output {
  'roomAfterMs'?: (number);
  'shared': (boolean);
  '_roomAfterMs'?: "roomAfterMs";
}
