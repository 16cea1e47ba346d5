// Sends one log, page by page, from its cursor. The cursor moves in order, and only after the collector has accepted
// everything up to the new position. If this process dies, the items that were being sent are sent a second time. While
// one page is being sent, the next one is read; at most two pages are in memory.
import type { Deliver, ExportFailure } from '../rules/exported.ts';
import { lostIn } from '../rules/exported.ts';
import type { readItems } from '../store/audit-chain.ts';
import { advanceCursor, type BehindLog, findLog } from '../store/audit-export.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { follow, type FollowedItems, type Place, placeOf } from './exported-items.ts';

export interface SendDeps extends Pick<OperationDeps, 'pool' | 'readingPool' | 'clock'> {
  readonly deliver: Deliver;
  readonly read: typeof readItems;
  readonly advanced: (log: BehindLog, by: ExportProgress) => void;
}

export interface ExportProgress {
  readonly records: number;
  readonly lost: number;
  readonly rejected: number;
  /** The collector's reason for the records that it rejected. */
  readonly why: string;
}

/** `overtaken`: another process has moved the cursor and continues from there. */
export type SendResult =
  | { readonly kind: 'sent' }
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'failed'; readonly failure: ExportFailure };

export interface Signals {
  /** If aborted, no further page is started. */
  readonly stop: AbortSignal;
  /** If aborted, pages that are being sent are stopped too, and the call rejects. */
  readonly cut: AbortSignal;
}

const pageItems = 500;
/** The maximum number of pages for one log in its turn. Then other logs have their turn. */
const pagesMax = 16;

export async function sendLog(deps: SendDeps, log: BehindLog, { stop, cut }: Signals): Promise<SendResult> {
  let place = placeOf(log);
  let before: Promise<SendResult> = Promise.resolve({ kind: 'sent' });
  let last = before;
  try {
    for (let pages = 0; pages < pagesMax && place.position < log.head && !stop.aborted; pages += 1) {
      const done = await before;
      if (done.kind !== 'sent') return done;
      const next = await readPage(deps, log, place);
      if (next === null) return { kind: 'overtaken' };
      const sending = sendPage(deps, log, { from: place, ...next }, { after: last, cut });
      // If an earlier page fails, this promise is never awaited. Its error must then not be reported as unhandled.
      sending.catch(() => undefined);
      [before, last, place] = [last, sending, next.place];
    }
    return await last;
  } finally {
    await last.catch(() => undefined);
  }
}

/** Reads the next page. Null: the log no longer exists. */
async function readPage({ pool, readingPool, clock, read }: SendDeps, log: BehindLog, place: Place): Promise<FollowedItems | null> {
  const { workspaceId, head } = log;
  const after = place.position;
  // Positions have no gaps, except where items were removed. So the next page is usually below this upper bound.
  // Without the bound, a query plan could read the whole backlog for one page.
  const near = await read(readingPool, workspaceId, { after, upTo: Math.min(head, after + pageItems) }, pageItems);
  const items = near.length > 0 ? near : await read(readingPool, workspaceId, { after, upTo: head }, pageItems);
  // An empty page means that there are no more items up to the head. The head was committed before this read.
  const page = { items, upTo: items.at(-1)?.ingest ?? head };
  const noticedAt = clock().toISOString();
  const followed = follow(log, place, page, noticedAt);
  if (followed.items.every(({ kind }) => kind !== 'missing')) return followed;
  // Some items are missing. Retention may have dropped them since the log was read, or the workspace may have been
  // removed.
  const present = await findLog(pool, log);
  return present === null ? null : follow(present, place, page, noticedAt);
}

interface Page extends FollowedItems {
  readonly from: Place;
}

async function sendPage(
  { pool, deliver, advanced }: SendDeps,
  log: BehindLog,
  { from, items, place }: Page,
  { after, cut }: { readonly after: Promise<SendResult>; readonly cut: AbortSignal },
): Promise<SendResult> {
  const delivered = await deliver({ workspace: log.slug, origin: log.origin }, items, cut);
  const before = await after;
  if (before.kind !== 'sent') return before;
  if (delivered.kind === 'failed') return delivered;
  const lost = items.reduce((sum, item) => sum + lostIn(item), 0);
  const { rejected, why } = delivered;
  const { position, chain } = place;
  const stored = from.position === (log.position ?? 0) ? log.stored : from.position;
  if (!(await advanceCursor(pool, log, { from: stored, position, chain, lost, rejected }))) return { kind: 'overtaken' };
  advanced(log, { records: items.length - rejected, lost, rejected, why });
  return { kind: 'sent' };
}
