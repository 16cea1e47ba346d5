// Original file: tollgate/v1/approval.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { ApproveRequest as _tollgate_v1_ApproveRequest, ApproveRequest__Output as _tollgate_v1_ApproveRequest__Output } from '../../tollgate/v1/ApproveRequest.ts';
import type { ApproveResponse as _tollgate_v1_ApproveResponse, ApproveResponse__Output as _tollgate_v1_ApproveResponse__Output } from '../../tollgate/v1/ApproveResponse.ts';

export interface ApprovalServiceClient extends grpc.Client {
  Approve(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApproveRequest, _tollgate_v1_ApproveResponse__Output>;
  Approve(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApproveRequest, _tollgate_v1_ApproveResponse__Output>;
  approve(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApproveRequest, _tollgate_v1_ApproveResponse__Output>;
  approve(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApproveRequest, _tollgate_v1_ApproveResponse__Output>;
  
}

export interface ApprovalServiceHandlers extends grpc.UntypedServiceImplementation {
  Approve: grpc.handleBidiStreamingCall<_tollgate_v1_ApproveRequest__Output, _tollgate_v1_ApproveResponse>;
  
}

export interface ApprovalServiceDefinition extends grpc.ServiceDefinition {
  Approve: MethodDefinition<_tollgate_v1_ApproveRequest, _tollgate_v1_ApproveResponse, _tollgate_v1_ApproveRequest__Output, _tollgate_v1_ApproveResponse__Output>
}
