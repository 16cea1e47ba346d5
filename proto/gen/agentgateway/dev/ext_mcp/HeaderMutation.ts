// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto

import type { McpHeader as _agentgateway_dev_ext_mcp_McpHeader, McpHeader__Output as _agentgateway_dev_ext_mcp_McpHeader__Output } from '../../../agentgateway/dev/ext_mcp/McpHeader.ts';

export interface HeaderMutation {
  'set'?: (_agentgateway_dev_ext_mcp_McpHeader)[];
  'remove'?: (string)[];
}

export interface HeaderMutation__Output {
  'set': (_agentgateway_dev_ext_mcp_McpHeader__Output)[];
  'remove': (string)[];
}
