// What a sidecar asks the ledger of leases, and what it is answered: the messages of `proto/tollgate/v1/quota.proto` as
// plain values. What each field means stands there. Both edges translate; the ledger and its holders know only these.
import { digestText } from './canonical.ts';
import type { RevisionName } from './revision.ts';

/** Which run is counted: the calls of one key, subject, session and chain of agents. */
export interface RunOf {
  readonly keyId: string;
  readonly sub: string;
  readonly sessionId: string;
  /** By id, or where there is no such agent by name; root to caller. */
  readonly agents: readonly string[];
}

/** 64 hex digits. */
export const runIdOf = ({ keyId, sub, sessionId, agents }: RunOf): string => digestText(JSON.stringify([keyId, sub, sessionId, agents]));

/** What is counted, within one workspace. */
export type QuotaCounter =
  | { readonly kind: 'limit'; readonly originSub: string; readonly id: string }
  /** `of` is told by who asks; null in answers. */
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
  /** The limit by that revision; null: who asks does not say. */
  readonly max: number | null;
  /** Of a run, where the ledger may have been set back: calls that its holder knows were made; null: it need not hear. */
  readonly made: number | null;
  readonly settled: readonly SettledGrant[];
}

export interface QuotaGrant {
  readonly kind: 'grant';
  readonly id: number;
  readonly tokens: number;
  /** From when the sidecar sent the ask; null: until it is settled. */
  readonly ttlMs: number | null;
  readonly max: number;
  readonly shared: boolean;
  /** Of a run: how long ago it was asked for first; null: nobody knows. */
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
  /** The answers, in the order of the asks. Fails where the ledger cannot be reached; then nothing is known of what it did. */
  ask(asks: readonly QuotaAsk[]): Promise<readonly QuotaAnswer[]>;
  close(): void;
}

/** Others wait for these counters: settle what is not needed at once. */
export type OnRecall = (counters: readonly QuotaCounter[]) => void;

/** The same text for the same counter, whatever stands in its names. */
export const quotaCounterKey = (counter: QuotaCounter): string =>
  counter.kind === 'limit'
    ? JSON.stringify(['limit', counter.originSub, counter.id])
    : JSON.stringify(['run', counter.id, counter.agentId]);
