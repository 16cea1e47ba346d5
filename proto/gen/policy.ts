import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { Ack as _tollgate_v1_Ack, Ack__Output as _tollgate_v1_Ack__Output } from './tollgate/v1/Ack.ts';
import type { ClockDifference as _tollgate_v1_ClockDifference, ClockDifference__Output as _tollgate_v1_ClockDifference__Output } from './tollgate/v1/ClockDifference.ts';
import type { Delta as _tollgate_v1_Delta, Delta__Output as _tollgate_v1_Delta__Output } from './tollgate/v1/Delta.ts';
import type { Entry as _tollgate_v1_Entry, Entry__Output as _tollgate_v1_Entry__Output } from './tollgate/v1/Entry.ts';
import type { Heartbeat as _tollgate_v1_Heartbeat, Heartbeat__Output as _tollgate_v1_Heartbeat__Output } from './tollgate/v1/Heartbeat.ts';
import type { Hello as _tollgate_v1_Hello, Hello__Output as _tollgate_v1_Hello__Output } from './tollgate/v1/Hello.ts';
import type { Move as _tollgate_v1_Move, Move__Output as _tollgate_v1_Move__Output } from './tollgate/v1/Move.ts';
import type { Nack as _tollgate_v1_Nack, Nack__Output as _tollgate_v1_Nack__Output } from './tollgate/v1/Nack.ts';
import type { PolicyServiceClient as _tollgate_v1_PolicyServiceClient, PolicyServiceDefinition as _tollgate_v1_PolicyServiceDefinition } from './tollgate/v1/PolicyService.ts';
import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from './tollgate/v1/Revision.ts';
import type { Snapshot as _tollgate_v1_Snapshot, Snapshot__Output as _tollgate_v1_Snapshot__Output } from './tollgate/v1/Snapshot.ts';
import type { Status as _tollgate_v1_Status, Status__Output as _tollgate_v1_Status__Output } from './tollgate/v1/Status.ts';
import type { SyncRequest as _tollgate_v1_SyncRequest, SyncRequest__Output as _tollgate_v1_SyncRequest__Output } from './tollgate/v1/SyncRequest.ts';
import type { SyncResponse as _tollgate_v1_SyncResponse, SyncResponse__Output as _tollgate_v1_SyncResponse__Output } from './tollgate/v1/SyncResponse.ts';
import type { Unchanged as _tollgate_v1_Unchanged, Unchanged__Output as _tollgate_v1_Unchanged__Output } from './tollgate/v1/Unchanged.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  tollgate: {
    v1: {
      Ack: MessageTypeDefinition<_tollgate_v1_Ack, _tollgate_v1_Ack__Output>
      ClockDifference: MessageTypeDefinition<_tollgate_v1_ClockDifference, _tollgate_v1_ClockDifference__Output>
      Delta: MessageTypeDefinition<_tollgate_v1_Delta, _tollgate_v1_Delta__Output>
      Entry: MessageTypeDefinition<_tollgate_v1_Entry, _tollgate_v1_Entry__Output>
      Form: EnumTypeDefinition
      Heartbeat: MessageTypeDefinition<_tollgate_v1_Heartbeat, _tollgate_v1_Heartbeat__Output>
      Hello: MessageTypeDefinition<_tollgate_v1_Hello, _tollgate_v1_Hello__Output>
      Move: MessageTypeDefinition<_tollgate_v1_Move, _tollgate_v1_Move__Output>
      Nack: MessageTypeDefinition<_tollgate_v1_Nack, _tollgate_v1_Nack__Output>
      PolicyService: SubtypeConstructor<typeof grpc.Client, _tollgate_v1_PolicyServiceClient> & { service: _tollgate_v1_PolicyServiceDefinition }
      Revision: MessageTypeDefinition<_tollgate_v1_Revision, _tollgate_v1_Revision__Output>
      Snapshot: MessageTypeDefinition<_tollgate_v1_Snapshot, _tollgate_v1_Snapshot__Output>
      Status: MessageTypeDefinition<_tollgate_v1_Status, _tollgate_v1_Status__Output>
      SyncRequest: MessageTypeDefinition<_tollgate_v1_SyncRequest, _tollgate_v1_SyncRequest__Output>
      SyncResponse: MessageTypeDefinition<_tollgate_v1_SyncResponse, _tollgate_v1_SyncResponse__Output>
      Unchanged: MessageTypeDefinition<_tollgate_v1_Unchanged, _tollgate_v1_Unchanged__Output>
    }
  }
}

