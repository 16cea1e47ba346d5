// Exports what is needed to decide by policy without a control plane: documents become snapshot entries, entries become
// an index, and the evaluator of the sidecars decides by that index. The control plane uses it to publish, explain,
// simulate, count and check self-edits. There is only one evaluator. Everything here is pure: the caller passes the
// time, and nothing is read or written.
//
// parsePolicySet or checkDocument → PolicySource → compileSnapshot → indexEntries → bindCaller → decide
//
// Units: times (`now`, `heardAt`, `startedAt`) and durations that end in `Ms` are milliseconds of one clock of the
// caller. `windowSeconds` and `maxStalenessSeconds` are seconds, `maxBudgetCents` is cents, `rateLimit` is calls in any
// window of `windowSeconds`. The expiry of a key is a `Date` in a source and milliseconds since 1970 in an entry.
//
// Errors: functions that check input from outside return problems, each with its place and a message, and throw
// nothing. The compiler does not check again. A source with documents that were not checked is refused when it is
// indexed: `indexEntries` and `indexOf` throw. A call that may not be made is a `Decision`, never an error.

// Documents. `parsePolicySet` reads a whole set, in the form of an export: `workspacePolicy`, and `rolePolicies`,
// `agentTypePolicies` and `userPolicies` by role, by `<client>::<tier>::<name>` and by uid. `checkDocument` checks one
// document of a layer. An empty list means that the document is valid. `documentSchema` returns the JSON Schema of such
// a document.
export {
  type AgentCeiling,
  agentTypeKeySchema,
  type CaseDocument,
  caseSchema,
  checkDocument,
  type DocumentKind,
  documentSchema,
  type PolicyDocument,
  type RuleDocument,
  type StoredDocument,
  type TierRulesDocument,
} from './policy-document.ts';
export type { AskDocument, AskTerms } from './ask.ts';
export { type CaseCount, caseCountProblem, countCases, readingConditions } from './document-cases.ts';
export { checkDocuments, documentsIn, isOfSet, parsePolicySet, type PolicySet, policySetOf, type WantedDocuments } from './policy-set.ts';
export { type RedactionDocument, redactionSection } from './redaction.ts';
export type { ToolNamesDocument } from './tool-names.ts';

// What a condition reads: paths of the input, and fields of variables.
export { conditionReads, type ReadPath } from './condition-reads.ts';

// The input of the compiler: the documents, agents, members, keys and servers of one workspace at one revision.
// Without a control plane, `epoch` is any text that is not empty, and `revision` any integer from 0.
export type { PolicyDefaults, PolicySource, WorkspaceKey } from './source.ts';

// Entries. Each has a key and the bytes of its JSON, and they are sorted by key. `compileSnapshot` makes all entries of
// a snapshot. The other functions make the entries of one kind, for a publisher that compiles only what has changed.
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

// The index and the caller. `bindCaller` makes a caller from an index and a claim. A claim is the identity (a key, and
// the subject that it names) and the chain of agents, from the root to the calling agent.
export { indexEntries, indexOf, type SnapshotName } from './index-of.ts';
export type { Index } from '../decide/build-index.ts';
export { bindCaller, documentIdsFor, documentsFor } from '../decide/bind.ts';
export type { Claim, Hop } from '../decide/call.ts';
export type { Caller } from '../decide/caller.ts';

// The decision of one call, and what earlier calls have used. `decide` changes nothing. To count a call, pass its
// decision to the method `record` on the usage of the run. The counters keep only numbers.
export { decide } from '../decide/decide.ts';
export type { Decision, Limit, LimitSet } from '../decide/decision.ts';
export { createCounters } from '../limits/counters.ts';
export { createRunUsage } from '../limits/usage.ts';

// Explains why a call gets its decision, without counting the call. Null: the subject does not exist.
export { createExplainer, explainCall, type ExplainQuestion } from './explain.ts';
export type { Explanation } from '../decide/explain.ts';

// The members who may answer what a rule asks.
export { eligibleApprovers } from '../decide/approvers.ts';
export { compileAsk } from './ask.ts';
export { anyCase } from '../decide/document.ts';
export { type Fold, foldDocuments } from '../decide/fold.ts';
export { type Kept, keptKinds } from '../decide/kept-kinds.ts';

// Tries single calls, each as if it were the first: for tests of policies. The function that `createTrial` returns counts
// nothing, and reads no clock.
export { createTrial, type TriedCall, type TriedCase, type TriedDecision, type TriedWorld } from './try-call.ts';

// Decides past calls again, by documents alone. The caller of such a call is built from its entry in the log. `CallFacts`
// is what conditions read of the call. A part of the input that the entry does not show is an `Undecided`.
export { replayedPolicyOf } from './replayed-policy.ts';
export {
  casesKey,
  createReplayedBinder,
  enforcedFold,
  permissionStanding,
  type ReplayedCaller,
  type ReplayedHop,
  type ReplayedPolicy,
  type Standing,
  transformStanding,
} from '../decide/replayed.ts';
export type { CallFacts } from '../decide/cases.ts';
export { Undecided, undecidedReasons } from '../conditions/values.ts';
