// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { McpRequest as _agentgateway_dev_ext_mcp_McpRequest, McpRequest__Output as _agentgateway_dev_ext_mcp_McpRequest__Output } from '../../../agentgateway/dev/ext_mcp/McpRequest.ts';
import type { McpRequestResult as _agentgateway_dev_ext_mcp_McpRequestResult, McpRequestResult__Output as _agentgateway_dev_ext_mcp_McpRequestResult__Output } from '../../../agentgateway/dev/ext_mcp/McpRequestResult.ts';
import type { McpResponse as _agentgateway_dev_ext_mcp_McpResponse, McpResponse__Output as _agentgateway_dev_ext_mcp_McpResponse__Output } from '../../../agentgateway/dev/ext_mcp/McpResponse.ts';
import type { McpResponseResult as _agentgateway_dev_ext_mcp_McpResponseResult, McpResponseResult__Output as _agentgateway_dev_ext_mcp_McpResponseResult__Output } from '../../../agentgateway/dev/ext_mcp/McpResponseResult.ts';

export interface ExtMcpClient extends grpc.Client {
  CheckRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  CheckRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  CheckRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  CheckRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  checkRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  checkRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  checkRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  checkRequest(argument: _agentgateway_dev_ext_mcp_McpRequest, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpRequestResult__Output>): grpc.ClientUnaryCall;
  
  CheckResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  CheckResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, metadata: grpc.Metadata, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  CheckResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  CheckResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  checkResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  checkResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, metadata: grpc.Metadata, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  checkResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, options: grpc.CallOptions, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  checkResponse(argument: _agentgateway_dev_ext_mcp_McpResponse, callback: grpc.requestCallback<_agentgateway_dev_ext_mcp_McpResponseResult__Output>): grpc.ClientUnaryCall;
  
}

export interface ExtMcpHandlers extends grpc.UntypedServiceImplementation {
  CheckRequest: grpc.handleUnaryCall<_agentgateway_dev_ext_mcp_McpRequest__Output, _agentgateway_dev_ext_mcp_McpRequestResult>;
  
  CheckResponse: grpc.handleUnaryCall<_agentgateway_dev_ext_mcp_McpResponse__Output, _agentgateway_dev_ext_mcp_McpResponseResult>;
  
}

export interface ExtMcpDefinition extends grpc.ServiceDefinition {
  CheckRequest: MethodDefinition<_agentgateway_dev_ext_mcp_McpRequest, _agentgateway_dev_ext_mcp_McpRequestResult, _agentgateway_dev_ext_mcp_McpRequest__Output, _agentgateway_dev_ext_mcp_McpRequestResult__Output>
  CheckResponse: MethodDefinition<_agentgateway_dev_ext_mcp_McpResponse, _agentgateway_dev_ext_mcp_McpResponseResult, _agentgateway_dev_ext_mcp_McpResponse__Output, _agentgateway_dev_ext_mcp_McpResponseResult__Output>
}
