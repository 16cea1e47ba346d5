import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { Ack as _tollgate_v1_Ack, Ack__Output as _tollgate_v1_Ack__Output } from './tollgate/v1/Ack.ts';
import type { ApprovalHello as _tollgate_v1_ApprovalHello, ApprovalHello__Output as _tollgate_v1_ApprovalHello__Output } from './tollgate/v1/ApprovalHello.ts';
import type { ApprovalServiceClient as _tollgate_v1_ApprovalServiceClient, ApprovalServiceDefinition as _tollgate_v1_ApprovalServiceDefinition } from './tollgate/v1/ApprovalService.ts';
import type { ApprovalStatus as _tollgate_v1_ApprovalStatus, ApprovalStatus__Output as _tollgate_v1_ApprovalStatus__Output } from './tollgate/v1/ApprovalStatus.ts';
import type { ApproveRequest as _tollgate_v1_ApproveRequest, ApproveRequest__Output as _tollgate_v1_ApproveRequest__Output } from './tollgate/v1/ApproveRequest.ts';
import type { ApproveResponse as _tollgate_v1_ApproveResponse, ApproveResponse__Output as _tollgate_v1_ApproveResponse__Output } from './tollgate/v1/ApproveResponse.ts';
import type { AskApproval as _tollgate_v1_AskApproval, AskApproval__Output as _tollgate_v1_AskApproval__Output } from './tollgate/v1/AskApproval.ts';
import type { Asked as _tollgate_v1_Asked, Asked__Output as _tollgate_v1_Asked__Output } from './tollgate/v1/Asked.ts';
import type { AskedCall as _tollgate_v1_AskedCall, AskedCall__Output as _tollgate_v1_AskedCall__Output } from './tollgate/v1/AskedCall.ts';
import type { AskingRule as _tollgate_v1_AskingRule, AskingRule__Output as _tollgate_v1_AskingRule__Output } from './tollgate/v1/AskingRule.ts';
import type { ClaimUse as _tollgate_v1_ClaimUse, ClaimUse__Output as _tollgate_v1_ClaimUse__Output } from './tollgate/v1/ClaimUse.ts';
import type { Claimed as _tollgate_v1_Claimed, Claimed__Output as _tollgate_v1_Claimed__Output } from './tollgate/v1/Claimed.ts';
import type { ClockDifference as _tollgate_v1_ClockDifference, ClockDifference__Output as _tollgate_v1_ClockDifference__Output } from './tollgate/v1/ClockDifference.ts';
import type { Delta as _tollgate_v1_Delta, Delta__Output as _tollgate_v1_Delta__Output } from './tollgate/v1/Delta.ts';
import type { Entry as _tollgate_v1_Entry, Entry__Output as _tollgate_v1_Entry__Output } from './tollgate/v1/Entry.ts';
import type { Heartbeat as _tollgate_v1_Heartbeat, Heartbeat__Output as _tollgate_v1_Heartbeat__Output } from './tollgate/v1/Heartbeat.ts';
import type { Hello as _tollgate_v1_Hello, Hello__Output as _tollgate_v1_Hello__Output } from './tollgate/v1/Hello.ts';
import type { Move as _tollgate_v1_Move, Move__Output as _tollgate_v1_Move__Output } from './tollgate/v1/Move.ts';
import type { Nack as _tollgate_v1_Nack, Nack__Output as _tollgate_v1_Nack__Output } from './tollgate/v1/Nack.ts';
import type { PolicyServiceClient as _tollgate_v1_PolicyServiceClient, PolicyServiceDefinition as _tollgate_v1_PolicyServiceDefinition } from './tollgate/v1/PolicyService.ts';
import type { Read as _tollgate_v1_Read, Read__Output as _tollgate_v1_Read__Output } from './tollgate/v1/Read.ts';
import type { ReadApproval as _tollgate_v1_ReadApproval, ReadApproval__Output as _tollgate_v1_ReadApproval__Output } from './tollgate/v1/ReadApproval.ts';
import type { RefusedAsk as _tollgate_v1_RefusedAsk, RefusedAsk__Output as _tollgate_v1_RefusedAsk__Output } from './tollgate/v1/RefusedAsk.ts';
import type { ReturnUse as _tollgate_v1_ReturnUse, ReturnUse__Output as _tollgate_v1_ReturnUse__Output } from './tollgate/v1/ReturnUse.ts';
import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from './tollgate/v1/Revision.ts';
import type { Snapshot as _tollgate_v1_Snapshot, Snapshot__Output as _tollgate_v1_Snapshot__Output } from './tollgate/v1/Snapshot.ts';
import type { Status as _tollgate_v1_Status, Status__Output as _tollgate_v1_Status__Output } from './tollgate/v1/Status.ts';
import type { SyncRequest as _tollgate_v1_SyncRequest, SyncRequest__Output as _tollgate_v1_SyncRequest__Output } from './tollgate/v1/SyncRequest.ts';
import type { SyncResponse as _tollgate_v1_SyncResponse, SyncResponse__Output as _tollgate_v1_SyncResponse__Output } from './tollgate/v1/SyncResponse.ts';
import type { Unchanged as _tollgate_v1_Unchanged, Unchanged__Output as _tollgate_v1_Unchanged__Output } from './tollgate/v1/Unchanged.ts';
import type { WatchApproval as _tollgate_v1_WatchApproval, WatchApproval__Output as _tollgate_v1_WatchApproval__Output } from './tollgate/v1/WatchApproval.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  tollgate: {
    v1: {
      Ack: MessageTypeDefinition<_tollgate_v1_Ack, _tollgate_v1_Ack__Output>
      ApprovalHello: MessageTypeDefinition<_tollgate_v1_ApprovalHello, _tollgate_v1_ApprovalHello__Output>
      ApprovalService: SubtypeConstructor<typeof grpc.Client, _tollgate_v1_ApprovalServiceClient> & { service: _tollgate_v1_ApprovalServiceDefinition }
      ApprovalState: EnumTypeDefinition
      ApprovalStatus: MessageTypeDefinition<_tollgate_v1_ApprovalStatus, _tollgate_v1_ApprovalStatus__Output>
      ApproveRequest: MessageTypeDefinition<_tollgate_v1_ApproveRequest, _tollgate_v1_ApproveRequest__Output>
      ApproveResponse: MessageTypeDefinition<_tollgate_v1_ApproveResponse, _tollgate_v1_ApproveResponse__Output>
      AskApproval: MessageTypeDefinition<_tollgate_v1_AskApproval, _tollgate_v1_AskApproval__Output>
      Asked: MessageTypeDefinition<_tollgate_v1_Asked, _tollgate_v1_Asked__Output>
      AskedCall: MessageTypeDefinition<_tollgate_v1_AskedCall, _tollgate_v1_AskedCall__Output>
      AskingRule: MessageTypeDefinition<_tollgate_v1_AskingRule, _tollgate_v1_AskingRule__Output>
      ClaimUse: MessageTypeDefinition<_tollgate_v1_ClaimUse, _tollgate_v1_ClaimUse__Output>
      Claimed: MessageTypeDefinition<_tollgate_v1_Claimed, _tollgate_v1_Claimed__Output>
      ClockDifference: MessageTypeDefinition<_tollgate_v1_ClockDifference, _tollgate_v1_ClockDifference__Output>
      Delta: MessageTypeDefinition<_tollgate_v1_Delta, _tollgate_v1_Delta__Output>
      Entry: MessageTypeDefinition<_tollgate_v1_Entry, _tollgate_v1_Entry__Output>
      Form: EnumTypeDefinition
      Heartbeat: MessageTypeDefinition<_tollgate_v1_Heartbeat, _tollgate_v1_Heartbeat__Output>
      Hello: MessageTypeDefinition<_tollgate_v1_Hello, _tollgate_v1_Hello__Output>
      Move: MessageTypeDefinition<_tollgate_v1_Move, _tollgate_v1_Move__Output>
      Nack: MessageTypeDefinition<_tollgate_v1_Nack, _tollgate_v1_Nack__Output>
      PolicyService: SubtypeConstructor<typeof grpc.Client, _tollgate_v1_PolicyServiceClient> & { service: _tollgate_v1_PolicyServiceDefinition }
      Read: MessageTypeDefinition<_tollgate_v1_Read, _tollgate_v1_Read__Output>
      ReadApproval: MessageTypeDefinition<_tollgate_v1_ReadApproval, _tollgate_v1_ReadApproval__Output>
      RefusedAsk: MessageTypeDefinition<_tollgate_v1_RefusedAsk, _tollgate_v1_RefusedAsk__Output>
      ReturnUse: MessageTypeDefinition<_tollgate_v1_ReturnUse, _tollgate_v1_ReturnUse__Output>
      Revision: MessageTypeDefinition<_tollgate_v1_Revision, _tollgate_v1_Revision__Output>
      Snapshot: MessageTypeDefinition<_tollgate_v1_Snapshot, _tollgate_v1_Snapshot__Output>
      Status: MessageTypeDefinition<_tollgate_v1_Status, _tollgate_v1_Status__Output>
      SyncRequest: MessageTypeDefinition<_tollgate_v1_SyncRequest, _tollgate_v1_SyncRequest__Output>
      SyncResponse: MessageTypeDefinition<_tollgate_v1_SyncResponse, _tollgate_v1_SyncResponse__Output>
      Unchanged: MessageTypeDefinition<_tollgate_v1_Unchanged, _tollgate_v1_Unchanged__Output>
      WatchApproval: MessageTypeDefinition<_tollgate_v1_WatchApproval, _tollgate_v1_WatchApproval__Output>
    }
  }
}

