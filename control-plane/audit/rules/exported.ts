// Types of the export to an external store: the items of a workspace's log, and the possible results.
import type { ShownGap } from '@tollgate/proto/chain';

export interface ExportedLog {
  /** The slug of the workspace. */
  readonly workspace: string;
  /** The log's own name. If a workspace is created again with the same slug, its log has another name. */
  readonly origin: string;
}

/** Each position of a log belongs to one item, or is inside the range of a missing item. */
export type ExportedItem = {
  readonly position: number;
  /** The chain value after this item; null if it is unknown. */
  readonly chain: string | null;
} & (
  | { readonly kind: 'entry'; readonly digest: string; readonly ts: string; readonly entry: Readonly<Record<string, unknown>> }
  /** Records of a sidecar that never arrived. */
  | { readonly kind: 'gap'; readonly digest: string; readonly gap: ShownGap }
  /** What remains of an entry that went out of retention before it was sent. */
  | { readonly kind: 'retired'; readonly digest: string; readonly ts: string }
  /** Items from `first` up to `position` are no longer in the database. */
  | { readonly kind: 'missing'; readonly first: number; readonly noticedAt: string }
);

/** Returns how many items of the log this item reports as lost. */
export const lostIn = (item: ExportedItem): number =>
  item.kind === 'retired' ? 1 : item.kind === 'missing' ? item.position - item.first + 1 : 0;

/** `refused` occurs again at every retry until the configuration is changed. All other failures can be temporary. */
export type FailureKind = 'unreachable' | 'timeout' | 'throttled' | 'unavailable' | 'refused';

export interface ExportFailure {
  readonly kind: FailureKind;
  /**
   * The reason of the failure. All readers may see it. It contains nothing of what was sent, and nothing of the
   * collector's answer.
   */
  readonly reason: string;
  /** The collector's message, for the log; empty: none. */
  readonly words: string;
  /** How long the collector asked to wait; null: it did not ask. */
  readonly retryAfterMs: number | null;
}

export type ExportDelivery =
  /** Everything was accepted, except `rejected` records, which must not be sent again. */
  | { readonly kind: 'taken'; readonly rejected: number; readonly why: string }
  | { readonly kind: 'failed'; readonly failure: ExportFailure };

/** Resolves when the last item was accepted, or the first failure occurred. Rejects if `signal` is aborted. */
export type Deliver = (log: ExportedLog, items: readonly ExportedItem[], signal: AbortSignal) => Promise<ExportDelivery>;
