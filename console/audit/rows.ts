// The rows of a search in the log: one for each call, from the entries of its decision and of its outcome. Pure.
import type { Schemas } from '../api/client.ts';
import { type CallResult, type CallRow, resultOf, rowFromEntry } from '../parts/call-row.ts';

export interface Item {
  readonly row: CallRow;
  /** Of an entry of an outcome; null: an entry of a decision. */
  readonly result: CallResult | null;
}

export const itemOf = (entry: Schemas['AuditEntry']): Item => ({
  row: rowFromEntry(entry),
  result: entry.hookEvent === 'PostToolUse' ? resultOf(entry) : null,
});

/**
 * `items`: newest first, so an outcome comes before its decision. `isWhole`: there are no older ones; then an outcome
 * without its decision is a row of its own.
 */
export function rowsOf(items: readonly Item[], isWhole: boolean): readonly CallRow[] {
  const results = new Map<string, CallResult>();
  const decided = new Set<string>();
  for (const { row, result } of items) {
    if (result === null) decided.add(row.requestId);
    else results.set(row.requestId, result);
  }
  const rows: CallRow[] = [];
  const seen = new Set<string>();
  for (const { row, result } of items) {
    const { requestId } = row;
    if (seen.has(requestId) || (result !== null && (decided.has(requestId) || !isWhole))) continue;
    seen.add(requestId);
    rows.push({ ...row, result: results.get(requestId) ?? null });
  }
  return rows;
}
