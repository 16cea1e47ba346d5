// Describes the subject of a decision: who calls, through which chain of agents, and which tool.
import type { Role, Tier } from '@tollgate/proto/contract';

/**
 * One agent of a chain. The fields are what the entry point (door) that received the call claims about this agent. The
 * last hop is the caller. A direct call has one hop.
 */
export interface Hop {
  readonly tier: Tier;
  /** The name of the client, e.g. `claude-code`. It is the first part of the agent type. */
  readonly client: string;
  /** The id or the name of a profile, or the name of an unregistered agent. The agent type contains the name. */
  readonly agent: string;
  /**
   * The tools that were delegated to this hop, with wildcards as in `enabledTools`. Absent: all tools of its parent.
   */
  readonly handedTools?: readonly string[];
  /** The scopes that were delegated to this hop. Absent: all scopes of its parent. */
  readonly handedScopes?: readonly string[];
}

/** The identity behind a call. Doors build it from a key that they have checked. */
export interface Identity {
  /** A member's uid, or `apikey:<id>`. */
  readonly sub: string;
  readonly keyId: string;
  /**
   * The uid of the process that connected to the sidecar's Unix domain socket, by the kernel. It is only recorded. Absent:
   * the call came in another way, or the uid is not known.
   */
  readonly peerUid?: number;
}

/** An identity and a chain of agents, fixed for a run. `bindCaller` turns it into a `Caller` for one snapshot. */
export interface Claim {
  readonly identity: Identity;
  /** The chain of agents, from the root to the caller. There is at least one hop. */
  readonly hops: readonly Hop[];
}

/** What a snapshot says about the identity behind a call. */
export interface Subject {
  readonly sub: string;
  readonly uid: string | null;
  readonly role: Role;
  readonly email: string;
}
