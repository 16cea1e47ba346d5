// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto

import type { Struct as _google_protobuf_Struct, Struct__Output as _google_protobuf_Struct__Output } from '../../../google/protobuf/Struct.ts';

export interface McpResponse {
  'serviceNames'?: (string)[];
  'method'?: (string);
  'metadataContext'?: (_google_protobuf_Struct | null);
  'mcpResponse'?: (Buffer | Uint8Array | string);
}

export interface McpResponse__Output {
  'serviceNames': (string)[];
  'method': (string);
  'metadataContext': (_google_protobuf_Struct__Output | null);
  'mcpResponse': (Buffer);
}
