// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto


export interface McpHeader {
  'key'?: (string);
  'value'?: (Buffer | Uint8Array | string);
}

export interface McpHeader__Output {
  'key': (string);
  'value': (Buffer);
}
