// Original file: tollgate/v1/audit.proto

import type { Credit as _tollgate_v1_Credit, Credit__Output as _tollgate_v1_Credit__Output } from '../../tollgate/v1/Credit.ts';
import type { Acknowledged as _tollgate_v1_Acknowledged, Acknowledged__Output as _tollgate_v1_Acknowledged__Output } from '../../tollgate/v1/Acknowledged.ts';

export interface ShipResponse {
  'credit'?: (_tollgate_v1_Credit | null);
  'acknowledged'?: (_tollgate_v1_Acknowledged | null);
  'message'?: "credit"|"acknowledged";
}

export interface ShipResponse__Output {
  'credit'?: (_tollgate_v1_Credit__Output | null);
  'acknowledged'?: (_tollgate_v1_Acknowledged__Output | null);
  'message'?: "credit"|"acknowledged";
}
