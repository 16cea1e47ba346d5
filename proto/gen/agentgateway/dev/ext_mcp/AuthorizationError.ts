// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto


// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto

export const _agentgateway_dev_ext_mcp_AuthorizationError_Code = {
  UNKNOWN: 'UNKNOWN',
  PERMISSION_DENIED: 'PERMISSION_DENIED',
  RESOURCE_EXHAUSTED: 'RESOURCE_EXHAUSTED',
  INVALID: 'INVALID',
} as const;

export type _agentgateway_dev_ext_mcp_AuthorizationError_Code =
  | 'UNKNOWN'
  | 0
  | 'PERMISSION_DENIED'
  | 1
  | 'RESOURCE_EXHAUSTED'
  | 2
  | 'INVALID'
  | 3

export type _agentgateway_dev_ext_mcp_AuthorizationError_Code__Output = typeof _agentgateway_dev_ext_mcp_AuthorizationError_Code[keyof typeof _agentgateway_dev_ext_mcp_AuthorizationError_Code]

export interface AuthorizationError {
  'code'?: (_agentgateway_dev_ext_mcp_AuthorizationError_Code);
  'reason'?: (string);
  'mcpError'?: (Buffer | Uint8Array | string);
  '_mcpError'?: "mcpError";
}

export interface AuthorizationError__Output {
  'code': (_agentgateway_dev_ext_mcp_AuthorizationError_Code__Output);
  'reason': (string);
  'mcpError'?: (Buffer);
  '_mcpError'?: "mcpError";
}
