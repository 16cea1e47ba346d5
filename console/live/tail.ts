// The newest calls of the live stream. Its size is bounded, whatever arrives, and it changes a few times a second at
// most, so that many decisions a second need no more memory and no more work of the page than a few.
//
// States: flowing (what arrives is shown at the next frame) and held (rows stay as they are, and what arrives is
// counted; of it the newest are kept, and shown when the tail flows again).
import type { Schemas } from '../api/client.ts';
import { type CallResult, type CallRow, resultOf, rowFromEntry } from '../parts/call-row.ts';
import type { Outcome } from '../parts/outcome.tsx';

type Entry = Schemas['AuditEntry'];

export const rowsMax = 500;
const pendingMax = 2 * rowsMax;
const paceMs = 200;

export interface TailView {
  /** Newest first. */
  readonly rows: readonly CallRow[];
  /** Calls that arrived while the tail is held. */
  readonly held: number;
  readonly isHeld: boolean;
}

export interface Tail {
  /** Takes an entry of the stream. */
  take(entry: Entry): void;
  /** Takes entries that were recorded before the stream began, or while it was lost. */
  addRecorded(entries: readonly Entry[]): void;
  hold(isHeld: boolean): void;
  readonly view: () => TailView;
  readonly subscribe: (changed: () => void) => () => void;
}

type Item =
  | { readonly kind: 'call'; readonly row: CallRow }
  | { readonly kind: 'result'; readonly requestId: string; readonly result: CallResult };

/** `isWanted`: of which outcomes rows are kept. `frame`: calls a function before the page is painted again. */
export function createTail(isWanted: (outcome: Outcome) => boolean, frame: (run: () => void) => void): Tail {
  let view: TailView = { rows: [], held: 0, isHeld: false };
  let pending: Item[] = [];
  let heldCount = 0;
  let isAwaited = false;
  /** Whether recorded entries wait among those of the stream, which come in the order of their arrival. */
  let isUnsorted = false;
  const listeners = new Set<() => void>();

  const show = (next: TailView): void => {
    view = next;
    for (const changed of listeners) changed();
  };
  const flush = (): void => {
    isAwaited = false;
    if (view.isHeld) {
      if (view.held !== heldCount) show({ ...view, held: heldCount });
    } else if (pending.length > 0) {
      const items = pending;
      pending = [];
      const rows = merge(view.rows, items);
      show({ ...view, rows: isUnsorted ? newest(rows) : rows.slice(0, rowsMax) });
      isUnsorted = false;
    }
  };
  const flushSoon = (): void => {
    if (isAwaited) return;
    isAwaited = true;
    setTimeout(() => frame(flush), paceMs);
  };

  const itemOf = (entry: Entry): Item | null => {
    if (entry.hookEvent === 'PostToolUse') {
      const result = resultOf(entry);
      return result === null ? null : { kind: 'result', requestId: entry.requestId, result };
    }
    const row = rowFromEntry(entry);
    return isWanted(row.outcome) ? { kind: 'call', row } : null;
  };

  return {
    take: (entry) => {
      const item = itemOf(entry);
      if (item === null) return;
      pending.push(item);
      // A page that is not painted, such as one in a tab that is not seen, has no frames.
      if (pending.length > pendingMax) pending = pending.slice(-rowsMax);
      if (view.isHeld && item.kind === 'call') heldCount++;
      flushSoon();
    },
    addRecorded: (entries) => {
      const items = entries.flatMap((entry) => itemOf(entry) ?? []).reverse();
      const known = new Set(view.rows.map(({ requestId }) => requestId));
      const missed = items.filter((item) => item.kind === 'result' || !known.has(item.row.requestId));
      if (view.isHeld && view.rows.length > 0) {
        const waiting = new Set(pending.flatMap((item) => (item.kind === 'call' ? item.row.requestId : [])));
        heldCount += missed.filter((item) => item.kind === 'call' && !waiting.has(item.row.requestId)).length;
        pending = [...missed, ...pending].slice(-pendingMax);
        isUnsorted = true;
        flushSoon();
        return;
      }
      // What waits to be shown may be among the entries.
      const waiting = pending;
      pending = [];
      show({ ...view, rows: newest(merge(view.rows, [...missed, ...waiting])) });
    },
    hold: (isHeld) => {
      if (isHeld === view.isHeld) return;
      heldCount = 0;
      show({ ...view, isHeld, held: 0 });
      if (!isHeld) flush();
    },
    view: () => view,
    subscribe: (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}

const newest = (rows: readonly CallRow[]): readonly CallRow[] =>
  rows.toSorted((one, other) => Date.parse(other.ts) - Date.parse(one.ts)).slice(0, rowsMax);

/** `items`: oldest first. */
function merge(rows: readonly CallRow[], items: readonly Item[]): readonly CallRow[] {
  const results = new Map<string, CallResult>();
  const added: CallRow[] = [];
  const ids = new Set<string>();
  for (const item of items) {
    if (item.kind === 'result') results.set(item.requestId, item.result);
    else if (!ids.has(item.row.requestId)) {
      ids.add(item.row.requestId);
      added.push(item.row);
    }
  }
  return [...added.reverse(), ...rows.filter(({ requestId }) => !ids.has(requestId))].map((row) => {
    const result = results.get(row.requestId);
    return result === undefined ? row : { ...row, result };
  });
}
