// Converts stored items to items for the export. Each exported item carries the value that the chain has after this
// item, so that a copy can be verified without this system. Items that no longer exist are reported as missing. Pure.
import { valueAfterEntry, valueAfterGap, valueBefore } from '@tollgate/proto/chain';
import type { ExportedItem } from '../rules/exported.ts';
import type { StoredItem } from '../store/audit-chain.ts';
import type { BehindLog } from '../store/audit-export.ts';

/** The position up to which a log was followed. */
export interface Place {
  readonly position: number;
  readonly chain: string | null;
  /**
   * True: no item of this log was exported before. Items that are already out of retention then do not count as lost.
   */
  readonly isFirst: boolean;
}

export const placeOf = ({ position, chain }: BehindLog): Place => ({ position: position ?? 0, chain, isFirst: position === null });

export interface FollowedItems {
  readonly items: readonly ExportedItem[];
  readonly place: Place;
}

/** Converts the items of one page. `items` are all stored items after `place` and up to `upTo`. */
export function follow(log: BehindLog, place: Place, { items, upTo }: Page, noticedAt: string): FollowedItems {
  const followed: ExportedItem[] = [];
  let { position, chain, isFirst } = place;
  const skipTo = (last: number): void => {
    position = last;
    if (last <= log.keptAfter) chain = last === log.keptAfter ? log.keptChain : null;
  };
  const passTo = (last: number): void => {
    if (isFirst) skipTo(Math.max(position, Math.min(last, log.keptAfter)));
    if (last <= position) return;
    const first = position + 1;
    skipTo(last);
    followed.push({ kind: 'missing', first, position, chain, noticedAt });
  };
  for (const item of items) {
    passTo(item.ingest - 1);
    chain = valueAfter(valueAt(log, position, chain), item, log.beginsAfter);
    position = item.ingest;
    isFirst = false;
    followed.push(exportedFrom(item, chain));
  }
  passTo(upTo);
  return { items: followed, place: { position, chain, isFirst: isFirst && followed.length === 0 } };
}

interface Page {
  readonly items: readonly StoredItem[];
  /** Up to this position, `items` contains everything that is in the database. */
  readonly upTo: number;
}

/**
 * Returns the chain value at a position. At two kinds of positions, the value is known without the earlier items: at
 * the start of the chain, and where a checkpoint contains the value.
 */
function valueAt({ origin, beginsAfter, keptAfter, keptChain }: BehindLog, position: number, chain: string | null): string | null {
  if (position === beginsAfter) return valueBefore(origin, beginsAfter);
  return chain ?? (position === keptAfter ? keptChain : null);
}

function valueAfter(before: string | null, item: StoredItem, beginsAfter: number): string | null {
  if (before === null || item.ingest <= beginsAfter) return null;
  return item.kind === 'gap' ? valueAfterGap(before, item.gap.receivedAt, item.digest) : valueAfterEntry(before, item.ts, item.digest);
}

function exportedFrom(item: StoredItem, chain: string | null): ExportedItem {
  const { ingest: position, digest } = item;
  switch (item.kind) {
    case 'entry':
      return { kind: 'entry', position, chain, digest, ts: item.ts, entry: item.entry };
    case 'gap':
      return { kind: 'gap', position, chain, digest, gap: item.gap };
    case 'retired':
      return { kind: 'retired', position, chain, digest, ts: item.ts };
  }
}
