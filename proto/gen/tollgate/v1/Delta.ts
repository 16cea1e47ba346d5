// Original file: tollgate/v1/policy.proto

import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';
import type { Entry as _tollgate_v1_Entry, Entry__Output as _tollgate_v1_Entry__Output } from '../../tollgate/v1/Entry.ts';

export interface Delta {
  'from'?: (_tollgate_v1_Revision | null);
  'to'?: (_tollgate_v1_Revision | null);
  'workspace'?: (string);
  'schemaVersion'?: (number);
  'hash'?: (Buffer | Uint8Array | string);
  'changed'?: (_tollgate_v1_Entry)[];
  'removed'?: (string)[];
}

export interface Delta__Output {
  'from': (_tollgate_v1_Revision__Output | null);
  'to': (_tollgate_v1_Revision__Output | null);
  'workspace': (string);
  'schemaVersion': (number);
  'hash': (Buffer);
  'changed': (_tollgate_v1_Entry__Output)[];
  'removed': (string)[];
}
