// Exports the contract that control plane and sidecars share. Everything here is pure: no clock, no I/O, no logger,
// nothing asynchronous.
export { isLoopback } from './address.ts';
export {
  type ApprovalAsk,
  type ApprovalLink,
  type ApprovalRefusal,
  approvalRefusals,
  type ApprovalState,
  type ApprovalStatus,
  approvalStates,
  askBounds,
  askDefaults,
  askDigest,
  type AskedCall,
  type AskingRule,
  type AskResult,
  type ClaimResult,
  type CompiledAsk,
  type HiddenValue,
  type OnDecided,
} from './approvals.ts';
export { isApprover, readAskTerms } from './ask-terms.ts';
export { bounds, capBounds } from './bounds.ts';
export {
  capabilities,
  capabilitiesProblem,
  isEntryKnown,
  loweredDocument,
  loweredRule,
  needable,
  needsOfSettings,
  type Needs,
  needsOfRule,
  policyNeeds,
} from './capabilities.ts';
export { AppError, codes, type ErrorCode } from './codes.ts';
export { snapshotEntryDigest, snapshotHash, snapshotHashAfter, snapshotHashOfParts } from './digest.ts';
export type { AuditEntry, EntryRule, Finding, TraceIds, UndecidedCase } from './entry.ts';
export { conditionBounds, conditionVariables, type Expression } from './expression.ts';
export { FairMemory } from './fair-memory.ts';
export { hashKey, parseKey } from './key.ts';
export { type NackCode, nackCodes } from './nack.ts';
export {
  type AgentType,
  agentTypeKey,
  intersectTools,
  isSlug,
  isUid,
  nameProblem,
  namesTool,
  parseAgentType,
  reasonProblem,
  uidProblem,
  wildcardPrefix,
} from './names.ts';
export { ownText } from './own-text.ts';
export { casePath, childPath, keyedPath, parseRulePath, rulePath } from './path.ts';
export { countFields, countValues, excessIn, tooDeep, tooManyValues } from './json-excess.ts';
export { isBlank, scalarEnd, skipBlanks, stringEnd } from './json-tokens.ts';
export { canonicalJson, digestText, type JsonSize, NotJson, payloadSize, quoteJson } from './canonical.ts';
export { isPublicAddress } from './public-address.ts';
export {
  type OnRecall,
  type QuotaAnswer,
  type QuotaAsk,
  type QuotaCounter,
  quotaCounterKey,
  type QuotaGrant,
  type QuotaLink,
  type QuotaResult,
  type RunOf,
  runIdOf,
  type SettledGrant,
  type UsedTokens,
} from './quota.ts';
export { type DenyCode, type DenyKind, isReasonCode, type ReasonCode, reasons, type ShadowMark, shadowMarks } from './reasons.ts';
export {
  type CompiledRedaction,
  isRedactionKind,
  overBudgetKind,
  ownKindProblem,
  plainRedaction,
  redactionBounds,
  type RedactionKind,
  redactionKinds,
} from './redaction.ts';
export { isRefusedCode, type RefusedCode, refusedCodes } from './refused.ts';
export type { RevisionName } from './revision.ts';
export {
  type CompiledAgent,
  type CompiledCase,
  type CompiledDocument,
  type CompiledKey,
  type CompiledMember,
  type CompiledServer,
  type CompiledSettings,
  type CompiledTarget,
  type DocumentId,
  documentKey,
  type Rule,
  snapshotSchemaVersion,
  type TierRules,
} from './snapshot.ts';
export {
  hasScope,
  isRole,
  isScope,
  isTier,
  type Layer,
  layers,
  type Part,
  type Permission,
  type RulePermission,
  rulePermissions,
  strictestPermission,
  isStricterPermission,
  parts,
  type Role,
  roles,
  type Scope,
  scopes,
  type Tier,
  type Transform,
  tiers,
  unreachable,
} from './words.ts';
export {
  type ConfigOf,
  type ConfigSchema,
  choice,
  configTable,
  integer,
  printableConfig,
  readConfig,
  text,
  type Variable,
} from './config.ts';
export {
  commandsProblem,
  headerNameProblem,
  headerValueProblem,
  isServerName,
  parseCommands,
  serverNameWords,
  serverUrlProblem,
} from './tool-servers.ts';
export { toolDefinitionDigest, toolHintNames, type ToolHints, toolHintsOf } from './tool-definition.ts';
export {
  type BroughtName,
  broughtBy,
  broughtName,
  broughtNameProblem,
  type CompiledToolNames,
  type HostName,
  hosts,
  isHost,
  plainToolNames,
  toolNamesMax,
} from './tool-names.ts';
export { programVariables } from './variables.ts';
