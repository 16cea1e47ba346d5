// Original file: tollgate/v1/quota.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { LeaseRequest as _tollgate_v1_LeaseRequest, LeaseRequest__Output as _tollgate_v1_LeaseRequest__Output } from '../../tollgate/v1/LeaseRequest.ts';
import type { LeaseResponse as _tollgate_v1_LeaseResponse, LeaseResponse__Output as _tollgate_v1_LeaseResponse__Output } from '../../tollgate/v1/LeaseResponse.ts';

export interface QuotaServiceClient extends grpc.Client {
  Lease(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_LeaseRequest, _tollgate_v1_LeaseResponse__Output>;
  Lease(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_LeaseRequest, _tollgate_v1_LeaseResponse__Output>;
  lease(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_LeaseRequest, _tollgate_v1_LeaseResponse__Output>;
  lease(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_LeaseRequest, _tollgate_v1_LeaseResponse__Output>;
  
}

export interface QuotaServiceHandlers extends grpc.UntypedServiceImplementation {
  Lease: grpc.handleBidiStreamingCall<_tollgate_v1_LeaseRequest__Output, _tollgate_v1_LeaseResponse>;
  
}

export interface QuotaServiceDefinition extends grpc.ServiceDefinition {
  Lease: MethodDefinition<_tollgate_v1_LeaseRequest, _tollgate_v1_LeaseResponse, _tollgate_v1_LeaseRequest__Output, _tollgate_v1_LeaseResponse__Output>
}
