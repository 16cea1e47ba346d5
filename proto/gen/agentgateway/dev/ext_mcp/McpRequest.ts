// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto

import type { Struct as _google_protobuf_Struct, Struct__Output as _google_protobuf_Struct__Output } from '../../../google/protobuf/Struct.ts';
import type { McpHeader as _agentgateway_dev_ext_mcp_McpHeader, McpHeader__Output as _agentgateway_dev_ext_mcp_McpHeader__Output } from '../../../agentgateway/dev/ext_mcp/McpHeader.ts';

export interface McpRequest {
  'serviceNames'?: (string)[];
  'method'?: (string);
  'metadataContext'?: (_google_protobuf_Struct | null);
  'mcpRequest'?: (Buffer | Uint8Array | string);
  'headers'?: (_agentgateway_dev_ext_mcp_McpHeader)[];
  '_mcpRequest'?: "mcpRequest";
}

export interface McpRequest__Output {
  'serviceNames': (string)[];
  'method': (string);
  'metadataContext': (_google_protobuf_Struct__Output | null);
  'mcpRequest'?: (Buffer);
  'headers': (_agentgateway_dev_ext_mcp_McpHeader__Output)[];
  '_mcpRequest'?: "mcpRequest";
}
