// Original file: tollgate/v1/audit.proto

import type { Record as _tollgate_v1_Record, Record__Output as _tollgate_v1_Record__Output } from '../../tollgate/v1/Record.ts';

export interface Batch {
  'spoolId'?: (string);
  'records'?: (_tollgate_v1_Record)[];
  'spoolSecret'?: (Buffer | Uint8Array | string);
  'workspaceId'?: (string);
  'canWait'?: (boolean);
}

export interface Batch__Output {
  'spoolId': (string);
  'records': (_tollgate_v1_Record__Output)[];
  'spoolSecret': (Buffer);
  'workspaceId': (string);
  'canWait': (boolean);
}
