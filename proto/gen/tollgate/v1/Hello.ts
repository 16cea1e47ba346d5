// Original file: tollgate/v1/policy.proto

import type { Form as _tollgate_v1_Form, Form__Output as _tollgate_v1_Form__Output } from '../../tollgate/v1/Form.ts';
import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';

export interface Hello {
  'sidecarId'?: (string);
  'bootId'?: (string);
  'form'?: (_tollgate_v1_Form);
  'schemaVersion'?: (number);
  'held'?: (_tollgate_v1_Revision | null);
  'heldHash'?: (Buffer | Uint8Array | string);
  'capabilities'?: (string)[];
}

export interface Hello__Output {
  'sidecarId': (string);
  'bootId': (string);
  'form': (_tollgate_v1_Form__Output);
  'schemaVersion': (number);
  'held': (_tollgate_v1_Revision__Output | null);
  'heldHash': (Buffer);
  'capabilities': (string)[];
}
