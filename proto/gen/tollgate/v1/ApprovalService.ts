// Original file: tollgate/v1/approval.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { ApprovalRequest as _tollgate_v1_ApprovalRequest, ApprovalRequest__Output as _tollgate_v1_ApprovalRequest__Output } from '../../tollgate/v1/ApprovalRequest.ts';
import type { ApprovalResponse as _tollgate_v1_ApprovalResponse, ApprovalResponse__Output as _tollgate_v1_ApprovalResponse__Output } from '../../tollgate/v1/ApprovalResponse.ts';

export interface ApprovalServiceClient extends grpc.Client {
  Approve(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApprovalRequest, _tollgate_v1_ApprovalResponse__Output>;
  Approve(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApprovalRequest, _tollgate_v1_ApprovalResponse__Output>;
  approve(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApprovalRequest, _tollgate_v1_ApprovalResponse__Output>;
  approve(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ApprovalRequest, _tollgate_v1_ApprovalResponse__Output>;
  
}

export interface ApprovalServiceHandlers extends grpc.UntypedServiceImplementation {
  Approve: grpc.handleBidiStreamingCall<_tollgate_v1_ApprovalRequest__Output, _tollgate_v1_ApprovalResponse>;
  
}

export interface ApprovalServiceDefinition extends grpc.ServiceDefinition {
  Approve: MethodDefinition<_tollgate_v1_ApprovalRequest, _tollgate_v1_ApprovalResponse, _tollgate_v1_ApprovalRequest__Output, _tollgate_v1_ApprovalResponse__Output>
}
