// Original file: tollgate/v1/audit.proto

import type { Long } from '@grpc/proto-loader';

export interface Record {
  'sequence'?: (number | string | Long);
  'entry'?: (Buffer | Uint8Array | string);
  'lost'?: (string);
  'content'?: "entry"|"lost";
}

export interface Record__Output {
  'sequence': (number);
  'entry'?: (Buffer);
  'lost'?: (string);
  'content'?: "entry"|"lost";
}
