// What is decided about: who calls, through which chain of agents, and which tool.
import type { Role, Tier } from '@tollgate/proto/contract';

/** One agent of a chain, as its door claims it. The last hop is the caller; a direct call has one hop. */
export interface Hop {
  readonly tier: Tier;
  /** The name part of the agent type's client, e.g. `claude-code`. */
  readonly client: string;
  /** A profile's id or its name; also the name part of the agent type. */
  readonly agent: string;
  /** The tools this hop was handed down with, wildcards as in `enabledTools`; absent: all of its parent's. */
  readonly handedTools?: readonly string[];
  /** The scopes this hop was handed down with; absent: all of its parent's. */
  readonly handedScopes?: readonly string[];
}

/** Who stands behind a call. Doors make it from a key that they have checked. */
export interface Identity {
  /** A member's uid, or `apikey:<id>`. */
  readonly sub: string;
  readonly keyId: string;
}

/** Fixed for a run. `bindCaller` turns it into a `Caller` for one snapshot. */
export interface Claim {
  readonly identity: Identity;
  /** From the root to the caller, at least one. */
  readonly hops: readonly Hop[];
}

/** What a snapshot says of the one behind a call. */
export interface Subject {
  readonly sub: string;
  readonly uid: string | null;
  readonly role: Role;
  readonly email: string;
}
