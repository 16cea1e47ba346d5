// Original file: tollgate/v1/audit.proto

import type { ShipHello as _tollgate_v1_ShipHello, ShipHello__Output as _tollgate_v1_ShipHello__Output } from '../../tollgate/v1/ShipHello.ts';
import type { Batch as _tollgate_v1_Batch, Batch__Output as _tollgate_v1_Batch__Output } from '../../tollgate/v1/Batch.ts';

export interface ShipRequest {
  'hello'?: (_tollgate_v1_ShipHello | null);
  'batch'?: (_tollgate_v1_Batch | null);
  'message'?: "hello"|"batch";
}

export interface ShipRequest__Output {
  'hello'?: (_tollgate_v1_ShipHello__Output | null);
  'batch'?: (_tollgate_v1_Batch__Output | null);
  'message'?: "hello"|"batch";
}
