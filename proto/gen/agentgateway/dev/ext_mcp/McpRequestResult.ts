// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto

import type { Pass as _agentgateway_dev_ext_mcp_Pass, Pass__Output as _agentgateway_dev_ext_mcp_Pass__Output } from '../../../agentgateway/dev/ext_mcp/Pass.ts';
import type { AuthorizationError as _agentgateway_dev_ext_mcp_AuthorizationError, AuthorizationError__Output as _agentgateway_dev_ext_mcp_AuthorizationError__Output } from '../../../agentgateway/dev/ext_mcp/AuthorizationError.ts';
import type { HeaderMutation as _agentgateway_dev_ext_mcp_HeaderMutation, HeaderMutation__Output as _agentgateway_dev_ext_mcp_HeaderMutation__Output } from '../../../agentgateway/dev/ext_mcp/HeaderMutation.ts';
import type { Struct as _google_protobuf_Struct, Struct__Output as _google_protobuf_Struct__Output } from '../../../google/protobuf/Struct.ts';

export interface McpRequestResult {
  'pass'?: (_agentgateway_dev_ext_mcp_Pass | null);
  'mutated'?: (Buffer | Uint8Array | string);
  'error'?: (_agentgateway_dev_ext_mcp_AuthorizationError | null);
  'headerMutation'?: (_agentgateway_dev_ext_mcp_HeaderMutation | null);
  'metadata'?: (_google_protobuf_Struct | null);
  'result'?: "pass"|"mutated"|"error";
}

export interface McpRequestResult__Output {
  'pass'?: (_agentgateway_dev_ext_mcp_Pass__Output | null);
  'mutated'?: (Buffer);
  'error'?: (_agentgateway_dev_ext_mcp_AuthorizationError__Output | null);
  'headerMutation': (_agentgateway_dev_ext_mcp_HeaderMutation__Output | null);
  'metadata': (_google_protobuf_Struct__Output | null);
  'result'?: "pass"|"mutated"|"error";
}
