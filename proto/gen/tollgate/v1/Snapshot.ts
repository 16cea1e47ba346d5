// Original file: tollgate/v1/policy.proto

import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';
import type { Entry as _tollgate_v1_Entry, Entry__Output as _tollgate_v1_Entry__Output } from '../../tollgate/v1/Entry.ts';

export interface Snapshot {
  'revision'?: (_tollgate_v1_Revision | null);
  'workspace'?: (string);
  'schemaVersion'?: (number);
  'hash'?: (Buffer | Uint8Array | string);
  'entries'?: (_tollgate_v1_Entry)[];
}

export interface Snapshot__Output {
  'revision': (_tollgate_v1_Revision__Output | null);
  'workspace': (string);
  'schemaVersion': (number);
  'hash': (Buffer);
  'entries': (_tollgate_v1_Entry__Output)[];
}
