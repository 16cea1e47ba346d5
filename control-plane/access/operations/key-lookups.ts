// Finds the actors of keys, and bounds what keys that are not valid cost: REST, gRPC and enrolment share one instance.
//
// A valid key is looked up in the database at each use, so a revocation takes effect immediately. A key that is not valid
// costs the same query, and a client without a key can send any number of them. A checksum in the key would not help: keys
// that exist have none, an operator may choose a key, and a sender can compute a checksum. Instead, this process can
// hold the first bytes of the hashes of all valid keys, 6 bytes each. A key that is not among them is not valid, and that
// is known without a query. A key that is among them is looked up as always.
//
// States of a network (IPv4 /24, IPv6 /64):
//   trusted   fewer than 10 of its keys failed in the last minute: each key is looked up
//   suspect   10 failed: a key that is not among the known ones is refused from memory, `rate_limited`
// While more than 1,000 keys of all networks together failed in the last minute, all networks are treated so, because a
// sender can have many networks. Such a refusal is still `unauthenticated` for a network that is not suspect.
//
// The known keys are read again only after a write to a workspace (its revision is raised, by any control plane), or
// after a known key has turned out to be invalid (it has expired). So keys that are not valid cause at most 10 look-ups a
// minute for each network, 1,000 for all, those of one turn, and one reading for each write. A key that another control
// plane has made is known here as soon as that revision is, usually within milliseconds and always within a second.
import { hashKey, parseKey } from '@tollgate/proto/contract';
import type pg from 'pg';
import { blockOf } from '../../base/network.ts';
import { createRateLimit, type RateLimit } from '../../base/rate-limit.ts';
import { inTurns } from '../../base/turns.ts';
import type { Actor } from '../rules/actor.ts';
import { findActor } from '../store/actors.ts';
import { prefixBytes, readKeyPrefixes } from '../store/keys.ts';

const failuresMax = { ofNetwork: 10, ofAll: 1_000 } as const;
/**
 * The number of look-ups at the same time. A look-up that waits for its turn is checked when its turn begins. So of a
 * burst of keys that are not valid, only these cause queries. It is at least the number of connections of the pool.
 */
const atOnceMax = 32;

export interface KeyLookups {
  /**
   * Returns the actor of a key. Null: the text is not a valid key at this moment. Throws `rate_limited` instead of
   * returning null if too many keys of the network failed. `address`: where the request comes from.
   */
  find(key: string, address: string): Promise<Actor | null>;
  /** Call after a write that may have added keys. */
  outdate(): void;
}

interface LookupDeps {
  readonly pool: pg.Pool;
  readonly clock: () => Date;
}

interface Question {
  readonly key: string;
  readonly network: string;
}

export function createKeyLookups(deps: LookupDeps): KeyLookups {
  const { pool, clock } = deps;
  const known = new KnownKeys(deps);
  const failures = {
    ofNetwork: createRateLimit(
      clock,
      failuresMax.ofNetwork,
      'keys a minute from one network that are malformed, unknown, revoked or expired; a valid key from it works',
    ),
    ofAll: createRateLimit(clock, failuresMax.ofAll, 'keys a minute that are not valid', 1),
  };
  const isSuspected = (network: string): boolean => failures.ofNetwork.isReached(network) || failures.ofAll.isReached(all);

  const find = async ({ key, network }: Question): Promise<Actor | null> => {
    const workspace = parseKey(key)?.workspace;
    if (workspace === undefined) return null;
    const hash = hashKey(key);
    const suspected = isSuspected(network);
    if (suspected && !(await known.includes(hash))) return null;
    const actor = await findActor(pool, { kind: 'key', hash }, clock());
    if (actor?.slug === workspace) return actor;
    if (suspected) known.outdate();
    return null;
  };
  // The failure is counted in the same turn, so the next turn knows of it.
  const findInTurn = inTurns(atOnceMax, async (question: Question) => {
    const actor = await find(question);
    if (actor === null) count(failures, question.network);
    return actor;
  });
  return {
    find: (key, address) => findInTurn({ key, network: blockOf(address) }),
    outdate: () => known.outdate(),
  };
}

const all = '';

/** Throws `rate_limited` if the network had used up its failures before. */
function count({ ofNetwork, ofAll }: Readonly<Record<keyof typeof failuresMax, RateLimit>>, network: string): void {
  if (!ofAll.isReached(all)) ofAll.take(all);
  ofNetwork.take(network);
}

/** The first bytes of the hashes of all keys that were valid when they were read. */
class KnownKeys {
  readonly #deps: LookupDeps;
  /** Sorted, without anything between them. */
  #prefixes: Buffer = Buffer.alloc(0);
  #changes = 0;
  /** The value of `#changes` when the held prefixes were requested. */
  #heldSince = -1;
  #reading: Promise<void> | null = null;

  constructor(deps: LookupDeps) {
    this.#deps = deps;
  }

  outdate(): void {
    this.#changes += 1;
  }

  /** Returns whether the key may be valid. False: it was not valid when this was called. */
  async includes(hash: string): Promise<boolean> {
    const needed = this.#changes;
    while (this.#heldSince < needed) await this.#readInTurn();
    return holds(this.#prefixes, Buffer.from(hash.slice(0, 2 * prefixBytes), 'hex').readUIntBE(0, prefixBytes));
  }

  /** All callers wait for the same reading. */
  #readInTurn(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const changes = this.#changes;
    this.#prefixes = await readKeyPrefixes(this.#deps.pool, this.#deps.clock());
    this.#heldSince = changes;
  }
}

/** Searches a sorted list of numbers of `prefixBytes` bytes. */
function holds(prefixes: Buffer, prefix: number): boolean {
  let [from, to] = [0, prefixes.length / prefixBytes];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const found = prefixes.readUIntBE(middle * prefixBytes, prefixBytes);
    if (found === prefix) return true;
    if (found < prefix) from = middle + 1;
    else to = middle;
  }
  return false;
}
