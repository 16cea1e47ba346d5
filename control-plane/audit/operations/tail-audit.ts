// Streams the log as entries arrive. The order is the ingest sequence, which follows commits without gaps. An entry
// that arrives hours late is therefore sent when it arrives. A client that names its last entry misses nothing and gets
// nothing twice.
//
// States of a stream: behind (entries up to `head` are read page by page; the next page is read only when the client
// has read the previous page) and level (waits for the head to move, and sends a keep-alive note from time to time).
import { AppError } from '@tollgate/proto/contract';
import type { Actor } from '../../access/rules/actor.ts';
import { lastEventIdWords, parseTailQuery, type TailQuery } from '../rules/audit-query.ts';
import { accepted, badRequest } from '../../base/refusal.ts';
import { readHead, readIngested } from '../store/audit.ts';
import { type OperationDeps, type Operation, readOperation } from '../../access/operation.ts';
import { createStanding, recheckMs } from '../../access/operations/standing.ts';

/** A client that reconnects with the `ingest` of an item continues directly after this item. */
export type TailItem =
  | { readonly kind: 'note'; readonly text: string; readonly ingest: number }
  | { readonly kind: 'entry'; readonly entry: Readonly<Record<string, unknown>>; readonly ingest: number };

export interface TailInput {
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The value of the header `Last-Event-ID`, as the client sent it. */
  readonly lastEventId: unknown;
}

const standardPace = { keepAliveMs: 15_000, recheckMs };

export function createTailAudit(pace = standardPace): Operation<TailInput, AsyncIterable<TailItem>> {
  return readOperation('audit.read', async (deps, actor, { parameters, lastEventId }, { signal = new AbortController().signal }) => {
    const { after, filters } = accepted(parseTailQuery(parameters, lastEventId));
    const head = await readHead(deps.pool, actor.workspaceId);
    if (after !== null && after > head) throw badRequest(`Last-Event-ID ${lastEventIdWords}; the newest is ${head}`);
    return follow({ deps, actor, filters, pace, signal }, { at: after ?? head, head });
  });
}

interface Tail {
  readonly deps: OperationDeps;
  readonly actor: Actor;
  readonly filters: TailQuery['filters'];
  readonly pace: typeof standardPace;
  readonly signal: AbortSignal;
}

async function* follow(tail: Tail, start: { readonly at: number; readonly head: number }): AsyncGenerator<TailItem> {
  const { deps, actor, filters, pace, signal } = tail;
  const { workspaceId } = actor;
  const requireStanding = createStanding(deps, actor, 'audit.read', pace.recheckMs);
  let { at, head } = start;
  let spokeAt = performance.now();
  const note = (text: string): TailItem => {
    spokeAt = performance.now();
    return { kind: 'note', text, ingest: at };
  };
  yield note('listening');
  try {
    while (!signal.aborted) {
      if (at < head) {
        const page = await readIngested(deps.readingPool, workspaceId, { after: at, upTo: head, since: null, until: null, filters });
        for (const item of page.entries) {
          await requireStanding();
          if (signal.aborted) return;
          at = item.ingest;
          yield { kind: 'entry', ...item };
          spokeAt = performance.now();
        }
        at = page.reached;
      } else {
        const quietMs = pace.keepAliveMs - (performance.now() - spokeAt);
        head = (await deps.heads.waitBeyond({ workspaceId, ingest: at }, Math.max(0, Math.min(quietMs, pace.recheckMs)), signal)) ?? head;
      }
      await requireStanding();
      if (performance.now() - spokeAt >= pace.keepAliveMs) yield note('alive');
    }
  } catch (reason) {
    if (!(reason instanceof AppError)) throw reason;
    yield note(`ended: ${reason.publicMessage}`);
  }
}
