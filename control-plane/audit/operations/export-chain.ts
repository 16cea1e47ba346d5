// Exports the log as its chain. The last line is a checkpoint that is made now. The export can be verified offline,
// without this system. Chain values are computed from the digests that entries had on arrival, so an entry that was
// changed later in the database does not match its own line. It reads page by page, as the export of entries does.

import { AppError } from '@tollgate/proto/contract';
import {
  canonicalGap,
  canonicalOf,
  checkpointLine,
  entryLine,
  format,
  gapLine,
  headingLine,
  retiredLine,
  valueAfterEntry,
  valueAfterGap,
  valueBefore,
} from '@tollgate/proto/chain';
import type { Actor } from '../../access/rules/actor.ts';
import { badRequest } from '../../base/refusal.ts';
import { findCheckpoint, openLog, readItems, type StoredItem, type StoredLog } from '../store/audit-chain.ts';
import { type OperationDeps, effectOperation } from '../../access/operation.ts';
import { createStanding } from '../../access/operations/standing.ts';
import { type SignedLog, signLog } from './checkpoint.ts';
import { sizeFrom } from './size.ts';

/** The start of an export. */
interface Base {
  readonly size: number;
  readonly chain: string;
  /** The checkpoint at `size`, if everything before it is out of retention; otherwise empty. */
  readonly checkpoint: string;
}

interface Export {
  readonly deps: OperationDeps;
  readonly actor: Actor;
  readonly signed: SignedLog;
  readonly signal: AbortSignal | undefined;
}

/**
 * Exports the chain as lines without line ends. `after` is the size of a checkpoint that the caller has; null: export
 * everything that is kept.
 */
export const exportChain = effectOperation('audit.read', async (deps, actor, after: string | null, { signal }) => {
  const asked = after === null ? 0 : sizeFrom('after', after);
  const signed = await signLog(deps, actor.workspaceId);
  const { size } = signed.checkpoint;
  if (asked > size) throw badRequest(`after is ${asked}, but the log has only ${size} items: it is a different log, or it was rolled back`);
  const given = { deps, actor, signed, signal };
  return linesOf(given, await readBase(given, asked));
});

/**
 * Returns the start of an export. If the requested start is out of retention or before the chain, the export begins
 * where the log begins.
 */
async function readBase({ deps, actor, signed: { log } }: Export, asked: number): Promise<Base> {
  const { keptAfter, beginsAfter, origin } = log;
  const size = Math.max(asked, keptAfter);
  const nearest = await findCheckpoint(deps.pool, actor.workspaceId, size);
  if (nearest === null || nearest.size < keptAfter) {
    if (keptAfter !== beginsAfter)
      throw new Error(
        `the first ${keptAfter} items of the audit log were removed, so the database must have a checkpoint of these items, but it has none`,
      );
    return rollTo(size, { size: beginsAfter, chain: valueBefore(origin, beginsAfter), checkpoint: '' }, deps, actor);
  }
  const isBeginning = size === keptAfter && keptAfter !== beginsAfter;
  return rollTo(size, { size: nearest.size, chain: nearest.chain, checkpoint: isBeginning ? nearest.note : '' }, deps, actor);
}

/**
 * Computes the chain value at the requested size, starting from a checkpoint. The requested size itself need not have a
 * checkpoint.
 */
async function rollTo(size: number, from: Base, { readingPool }: OperationDeps, { workspaceId }: Actor): Promise<Base> {
  let { size: at, chain } = from;
  while (at < size) {
    const items = await readItems(readingPool, workspaceId, { after: at, upTo: size });
    for (const item of items) chain = valueAfter(chain, item);
    at = items.at(-1)?.ingest ?? size;
  }
  return { ...from, size, chain };
}

async function* linesOf({ deps, actor, signed, signal }: Export, base: Base): AsyncGenerator<string> {
  const { log, checkpoint, note } = signed;
  const requireStanding = createStanding(deps, actor, 'audit.read');
  yield headingLine({ format, origin: log.origin, after: base.size, chain: base.chain, checkpoint: base.checkpoint });
  let { size: at, chain } = base;
  while (at < checkpoint.size) {
    const items = await readItems(deps.readingPool, actor.workspaceId, { after: at, upTo: checkpoint.size });
    for (const item of items) {
      await requireStanding();
      signal?.throwIfAborted();
      // An item is missing here. Either it went out of retention, and `requireKept` throws, or it was removed from the
      // database. Then a check of the export shows where.
      if (item.ingest !== at + 1) await requireKept(deps, actor, at + 1);
      chain = valueAfter(chain, item);
      at = item.ingest;
      yield lineOf(item, chain);
    }
    if (items.length > 0) continue;
    await requireKept(deps, actor, at + 1);
    break;
  }
  yield checkpointLine(note);
}

/**
 * Throws if an item went out of retention during the export. A missing item of this kind is not a sign of tampering.
 */
async function requireKept({ pool }: OperationDeps, { workspaceId }: Actor, ingest: number): Promise<void> {
  const { keptAfter }: StoredLog = await openLog(pool, workspaceId);
  if (ingest > keptAfter) return;
  const publicMessage = `item ${ingest} went out of retention while it was being exported; export again`;
  throw new AppError({ code: 'unavailable', publicMessage, retryAfterSeconds: 1 });
}

const valueAfter = (before: string, item: StoredItem): string =>
  item.kind === 'gap' ? valueAfterGap(before, item.gap.receivedAt, item.digest) : valueAfterEntry(before, item.ts, item.digest);

function lineOf(item: StoredItem, chain: string): string {
  const place = { n: item.ingest, chain };
  switch (item.kind) {
    case 'entry':
      return entryLine(place, canonicalOf(item.entry) ?? '');
    case 'gap':
      return gapLine(place, canonicalGap(item.gap));
    case 'retired':
      return retiredLine(place, { ts: item.ts, digest: item.digest });
  }
}
