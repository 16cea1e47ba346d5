// Computes the rules of each revision from the writes, and checks that the history that the control planes kept is that
// of these writes.
import { isDeepStrictEqual } from 'node:util';
import type { HistoryRow } from './evidence.ts';
import { documentOf, markTool, type Patch, type ToolRule } from './rules.ts';
import type { Write } from './writes.ts';

interface Rules {
  /** Null where no write made that revision. */
  at(revision: number, tool: string): ToolRule;
}

type RuleByTool = ReadonlyMap<string, ToolRule>;

export interface KnownHistory {
  readonly rules: Rules;
  readonly problems: readonly string[];
}

const nothing: ToolRule = {};

export function knownHistory(history: readonly HistoryRow[], writes: readonly Write[]): KnownHistory {
  const problems: string[] = [];
  const revisions: { readonly revision: number; readonly tools: RuleByTool }[] = [];
  const byMark = new Map(writes.map((write) => [write.mark, write]));
  const committed = new Map<number, number>();
  let tools: RuleByTool = new Map();
  for (const { revision, document } of history) {
    const mark = markOf(document);
    const write = byMark.get(mark ?? 0);
    if (write === undefined || mark === null || committed.has(mark)) {
      problems.push(`revision ${revision} belongs to no write, or to a write that appears twice: ${JSON.stringify(document)}`);
      continue;
    }
    committed.set(mark, revision);
    tools = patched(tools, write.patch);
    if (!isDeepStrictEqual(document, documentOf(Object.fromEntries(tools))))
      problems.push(`revision ${revision} is not what write ${mark} makes of the one before: ${JSON.stringify(document)}`);
    revisions.push({ revision, tools });
  }
  for (const { mark, revision } of writes)
    if (revision !== null && committed.get(mark) !== revision)
      problems.push(`write ${mark} was answered revision ${revision}; it is at ${committed.get(mark) ?? 'none'}`);
  return { problems, rules: rulesOf(revisions) };
}

function rulesOf(revisions: readonly { readonly revision: number; readonly tools: RuleByTool }[]): Rules {
  const upTo = (revision: number): RuleByTool | undefined => {
    let low = 0;
    let high = revisions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((revisions[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return revisions[low - 1]?.tools;
  };
  return { at: (revision, tool) => upTo(revision)?.get(tool) ?? nothing };
}

function patched(tools: RuleByTool, patch: Patch): RuleByTool {
  const next = new Map(tools);
  for (const [tool, rule] of Object.entries(patch)) {
    if (rule === null) next.delete(tool);
    else next.set(tool, rule);
  }
  return next;
}

function markOf(document: unknown): number | null {
  const mark: unknown = Object(Object(Object(Object(document)['tools'])[markTool])['api'])['rateLimit'];
  return typeof mark === 'number' ? mark : null;
}
