import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { Acknowledged as _tollgate_v1_Acknowledged, Acknowledged__Output as _tollgate_v1_Acknowledged__Output } from './tollgate/v1/Acknowledged.ts';
import type { AuditServiceClient as _tollgate_v1_AuditServiceClient, AuditServiceDefinition as _tollgate_v1_AuditServiceDefinition } from './tollgate/v1/AuditService.ts';
import type { Batch as _tollgate_v1_Batch, Batch__Output as _tollgate_v1_Batch__Output } from './tollgate/v1/Batch.ts';
import type { Credit as _tollgate_v1_Credit, Credit__Output as _tollgate_v1_Credit__Output } from './tollgate/v1/Credit.ts';
import type { Lost as _tollgate_v1_Lost, Lost__Output as _tollgate_v1_Lost__Output } from './tollgate/v1/Lost.ts';
import type { Record as _tollgate_v1_Record, Record__Output as _tollgate_v1_Record__Output } from './tollgate/v1/Record.ts';
import type { Refused as _tollgate_v1_Refused, Refused__Output as _tollgate_v1_Refused__Output } from './tollgate/v1/Refused.ts';
import type { ShipHello as _tollgate_v1_ShipHello, ShipHello__Output as _tollgate_v1_ShipHello__Output } from './tollgate/v1/ShipHello.ts';
import type { ShipRequest as _tollgate_v1_ShipRequest, ShipRequest__Output as _tollgate_v1_ShipRequest__Output } from './tollgate/v1/ShipRequest.ts';
import type { ShipResponse as _tollgate_v1_ShipResponse, ShipResponse__Output as _tollgate_v1_ShipResponse__Output } from './tollgate/v1/ShipResponse.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  tollgate: {
    v1: {
      Acknowledged: MessageTypeDefinition<_tollgate_v1_Acknowledged, _tollgate_v1_Acknowledged__Output>
      AuditService: SubtypeConstructor<typeof grpc.Client, _tollgate_v1_AuditServiceClient> & { service: _tollgate_v1_AuditServiceDefinition }
      Batch: MessageTypeDefinition<_tollgate_v1_Batch, _tollgate_v1_Batch__Output>
      Credit: MessageTypeDefinition<_tollgate_v1_Credit, _tollgate_v1_Credit__Output>
      Lost: MessageTypeDefinition<_tollgate_v1_Lost, _tollgate_v1_Lost__Output>
      Record: MessageTypeDefinition<_tollgate_v1_Record, _tollgate_v1_Record__Output>
      Refused: MessageTypeDefinition<_tollgate_v1_Refused, _tollgate_v1_Refused__Output>
      ShipHello: MessageTypeDefinition<_tollgate_v1_ShipHello, _tollgate_v1_ShipHello__Output>
      ShipRequest: MessageTypeDefinition<_tollgate_v1_ShipRequest, _tollgate_v1_ShipRequest__Output>
      ShipResponse: MessageTypeDefinition<_tollgate_v1_ShipResponse, _tollgate_v1_ShipResponse__Output>
    }
  }
}

