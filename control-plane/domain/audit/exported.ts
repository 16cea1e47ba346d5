// Items of a workspace's log on their way to somebody else's store, and how they may fare there.
import type { ShownGap } from '../../chain/link.ts';

export interface ExportedLog {
  /** Its slug. */
  readonly workspace: string;
  /** The log's own name: a workspace that was made anew has another one. */
  readonly origin: string;
}

/** Each position of a log is that of one item, or lies within one that is missing. */
export type ExportedItem = {
  readonly position: number;
  /** The chain's value after this item; null where that is not known. */
  readonly chain: string | null;
} & (
  | { readonly kind: 'entry'; readonly digest: string; readonly ts: string; readonly entry: Readonly<Record<string, unknown>> }
  /** Records of a sidecar that never arrived. */
  | { readonly kind: 'gap'; readonly digest: string; readonly gap: ShownGap }
  /** An entry that went out of retention before it was sent: what is left of it. */
  | { readonly kind: 'retired'; readonly digest: string; readonly ts: string }
  /** From `first` on nothing is in the database any more. */
  | { readonly kind: 'missing'; readonly first: number; readonly noticedAt: string }
);

/** Of how many items nothing was sent but that they are gone. */
export const lostIn = (item: ExportedItem): number =>
  item.kind === 'retired' ? 1 : item.kind === 'missing' ? item.position - item.first + 1 : 0;

/** `refused` will come again however often one asks, until somebody changes something; all others may pass. */
export type FailureKind = 'unreachable' | 'timeout' | 'throttled' | 'unavailable' | 'refused';

export interface ExportFailure {
  readonly kind: FailureKind;
  /** For everybody; holds nothing of what was sent, and nothing that the collector says. */
  readonly reason: string;
  /** What the collector says of it, for the log; empty: nothing. */
  readonly words: string;
  /** What the collector asked for. */
  readonly retryAfterMs: number | null;
}

export type Delivered =
  /** All of it was taken but for `rejected` records, which nobody may send again. */
  | { readonly kind: 'taken'; readonly rejected: number; readonly why: string }
  | { readonly kind: 'failed'; readonly failure: ExportFailure };

/** Answers when the last of the items was taken, or the first was not. Rejects where it is aborted. */
export type Deliver = (log: ExportedLog, items: readonly ExportedItem[], signal: AbortSignal) => Promise<Delivered>;
