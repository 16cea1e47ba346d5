// Exports the parts of the evaluator that the control plane uses to explain, simulate, count and check self-edits:
// there is only one evaluator. The counters are included. They receive the time from their caller and keep only
// numbers.
export { createCounters } from '../limits/counters.ts';
export { createRunUsage } from '../limits/usage.ts';
export { verifySnapshot } from '../snapshot/verify.ts';
export { documentIdsFor, documentsFor } from './bind.ts';
export { buildIndex, type Index } from './build-index.ts';
export type { Caller } from './caller.ts';
export { decide } from './decide.ts';
export type { Decision, Limit, LimitSet } from './decision.ts';
export { type IndexedDocument, indexDocument } from './document.ts';
export { type Explanation, explain, type Question } from './explain.ts';
export { type Fold, foldDocuments } from './fold.ts';
export { type Kept, keptKinds } from './kept-kinds.ts';
export {
  createReplayedBinder,
  enforcedFold,
  permissionStanding,
  type ReplayedCaller,
  type ReplayedHop,
  type ReplayedPolicy,
  type Standing,
  transformStanding,
} from './replayed.ts';
