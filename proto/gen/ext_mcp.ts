import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { AuthorizationError as _agentgateway_dev_ext_mcp_AuthorizationError, AuthorizationError__Output as _agentgateway_dev_ext_mcp_AuthorizationError__Output } from './agentgateway/dev/ext_mcp/AuthorizationError.ts';
import type { ExtMcpClient as _agentgateway_dev_ext_mcp_ExtMcpClient, ExtMcpDefinition as _agentgateway_dev_ext_mcp_ExtMcpDefinition } from './agentgateway/dev/ext_mcp/ExtMcp.ts';
import type { HeaderMutation as _agentgateway_dev_ext_mcp_HeaderMutation, HeaderMutation__Output as _agentgateway_dev_ext_mcp_HeaderMutation__Output } from './agentgateway/dev/ext_mcp/HeaderMutation.ts';
import type { McpHeader as _agentgateway_dev_ext_mcp_McpHeader, McpHeader__Output as _agentgateway_dev_ext_mcp_McpHeader__Output } from './agentgateway/dev/ext_mcp/McpHeader.ts';
import type { McpRequest as _agentgateway_dev_ext_mcp_McpRequest, McpRequest__Output as _agentgateway_dev_ext_mcp_McpRequest__Output } from './agentgateway/dev/ext_mcp/McpRequest.ts';
import type { McpRequestResult as _agentgateway_dev_ext_mcp_McpRequestResult, McpRequestResult__Output as _agentgateway_dev_ext_mcp_McpRequestResult__Output } from './agentgateway/dev/ext_mcp/McpRequestResult.ts';
import type { McpResponse as _agentgateway_dev_ext_mcp_McpResponse, McpResponse__Output as _agentgateway_dev_ext_mcp_McpResponse__Output } from './agentgateway/dev/ext_mcp/McpResponse.ts';
import type { McpResponseResult as _agentgateway_dev_ext_mcp_McpResponseResult, McpResponseResult__Output as _agentgateway_dev_ext_mcp_McpResponseResult__Output } from './agentgateway/dev/ext_mcp/McpResponseResult.ts';
import type { Pass as _agentgateway_dev_ext_mcp_Pass, Pass__Output as _agentgateway_dev_ext_mcp_Pass__Output } from './agentgateway/dev/ext_mcp/Pass.ts';
import type { ListValue as _google_protobuf_ListValue, ListValue__Output as _google_protobuf_ListValue__Output } from './google/protobuf/ListValue.ts';
import type { Struct as _google_protobuf_Struct, Struct__Output as _google_protobuf_Struct__Output } from './google/protobuf/Struct.ts';
import type { Value as _google_protobuf_Value, Value__Output as _google_protobuf_Value__Output } from './google/protobuf/Value.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  agentgateway: {
    dev: {
      ext_mcp: {
        AuthorizationError: MessageTypeDefinition<_agentgateway_dev_ext_mcp_AuthorizationError, _agentgateway_dev_ext_mcp_AuthorizationError__Output>
        ExtMcp: SubtypeConstructor<typeof grpc.Client, _agentgateway_dev_ext_mcp_ExtMcpClient> & { service: _agentgateway_dev_ext_mcp_ExtMcpDefinition }
        HeaderMutation: MessageTypeDefinition<_agentgateway_dev_ext_mcp_HeaderMutation, _agentgateway_dev_ext_mcp_HeaderMutation__Output>
        McpHeader: MessageTypeDefinition<_agentgateway_dev_ext_mcp_McpHeader, _agentgateway_dev_ext_mcp_McpHeader__Output>
        McpRequest: MessageTypeDefinition<_agentgateway_dev_ext_mcp_McpRequest, _agentgateway_dev_ext_mcp_McpRequest__Output>
        McpRequestResult: MessageTypeDefinition<_agentgateway_dev_ext_mcp_McpRequestResult, _agentgateway_dev_ext_mcp_McpRequestResult__Output>
        McpResponse: MessageTypeDefinition<_agentgateway_dev_ext_mcp_McpResponse, _agentgateway_dev_ext_mcp_McpResponse__Output>
        McpResponseResult: MessageTypeDefinition<_agentgateway_dev_ext_mcp_McpResponseResult, _agentgateway_dev_ext_mcp_McpResponseResult__Output>
        Pass: MessageTypeDefinition<_agentgateway_dev_ext_mcp_Pass, _agentgateway_dev_ext_mcp_Pass__Output>
      }
    }
  }
  google: {
    protobuf: {
      ListValue: MessageTypeDefinition<_google_protobuf_ListValue, _google_protobuf_ListValue__Output>
      NullValue: EnumTypeDefinition
      Struct: MessageTypeDefinition<_google_protobuf_Struct, _google_protobuf_Struct__Output>
      Value: MessageTypeDefinition<_google_protobuf_Value, _google_protobuf_Value__Output>
    }
  }
}

