// Original file: tollgate/v1/audit.proto

import type { Lost as _tollgate_v1_Lost, Lost__Output as _tollgate_v1_Lost__Output } from '../../tollgate/v1/Lost.ts';
import type { Long } from '@grpc/proto-loader';

export interface Record {
  'sequence'?: (number | string | Long);
  'entry'?: (Buffer | Uint8Array | string);
  'lost'?: (_tollgate_v1_Lost | null);
  'content'?: "entry"|"lost";
}

export interface Record__Output {
  'sequence': (number);
  'entry'?: (Buffer);
  'lost'?: (_tollgate_v1_Lost__Output | null);
  'content'?: "entry"|"lost";
}
