// Original file: tollgate/v1/policy.proto

import type { Hello as _tollgate_v1_Hello, Hello__Output as _tollgate_v1_Hello__Output } from '../../tollgate/v1/Hello.ts';
import type { Ack as _tollgate_v1_Ack, Ack__Output as _tollgate_v1_Ack__Output } from '../../tollgate/v1/Ack.ts';
import type { Nack as _tollgate_v1_Nack, Nack__Output as _tollgate_v1_Nack__Output } from '../../tollgate/v1/Nack.ts';
import type { Status as _tollgate_v1_Status, Status__Output as _tollgate_v1_Status__Output } from '../../tollgate/v1/Status.ts';

export interface SyncRequest {
  'hello'?: (_tollgate_v1_Hello | null);
  'ack'?: (_tollgate_v1_Ack | null);
  'nack'?: (_tollgate_v1_Nack | null);
  'status'?: (_tollgate_v1_Status | null);
  'message'?: "hello"|"ack"|"nack"|"status";
}

export interface SyncRequest__Output {
  'hello'?: (_tollgate_v1_Hello__Output | null);
  'ack'?: (_tollgate_v1_Ack__Output | null);
  'nack'?: (_tollgate_v1_Nack__Output | null);
  'status'?: (_tollgate_v1_Status__Output | null);
  'message'?: "hello"|"ack"|"nack"|"status";
}
