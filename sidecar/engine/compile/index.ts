// Exports the parts of the evaluator that the control plane uses to explain, simulate, count and check self-edits:
// there is only one evaluator. The counters are included. They receive the time from their caller and keep only
// numbers.
export { createCounters } from '../limits/counters.ts';
export { createRunUsage } from '../limits/usage.ts';
export { verifySnapshot } from '../snapshot/verify.ts';
export { documentIdsFor, documentsFor } from '../decide/bind.ts';
export { buildIndex, type Index } from '../decide/build-index.ts';
export type { Caller } from '../decide/caller.ts';
export { decide } from '../decide/decide.ts';
export type { Decision, Limit, LimitSet } from '../decide/decision.ts';
export { type IndexedDocument, indexDocument } from '../decide/document.ts';
export { type Explanation, explain, type Question } from '../decide/explain.ts';
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
