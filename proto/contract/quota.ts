// Defines the asks of a sidecar to the ledger of leases, and the answers: the messages of
// `proto/tollgate/v1/quota.proto` as plain values. That file describes each field. Code at both ends converts the
// messages. The ledger and its holders use only these values.
import { digestText } from './canonical.ts';
import type { RevisionName } from './revision.ts';

/** Which run is counted: the calls of one key, subject, session and chain of agents. */
export interface RunOf {
  readonly keyId: string;
  readonly sub: string;
  readonly sessionId: string;
  /** By id, or by name if there is no such agent; from root to caller. */
  readonly agents: readonly string[];
}

/** 64 hex digits. */
export const runIdOf = ({ keyId, sub, sessionId, agents }: RunOf): string => digestText(JSON.stringify([keyId, sub, sessionId, agents]));

/** What is counted, within one workspace. */
export type QuotaCounter =
  | { readonly kind: 'limit'; readonly originSub: string; readonly id: string }
  /** `of` is set in asks, and null in answers. */
  | { readonly kind: 'run'; readonly id: string; readonly agentId: string; readonly of: RunOf | null };

export interface UsedTokens {
  readonly ageMs: number;
  readonly count: number;
}

export interface SettledGrant {
  readonly grantId: number;
  readonly used: readonly UsedTokens[];
}

export interface QuotaAsk {
  readonly counter: QuotaCounter;
  readonly number: number;
  readonly waiting: number;
  readonly onlySettles: boolean;
  readonly revision: RevisionName;
  /** The limit by that revision. Null: the ask does not contain it. */
  readonly max: number | null;
  /**
   * For a run, if the ledger may have been reset: the calls that its holder knows were made. Null: the ledger does not
   * need it.
   */
  readonly made: number | null;
  readonly settled: readonly SettledGrant[];
}

export interface QuotaGrant {
  readonly kind: 'grant';
  readonly id: number;
  readonly tokens: number;
  /** From when the sidecar sent the ask. Null: until it is settled. */
  readonly ttlMs: number | null;
  readonly max: number;
  readonly shared: boolean;
  /** For a run: how long ago it was asked for first. Null: unknown. */
  readonly ageMs: number | null;
}

export type QuotaResult =
  | QuotaGrant
  /** `roomAfterMs` null: never. */
  | { readonly kind: 'full'; readonly roomAfterMs: number | null; readonly shared: boolean }
  | { readonly kind: 'later'; readonly askAfterMs: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'taken' };

export interface QuotaAnswer {
  readonly counter: QuotaCounter;
  readonly number: number;
  readonly result: QuotaResult;
}

/** How a holder reaches the ledger, by a stream or within one process. */
export interface QuotaLink {
  /**
   * Returns the answers in the order of the asks. Rejects if the ledger cannot be reached; then it is unknown what the
   * ledger did.
   */
  ask(asks: readonly QuotaAsk[]): Promise<readonly QuotaAnswer[]>;
  close(): void;
}

/** Other processes wait for these counters: settle at once what is not needed. */
export type OnRecall = (counters: readonly QuotaCounter[]) => void;

/** Returns the same text for the same counter, with any characters in its names. */
export const quotaCounterKey = (counter: QuotaCounter): string =>
  counter.kind === 'limit'
    ? JSON.stringify(['limit', counter.originSub, counter.id])
    : JSON.stringify(['run', counter.id, counter.agentId]);
