// Loads at run time the services through which other gateways send requests. Only the sidecar process uses them, so a
// library does not load them.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { type ChannelCredentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { ExtMcpClient } from './gen/agentgateway/dev/ext_mcp/ExtMcp.ts';
import type { AuthorizationClient } from './gen/envoy/service/auth/v3/Authorization.ts';
import type { ProtoGrpcType as ExtMcpPackage } from './gen/ext_mcp.ts';
import type { ProtoGrpcType as AuthorizationPackage } from './gen/external_auth.ts';

export type { AuthorizationError } from './gen/agentgateway/dev/ext_mcp/AuthorizationError.ts';
export type { ExtMcpClient, ExtMcpHandlers } from './gen/agentgateway/dev/ext_mcp/ExtMcp.ts';
export type { McpHeader, McpHeader__Output } from './gen/agentgateway/dev/ext_mcp/McpHeader.ts';
export type { McpRequest, McpRequest__Output } from './gen/agentgateway/dev/ext_mcp/McpRequest.ts';
export type { McpRequestResult } from './gen/agentgateway/dev/ext_mcp/McpRequestResult.ts';
export type { McpResponse, McpResponse__Output } from './gen/agentgateway/dev/ext_mcp/McpResponse.ts';
export type { McpResponseResult } from './gen/agentgateway/dev/ext_mcp/McpResponseResult.ts';
export type { AttributeContext__Output } from './gen/envoy/service/auth/v3/AttributeContext.ts';
export type { AuthorizationClient, AuthorizationHandlers } from './gen/envoy/service/auth/v3/Authorization.ts';
export type { CheckRequest, CheckRequest__Output } from './gen/envoy/service/auth/v3/CheckRequest.ts';
export type { CheckResponse } from './gen/envoy/service/auth/v3/CheckResponse.ts';
export type { Struct__Output } from './gen/google/protobuf/Struct.ts';

// This path is the same when the code runs from the sources and when it runs from dist.
const packageRoot = dirname(createRequire(import.meta.url).resolve('@tollgate/proto/package.json'));

const definition = loadSync(['envoy/service/auth/v3/external_auth.proto', 'agentgateway/dev/ext_mcp/ext_mcp.proto'], {
  includeDirs: [packageRoot],
  longs: Number,
  enums: String,
  defaults: true,
  oneofs: true,
});

// The types of grpc-js contain only the names in a loaded package. The generated types come from the same files, so
// they fit.
const loaded = loadPackageDefinition(definition) as unknown as ExtMcpPackage & AuthorizationPackage;

export const authorizationService = loaded.envoy.service.auth.v3.Authorization.service;
export const extMcpService = loaded.agentgateway.dev.ext_mcp.ExtMcp.service;

/** Creates a client like those in Envoy and agentgateway, at `address` (`host:port`). */
export const createAuthorizationClient = (address: string, credentials: ChannelCredentials): AuthorizationClient =>
  new loaded.envoy.service.auth.v3.Authorization(address, credentials);

export const createExtMcpClient = (address: string, credentials: ChannelCredentials): ExtMcpClient =>
  new loaded.agentgateway.dev.ext_mcp.ExtMcp(address, credentials);
