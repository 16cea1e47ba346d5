import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { Ack as _tollgate_v1_Ack, Ack__Output as _tollgate_v1_Ack__Output } from './tollgate/v1/Ack.ts';
import type { Answer as _tollgate_v1_Answer, Answer__Output as _tollgate_v1_Answer__Output } from './tollgate/v1/Answer.ts';
import type { Answers as _tollgate_v1_Answers, Answers__Output as _tollgate_v1_Answers__Output } from './tollgate/v1/Answers.ts';
import type { Ask as _tollgate_v1_Ask, Ask__Output as _tollgate_v1_Ask__Output } from './tollgate/v1/Ask.ts';
import type { Asks as _tollgate_v1_Asks, Asks__Output as _tollgate_v1_Asks__Output } from './tollgate/v1/Asks.ts';
import type { ClockDifference as _tollgate_v1_ClockDifference, ClockDifference__Output as _tollgate_v1_ClockDifference__Output } from './tollgate/v1/ClockDifference.ts';
import type { Counter as _tollgate_v1_Counter, Counter__Output as _tollgate_v1_Counter__Output } from './tollgate/v1/Counter.ts';
import type { Delta as _tollgate_v1_Delta, Delta__Output as _tollgate_v1_Delta__Output } from './tollgate/v1/Delta.ts';
import type { Entry as _tollgate_v1_Entry, Entry__Output as _tollgate_v1_Entry__Output } from './tollgate/v1/Entry.ts';
import type { Full as _tollgate_v1_Full, Full__Output as _tollgate_v1_Full__Output } from './tollgate/v1/Full.ts';
import type { Grant as _tollgate_v1_Grant, Grant__Output as _tollgate_v1_Grant__Output } from './tollgate/v1/Grant.ts';
import type { Heartbeat as _tollgate_v1_Heartbeat, Heartbeat__Output as _tollgate_v1_Heartbeat__Output } from './tollgate/v1/Heartbeat.ts';
import type { Hello as _tollgate_v1_Hello, Hello__Output as _tollgate_v1_Hello__Output } from './tollgate/v1/Hello.ts';
import type { Later as _tollgate_v1_Later, Later__Output as _tollgate_v1_Later__Output } from './tollgate/v1/Later.ts';
import type { LeaseHello as _tollgate_v1_LeaseHello, LeaseHello__Output as _tollgate_v1_LeaseHello__Output } from './tollgate/v1/LeaseHello.ts';
import type { LeaseRequest as _tollgate_v1_LeaseRequest, LeaseRequest__Output as _tollgate_v1_LeaseRequest__Output } from './tollgate/v1/LeaseRequest.ts';
import type { LeaseResponse as _tollgate_v1_LeaseResponse, LeaseResponse__Output as _tollgate_v1_LeaseResponse__Output } from './tollgate/v1/LeaseResponse.ts';
import type { Limit as _tollgate_v1_Limit, Limit__Output as _tollgate_v1_Limit__Output } from './tollgate/v1/Limit.ts';
import type { Move as _tollgate_v1_Move, Move__Output as _tollgate_v1_Move__Output } from './tollgate/v1/Move.ts';
import type { Nack as _tollgate_v1_Nack, Nack__Output as _tollgate_v1_Nack__Output } from './tollgate/v1/Nack.ts';
import type { NoSuchLimit as _tollgate_v1_NoSuchLimit, NoSuchLimit__Output as _tollgate_v1_NoSuchLimit__Output } from './tollgate/v1/NoSuchLimit.ts';
import type { PolicyServiceClient as _tollgate_v1_PolicyServiceClient, PolicyServiceDefinition as _tollgate_v1_PolicyServiceDefinition } from './tollgate/v1/PolicyService.ts';
import type { QuotaServiceClient as _tollgate_v1_QuotaServiceClient, QuotaServiceDefinition as _tollgate_v1_QuotaServiceDefinition } from './tollgate/v1/QuotaService.ts';
import type { Recall as _tollgate_v1_Recall, Recall__Output as _tollgate_v1_Recall__Output } from './tollgate/v1/Recall.ts';
import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from './tollgate/v1/Revision.ts';
import type { Settled as _tollgate_v1_Settled, Settled__Output as _tollgate_v1_Settled__Output } from './tollgate/v1/Settled.ts';
import type { SharedRun as _tollgate_v1_SharedRun, SharedRun__Output as _tollgate_v1_SharedRun__Output } from './tollgate/v1/SharedRun.ts';
import type { Snapshot as _tollgate_v1_Snapshot, Snapshot__Output as _tollgate_v1_Snapshot__Output } from './tollgate/v1/Snapshot.ts';
import type { Status as _tollgate_v1_Status, Status__Output as _tollgate_v1_Status__Output } from './tollgate/v1/Status.ts';
import type { SyncRequest as _tollgate_v1_SyncRequest, SyncRequest__Output as _tollgate_v1_SyncRequest__Output } from './tollgate/v1/SyncRequest.ts';
import type { SyncResponse as _tollgate_v1_SyncResponse, SyncResponse__Output as _tollgate_v1_SyncResponse__Output } from './tollgate/v1/SyncResponse.ts';
import type { Taken as _tollgate_v1_Taken, Taken__Output as _tollgate_v1_Taken__Output } from './tollgate/v1/Taken.ts';
import type { Unchanged as _tollgate_v1_Unchanged, Unchanged__Output as _tollgate_v1_Unchanged__Output } from './tollgate/v1/Unchanged.ts';
import type { Used as _tollgate_v1_Used, Used__Output as _tollgate_v1_Used__Output } from './tollgate/v1/Used.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  tollgate: {
    v1: {
      Ack: MessageTypeDefinition<_tollgate_v1_Ack, _tollgate_v1_Ack__Output>
      Answer: MessageTypeDefinition<_tollgate_v1_Answer, _tollgate_v1_Answer__Output>
      Answers: MessageTypeDefinition<_tollgate_v1_Answers, _tollgate_v1_Answers__Output>
      Ask: MessageTypeDefinition<_tollgate_v1_Ask, _tollgate_v1_Ask__Output>
      Asks: MessageTypeDefinition<_tollgate_v1_Asks, _tollgate_v1_Asks__Output>
      ClockDifference: MessageTypeDefinition<_tollgate_v1_ClockDifference, _tollgate_v1_ClockDifference__Output>
      Counter: MessageTypeDefinition<_tollgate_v1_Counter, _tollgate_v1_Counter__Output>
      Delta: MessageTypeDefinition<_tollgate_v1_Delta, _tollgate_v1_Delta__Output>
      Entry: MessageTypeDefinition<_tollgate_v1_Entry, _tollgate_v1_Entry__Output>
      Form: EnumTypeDefinition
      Full: MessageTypeDefinition<_tollgate_v1_Full, _tollgate_v1_Full__Output>
      Grant: MessageTypeDefinition<_tollgate_v1_Grant, _tollgate_v1_Grant__Output>
      Heartbeat: MessageTypeDefinition<_tollgate_v1_Heartbeat, _tollgate_v1_Heartbeat__Output>
      Hello: MessageTypeDefinition<_tollgate_v1_Hello, _tollgate_v1_Hello__Output>
      Later: MessageTypeDefinition<_tollgate_v1_Later, _tollgate_v1_Later__Output>
      LeaseHello: MessageTypeDefinition<_tollgate_v1_LeaseHello, _tollgate_v1_LeaseHello__Output>
      LeaseRequest: MessageTypeDefinition<_tollgate_v1_LeaseRequest, _tollgate_v1_LeaseRequest__Output>
      LeaseResponse: MessageTypeDefinition<_tollgate_v1_LeaseResponse, _tollgate_v1_LeaseResponse__Output>
      Limit: MessageTypeDefinition<_tollgate_v1_Limit, _tollgate_v1_Limit__Output>
      Move: MessageTypeDefinition<_tollgate_v1_Move, _tollgate_v1_Move__Output>
      Nack: MessageTypeDefinition<_tollgate_v1_Nack, _tollgate_v1_Nack__Output>
      NoSuchLimit: MessageTypeDefinition<_tollgate_v1_NoSuchLimit, _tollgate_v1_NoSuchLimit__Output>
      PolicyService: SubtypeConstructor<typeof grpc.Client, _tollgate_v1_PolicyServiceClient> & { service: _tollgate_v1_PolicyServiceDefinition }
      QuotaService: SubtypeConstructor<typeof grpc.Client, _tollgate_v1_QuotaServiceClient> & { service: _tollgate_v1_QuotaServiceDefinition }
      Recall: MessageTypeDefinition<_tollgate_v1_Recall, _tollgate_v1_Recall__Output>
      Revision: MessageTypeDefinition<_tollgate_v1_Revision, _tollgate_v1_Revision__Output>
      Settled: MessageTypeDefinition<_tollgate_v1_Settled, _tollgate_v1_Settled__Output>
      SharedRun: MessageTypeDefinition<_tollgate_v1_SharedRun, _tollgate_v1_SharedRun__Output>
      Snapshot: MessageTypeDefinition<_tollgate_v1_Snapshot, _tollgate_v1_Snapshot__Output>
      Status: MessageTypeDefinition<_tollgate_v1_Status, _tollgate_v1_Status__Output>
      SyncRequest: MessageTypeDefinition<_tollgate_v1_SyncRequest, _tollgate_v1_SyncRequest__Output>
      SyncResponse: MessageTypeDefinition<_tollgate_v1_SyncResponse, _tollgate_v1_SyncResponse__Output>
      Taken: MessageTypeDefinition<_tollgate_v1_Taken, _tollgate_v1_Taken__Output>
      Unchanged: MessageTypeDefinition<_tollgate_v1_Unchanged, _tollgate_v1_Unchanged__Output>
      Used: MessageTypeDefinition<_tollgate_v1_Used, _tollgate_v1_Used__Output>
    }
  }
}

