// Loads the contract at run time. Servers use its service definitions, and sidecars use its client classes. The
// generated types in `gen` describe the messages.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { type ChannelCredentials, type ChannelOptions, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { ProtoGrpcType as ApprovalPackage } from './gen/approval.ts';
import type { ProtoGrpcType as AuditPackage } from './gen/audit.ts';
import type { ProtoGrpcType as PolicyPackage } from './gen/policy.ts';
import type { ProtoGrpcType as QuotaPackage } from './gen/quota.ts';
import type { ApprovalServiceClient } from './gen/tollgate/v1/ApprovalService.ts';
import type { AuditServiceClient } from './gen/tollgate/v1/AuditService.ts';
import type { PolicyServiceClient } from './gen/tollgate/v1/PolicyService.ts';
import type { QuotaServiceClient } from './gen/tollgate/v1/QuotaService.ts';

export type { ApproveRequest, ApproveRequest__Output } from './gen/tollgate/v1/ApproveRequest.ts';
export type { ApproveResponse, ApproveResponse__Output } from './gen/tollgate/v1/ApproveResponse.ts';
export type { ApprovalServiceClient, ApprovalServiceHandlers } from './gen/tollgate/v1/ApprovalService.ts';
export type { AuditServiceClient, AuditServiceHandlers } from './gen/tollgate/v1/AuditService.ts';
export type { Answer, Answer__Output } from './gen/tollgate/v1/Answer.ts';
export type { Ask, Ask__Output } from './gen/tollgate/v1/Ask.ts';
export type { LeaseRequest, LeaseRequest__Output } from './gen/tollgate/v1/LeaseRequest.ts';
export type { LeaseResponse, LeaseResponse__Output } from './gen/tollgate/v1/LeaseResponse.ts';
export type { Batch, Batch__Output } from './gen/tollgate/v1/Batch.ts';
export type { Delta, Delta__Output } from './gen/tollgate/v1/Delta.ts';
export type { Hello__Output } from './gen/tollgate/v1/Hello.ts';
export type { Entry, Entry__Output } from './gen/tollgate/v1/Entry.ts';
export type { PolicyServiceClient, PolicyServiceHandlers } from './gen/tollgate/v1/PolicyService.ts';
export type { QuotaServiceClient, QuotaServiceHandlers } from './gen/tollgate/v1/QuotaService.ts';
export type { Record as AuditRecord, Record__Output as AuditRecord__Output } from './gen/tollgate/v1/Record.ts';
export type { Revision, Revision__Output } from './gen/tollgate/v1/Revision.ts';
export type { ShipRequest, ShipRequest__Output } from './gen/tollgate/v1/ShipRequest.ts';
export type { ShipResponse, ShipResponse__Output } from './gen/tollgate/v1/ShipResponse.ts';
export type { Snapshot, Snapshot__Output } from './gen/tollgate/v1/Snapshot.ts';
export type { Status, Status__Output } from './gen/tollgate/v1/Status.ts';
export type { SyncRequest, SyncRequest__Output } from './gen/tollgate/v1/SyncRequest.ts';
export type { SyncResponse, SyncResponse__Output } from './gen/tollgate/v1/SyncResponse.ts';
export { counterFrom, counterOf } from './quota-counter.ts';

// This path is the same when the code runs from the sources and when it runs from dist.
const packageRoot = dirname(createRequire(import.meta.url).resolve('@tollgate/proto/package.json'));

const definition = loadSync(
  ['tollgate/v1/policy.proto', 'tollgate/v1/audit.proto', 'tollgate/v1/quota.proto', 'tollgate/v1/approval.proto'],
  {
    includeDirs: [packageRoot],
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  },
);

// The types of grpc-js contain only the names in a loaded package. The generated types come from the same files, so
// they fit.
const loaded = loadPackageDefinition(definition) as unknown as PolicyPackage & AuditPackage & QuotaPackage & ApprovalPackage;

export const policyService = loaded.tollgate.v1.PolicyService.service;
export const quotaService = loaded.tollgate.v1.QuotaService.service;
export const approvalService = loaded.tollgate.v1.ApprovalService.service;
export const auditService = loaded.tollgate.v1.AuditService.service;

/** Creates a client of `PolicyService` at `address` (`host:port`). It connects at its first call. */
export function createPolicyClient(address: string, credentials: ChannelCredentials, options: ChannelOptions): PolicyServiceClient {
  return new loaded.tollgate.v1.PolicyService(address, credentials, options);
}

/** Creates a client of `ApprovalService` at `address` (`host:port`). It connects at its first call. */
export function createApprovalClient(address: string, credentials: ChannelCredentials, options: ChannelOptions): ApprovalServiceClient {
  return new loaded.tollgate.v1.ApprovalService(address, credentials, options);
}

/** Creates a client of `AuditService` at `address` (`host:port`). It connects at its first call. */
export function createAuditClient(address: string, credentials: ChannelCredentials, options: ChannelOptions): AuditServiceClient {
  return new loaded.tollgate.v1.AuditService(address, credentials, options);
}

/** Creates a client of `QuotaService` at `address` (`host:port`). It connects at its first call. */
export function createQuotaClient(address: string, credentials: ChannelCredentials, options: ChannelOptions): QuotaServiceClient {
  return new loaded.tollgate.v1.QuotaService(address, credentials, options);
}
