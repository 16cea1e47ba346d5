// Defines, as plain values, the asks that a sidecar sends to the ledger of leases, and the ledger's answers. They
// correspond to the messages in `proto/tollgate/v1/quota.proto`, which describes each field. Code at both ends converts
// between messages and values. The ledger and the holders of leases use only these values.
import { digestText } from './canonical.ts';
import type { RevisionName } from './revision.ts';

/** Identifies the run that is counted: the calls of one key, subject, session and chain of agents. */
export interface RunOf {
  readonly keyId: string;
  readonly sub: string;
  readonly sessionId: string;
  /**
   * The agents of the chain, from root to caller. Each is given by its id, or by its name if no such agent is
   * registered.
   */
  readonly agents: readonly string[];
}

/** Returns the id of a run: 64 hex digits. */
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
  /** The limit according to the policy `revision`. Null: the ask does not contain it. */
  readonly max: number | null;
  /**
   * For a run whose calls the ledger may have lost in a reset: the number of calls that were made, as far as the holder
   * knows. Null: the ledger does not need it.
   */
  readonly made: number | null;
  readonly settled: readonly SettledGrant[];
}

export interface QuotaGrant {
  readonly kind: 'grant';
  readonly id: number;
  readonly tokens: number;
  /** The lifetime of the grant, from when the sidecar sent the ask. Null: the grant is valid until it is settled. */
  readonly ttlMs: number | null;
  readonly max: number;
  readonly shared: boolean;
  /** For a run: the time in ms since the ledger first received an ask for it. Null: unknown. */
  readonly ageMs: number | null;
}

export type QuotaResult =
  | QuotaGrant
  /** `roomAfterMs`: the time until calls are available again. Null: never. */
  | { readonly kind: 'full'; readonly roomAfterMs: number | null; readonly shared: boolean }
  /** `held`: other holders have what is left, and were asked to return it. */
  | { readonly kind: 'later'; readonly askAfterMs: number; readonly held: boolean }
  | { readonly kind: 'none' }
  | { readonly kind: 'taken' };

export interface QuotaAnswer {
  readonly counter: QuotaCounter;
  readonly number: number;
  readonly result: QuotaResult;
}

/** The connection from a holder of leases to the ledger, by a stream or within one process. */
export interface QuotaLink {
  /**
   * Returns the answers in the order of the asks. Rejects if the ledger cannot be reached. The ledger may or may not
   * have handled the asks then.
   */
  ask(asks: readonly QuotaAsk[]): Promise<readonly QuotaAnswer[]>;
  close(): void;
}

/**
 * Called when other processes wait for these counters. The receiver settles at once the grants that it does not need.
 */
export type OnRecall = (counters: readonly QuotaCounter[]) => void;

/**
 * Returns a text that identifies the counter, whatever characters its names contain. The same counter always has the
 * same text.
 */
export const quotaCounterKey = (counter: QuotaCounter): string =>
  counter.kind === 'limit'
    ? JSON.stringify(['limit', counter.originSub, counter.id])
    : JSON.stringify(['run', counter.id, counter.agentId]);
