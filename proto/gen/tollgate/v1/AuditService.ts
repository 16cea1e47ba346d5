// Original file: tollgate/v1/audit.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { ShipRequest as _tollgate_v1_ShipRequest, ShipRequest__Output as _tollgate_v1_ShipRequest__Output } from '../../tollgate/v1/ShipRequest.ts';
import type { ShipResponse as _tollgate_v1_ShipResponse, ShipResponse__Output as _tollgate_v1_ShipResponse__Output } from '../../tollgate/v1/ShipResponse.ts';

export interface AuditServiceClient extends grpc.Client {
  Ship(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ShipRequest, _tollgate_v1_ShipResponse__Output>;
  Ship(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ShipRequest, _tollgate_v1_ShipResponse__Output>;
  ship(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ShipRequest, _tollgate_v1_ShipResponse__Output>;
  ship(options?: grpc.CallOptions): grpc.ClientDuplexStream<_tollgate_v1_ShipRequest, _tollgate_v1_ShipResponse__Output>;
  
}

export interface AuditServiceHandlers extends grpc.UntypedServiceImplementation {
  Ship: grpc.handleBidiStreamingCall<_tollgate_v1_ShipRequest__Output, _tollgate_v1_ShipResponse>;
  
}

export interface AuditServiceDefinition extends grpc.ServiceDefinition {
  Ship: MethodDefinition<_tollgate_v1_ShipRequest, _tollgate_v1_ShipResponse, _tollgate_v1_ShipRequest__Output, _tollgate_v1_ShipResponse__Output>
}
