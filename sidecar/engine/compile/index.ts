// Exports the parts of the evaluator that the control plane uses to explain, simulate, count and check self-edits:
// there is only one evaluator. The counters are included. They receive the time from their caller and keep only
// numbers.
export { createCounters } from '../limits/counters.ts';
export { createRunUsage } from '../limits/usage.ts';
export { documentsFor } from '../decide/bind.ts';
export type { Index } from '../decide/build-index.ts';
export type { Caller } from '../decide/caller.ts';
export { decide } from '../decide/decide.ts';
export type { Decision, Limit, LimitSet } from '../decide/decision.ts';
export type { Explanation } from '../decide/explain.ts';
export { type Fold, foldDocuments } from '../decide/fold.ts';
export { type Kept, keptKinds } from '../decide/kept-kinds.ts';
export {
  createReplayedBinder,
  enforcedFold,
  permissionStanding,
  type ReplayedCaller,
  type ReplayedHop,
  type ReplayedPolicy,
  type Standing,
  transformStanding,
} from '../decide/replayed.ts';
export {
  byKey,
  compileAgent,
  compileParts,
  compileRedaction,
  compileSnapshot,
  isPinned,
  serverEntry,
  settingsEntry,
  type SnapshotEntry,
} from './compile.ts';
export { explainCall, type ExplainQuestion } from './explain.ts';
export { indexOf } from './index-of.ts';
export {
  type AgentCeiling,
  checkDocument,
  documentSchema,
  type PolicyDocument,
  type StoredDocument,
  type TierRulesDocument,
} from './policy-document.ts';
export { checkDocuments, isOfSet, parsePolicySet, type PolicySet, policySetOf, type WantedDocuments } from './policy-set.ts';
export { type RedactionDocument, redactionSection } from './redaction.ts';
export { replayedPolicyOf } from './replayed-policy.ts';
export type { PolicyDefaults, PolicySource, WorkspaceKey } from './source.ts';
