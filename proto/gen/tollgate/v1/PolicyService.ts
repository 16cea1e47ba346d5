// Original file: tollgate/v1/policy.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { SyncRequest as _tollgate_v1_SyncRequest, SyncRequest__Output as _tollgate_v1_SyncRequest__Output } from '../../tollgate/v1/SyncRequest.ts';
import type { SyncResponse as _tollgate_v1_SyncResponse, SyncResponse__Output as _tollgate_v1_SyncResponse__Output } from '../../tollgate/v1/SyncResponse.ts';

export interface PolicyServiceClient extends grpc.Client {
  Sync(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_SyncRequest, _tollgate_v1_SyncResponse__Output>;
  Sync(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_SyncRequest, _tollgate_v1_SyncResponse__Output>;
  sync(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_SyncRequest, _tollgate_v1_SyncResponse__Output>;
  sync(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_SyncRequest, _tollgate_v1_SyncResponse__Output>;
  
}

export interface PolicyServiceHandlers extends grpc.UntypedServiceImplementation {
  Sync: grpc.handleBidiStreamingCall<_tollgate_v1_SyncRequest__Output, _tollgate_v1_SyncResponse>;
  
}

export interface PolicyServiceDefinition extends grpc.ServiceDefinition {
  Sync: MethodDefinition<_tollgate_v1_SyncRequest, _tollgate_v1_SyncResponse, _tollgate_v1_SyncRequest__Output, _tollgate_v1_SyncResponse__Output>
}
