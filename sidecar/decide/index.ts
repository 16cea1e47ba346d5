// What the control plane may use of the evaluator, to explain, simulate and check self-edits: there is one evaluator.
export { verifySnapshot } from '../snapshot/verify.ts';
export { documentsFor } from './bind.ts';
export { buildIndex, type Index } from './build-index.ts';
export { type Explanation, explain, type Question } from './explain.ts';
export { type Fold, foldDocuments } from './fold.ts';
