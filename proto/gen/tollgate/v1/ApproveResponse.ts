// Original file: tollgate/v1/approval.proto

import type { Asked as _tollgate_v1_Asked, Asked__Output as _tollgate_v1_Asked__Output } from '../../tollgate/v1/Asked.ts';
import type { ApprovalStatus as _tollgate_v1_ApprovalStatus, ApprovalStatus__Output as _tollgate_v1_ApprovalStatus__Output } from '../../tollgate/v1/ApprovalStatus.ts';
import type { Claimed as _tollgate_v1_Claimed, Claimed__Output as _tollgate_v1_Claimed__Output } from '../../tollgate/v1/Claimed.ts';
import type { Read as _tollgate_v1_Read, Read__Output as _tollgate_v1_Read__Output } from '../../tollgate/v1/Read.ts';

export interface ApproveResponse {
  'asked'?: (_tollgate_v1_Asked | null);
  'decided'?: (_tollgate_v1_ApprovalStatus | null);
  'claimed'?: (_tollgate_v1_Claimed | null);
  'read'?: (_tollgate_v1_Read | null);
  'message'?: "asked"|"decided"|"claimed"|"read";
}

export interface ApproveResponse__Output {
  'asked'?: (_tollgate_v1_Asked__Output | null);
  'decided'?: (_tollgate_v1_ApprovalStatus__Output | null);
  'claimed'?: (_tollgate_v1_Claimed__Output | null);
  'read'?: (_tollgate_v1_Read__Output | null);
  'message'?: "asked"|"decided"|"claimed"|"read";
}
