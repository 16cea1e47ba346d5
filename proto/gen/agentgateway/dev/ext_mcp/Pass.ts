// Original file: agentgateway/dev/ext_mcp/ext_mcp.proto


export interface Pass {
}

export interface Pass__Output {
}
