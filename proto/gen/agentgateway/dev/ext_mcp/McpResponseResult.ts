// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto

import type { Pass as _agentgateway_dev_ext_mcp_Pass, Pass__Output as _agentgateway_dev_ext_mcp_Pass__Output } from '../../../agentgateway/dev/ext_mcp/Pass.ts';
import type { AuthorizationError as _agentgateway_dev_ext_mcp_AuthorizationError, AuthorizationError__Output as _agentgateway_dev_ext_mcp_AuthorizationError__Output } from '../../../agentgateway/dev/ext_mcp/AuthorizationError.ts';

export interface McpResponseResult {
  'pass'?: (_agentgateway_dev_ext_mcp_Pass | null);
  'mutated'?: (Buffer | Uint8Array | string);
  'error'?: (_agentgateway_dev_ext_mcp_AuthorizationError | null);
  'result'?: "pass"|"mutated"|"error";
}

export interface McpResponseResult__Output {
  'pass'?: (_agentgateway_dev_ext_mcp_Pass__Output | null);
  'mutated'?: (Buffer);
  'error'?: (_agentgateway_dev_ext_mcp_AuthorizationError__Output | null);
  'result'?: "pass"|"mutated"|"error";
}
