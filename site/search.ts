// How the local search asks its index. VitePress sends these functions to the browser as text, so none of them may use a
// name from outside of itself.

const weigh = (id: string): number => {
  const path = id.replace(/^\//, '');
  // Pages of tasks come before pages that explain how it is built.
  if (path.startsWith('operate/') || path.startsWith('guide/')) return 1.5;
  if (path.startsWith('design/') || path.startsWith('project/')) return 0.6;
  return 1;
};

/** Leaves out words that every page has, and single letters. A question in whole sentences is mostly made of such words. */
const termOf = (term: string): string | null => {
  const common =
    /^(?:a|about|after|all|an|and|any|are|as|at|be|been|but|by|can|do|does|for|from|had|has|have|how|i|if|in|into|is|it|its|may|me|more|must|my|not|of|on|or|our|so|some|than|that|the|their|them|then|there|these|they|this|to|was|we|were|what|when|where|which|who|why|will|with|you|your)$/;
  const lower = term.toLowerCase();
  return lower.length < 2 || common.test(lower) ? null : lower;
};

const isLong = (term: string): boolean => term.length > 3;
const mayDiffer = (term: string): number | boolean => (term.length > 4 ? 0.2 : false);
// The name of an alert says exactly which page is wanted.
const weighTerm = (term: string): number => (/^tollgate[a-z]{6,}$/.test(term) ? 3 : 1);

export const indexOptions = { processTerm: termOf };
export const searchOptions = {
  fuzzy: mayDiffer,
  prefix: isLong,
  boost: { title: 4, text: 2, titles: 1 },
  boostTerm: weighTerm,
  boostDocument: weigh,
};
