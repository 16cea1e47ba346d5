// Original file: tollgate/v1/policy.proto

import type { Snapshot as _tollgate_v1_Snapshot, Snapshot__Output as _tollgate_v1_Snapshot__Output } from '../../tollgate/v1/Snapshot.ts';
import type { Unchanged as _tollgate_v1_Unchanged, Unchanged__Output as _tollgate_v1_Unchanged__Output } from '../../tollgate/v1/Unchanged.ts';
import type { Heartbeat as _tollgate_v1_Heartbeat, Heartbeat__Output as _tollgate_v1_Heartbeat__Output } from '../../tollgate/v1/Heartbeat.ts';
import type { Move as _tollgate_v1_Move, Move__Output as _tollgate_v1_Move__Output } from '../../tollgate/v1/Move.ts';
import type { Delta as _tollgate_v1_Delta, Delta__Output as _tollgate_v1_Delta__Output } from '../../tollgate/v1/Delta.ts';

export interface SyncResponse {
  'snapshot'?: (_tollgate_v1_Snapshot | null);
  'unchanged'?: (_tollgate_v1_Unchanged | null);
  'heartbeat'?: (_tollgate_v1_Heartbeat | null);
  'move'?: (_tollgate_v1_Move | null);
  'delta'?: (_tollgate_v1_Delta | null);
  'message'?: "snapshot"|"unchanged"|"heartbeat"|"move"|"delta";
}

export interface SyncResponse__Output {
  'snapshot'?: (_tollgate_v1_Snapshot__Output | null);
  'unchanged'?: (_tollgate_v1_Unchanged__Output | null);
  'heartbeat'?: (_tollgate_v1_Heartbeat__Output | null);
  'move'?: (_tollgate_v1_Move__Output | null);
  'delta'?: (_tollgate_v1_Delta__Output | null);
  'message'?: "snapshot"|"unchanged"|"heartbeat"|"move"|"delta";
}
