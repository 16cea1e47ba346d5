// From items as they are stored to items as they are sent: each knows the chain's value after it, so that a copy can be
// checked without us, and what is not there any more is said to be missing. Pure.
import { valueAfterEntry, valueAfterGap, valueBefore } from '../../../chain/link.ts';
import type { ExportedItem } from '../../../domain/audit/exported.ts';
import type { StoredItem } from '../../../store/audit-chain.ts';
import type { BehindLog } from '../../../store/audit-export.ts';

/** How far a log was followed. */
export interface Place {
  readonly position: number;
  readonly chain: string | null;
  /** Nothing of this log was ever sent: what is out of retention by now was not lost on its way. */
  readonly isFirst: boolean;
}

export const placeOf = ({ position, chain }: BehindLog): Place => ({ position: position ?? 0, chain, isFirst: position === null });

export interface Followed {
  readonly items: readonly ExportedItem[];
  readonly place: Place;
}

/** `items`: all that is stored after `place` and up to `upTo`. */
export function follow(log: BehindLog, place: Place, { items, upTo }: Page, noticedAt: string): Followed {
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
  /** Nothing up to here is missing from `items` that is in the database. */
  readonly upTo: number;
}

/** Where the chain begins, and where a checkpoint says so, its value is known without what was before. */
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
