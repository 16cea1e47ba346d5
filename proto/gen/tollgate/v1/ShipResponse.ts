// Original file: tollgate/v1/audit.proto

import type { Credit as _tollgate_v1_Credit, Credit__Output as _tollgate_v1_Credit__Output } from '../../tollgate/v1/Credit.ts';
import type { Acknowledged as _tollgate_v1_Acknowledged, Acknowledged__Output as _tollgate_v1_Acknowledged__Output } from '../../tollgate/v1/Acknowledged.ts';
import type { Refused as _tollgate_v1_Refused, Refused__Output as _tollgate_v1_Refused__Output } from '../../tollgate/v1/Refused.ts';

export interface ShipResponse {
  'credit'?: (_tollgate_v1_Credit | null);
  'acknowledged'?: (_tollgate_v1_Acknowledged | null);
  'refused'?: (_tollgate_v1_Refused | null);
  'message'?: "credit"|"acknowledged"|"refused";
}

export interface ShipResponse__Output {
  'credit'?: (_tollgate_v1_Credit__Output | null);
  'acknowledged'?: (_tollgate_v1_Acknowledged__Output | null);
  'refused'?: (_tollgate_v1_Refused__Output | null);
  'message'?: "credit"|"acknowledged"|"refused";
}
