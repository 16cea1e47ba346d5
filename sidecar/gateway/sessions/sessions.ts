// The runs behind the doors of the process. A client names a session, not a run: calls of one key, user, session and agent
// chain are one run, so that caps and handed-down tools hold over requests, whatever client or tier each claims.
//
// A run that a caller names may come through other processes too, and its cap of tool calls is one for all of them. Where
// nobody names a session, the calls of a key in this process are one run, and counted here alone.
//
// States: a session is made at its first call and forgotten when it is the least recently used of `sessionsMax`; its
// caps and numbers begin anew then.
import { intersectTools, type RunOf, runIdOf, type Tier } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { bindCaller } from '../decide/bind.ts';
import type { Index } from '../decide/build-index.ts';
import type { Claim, Identity } from '../decide/call.ts';
import { type GovernedRun, resumeRun } from '../govern/run.ts';
import { createRunUsage, type RunUsage } from '../limits/usage.ts';
import { createNumbers, type Numbers } from '../redact/index.ts';
import type { Governing } from '../govern/governing.ts';
import { createPendingCalls, type PendingCalls } from './pending-calls.ts';

export interface Session {
  readonly run: GovernedRun;
  readonly pending: PendingCalls;
}

/** What a client claims of the agent that calls. */
export interface Claimed {
  readonly sessionId: string;
  /** Root to caller, the caller last. */
  readonly chain: readonly string[];
  readonly delegatedTools: readonly string[] | null;
  readonly tier: Tier;
  readonly client: { readonly name: string; readonly version?: string };
}

export interface Sessions {
  find(index: Index, identity: Identity, claimed: Claimed): Session;
}

interface Shortcut {
  readonly index: Index;
  readonly session: Session;
  readonly key: string;
  readonly usageKey: string;
  readonly numbersKey: string;
  /** What each of its agents had been handed down with; undefined: all. */
  readonly handedTo: readonly (readonly [string, readonly string[] | undefined])[];
}

const sessionsMax = 50_000;

export function createSessions({ counters, govern }: Pick<Governing, 'counters' | 'govern'>, max = sessionsMax): Sessions {
  const sessions = new LRUCache<string, Session>({ max });
  // These are asked for at every call, so that none is forgotten before the sessions that hold it. What a run has used,
  // whatever client or tier it claims from call to call.
  const usages = new LRUCache<string, RunUsage>({ max });
  // Of a session, for what its agents hand each other.
  const numbersOf = new LRUCache<string, Numbers>({ max });
  // What an agent of a session was handed down with: once said it holds, and only gets narrower.
  const handed = new LRUCache<string, readonly string[]>({ max });
  // What the same claims led to the last time: most calls of a session claim what the one before did.
  const shortcuts = new LRUCache<string, Shortcut>({ max });

  /** As if all of it had been looked up: each of these counts as asked for. */
  const found = (index: Index, asked: string): Session | undefined => {
    const shortcut = shortcuts.get(asked);
    if (shortcut?.index !== index) return undefined;
    const { session, key, usageKey, numbersKey, handedTo } = shortcut;
    for (const [name, tools] of handedTo) if (handed.get(name) !== tools) return undefined;
    const isHeld = usages.get(usageKey) === session.run.usage && numbersOf.get(numbersKey) === session.run.numbers;
    return isHeld && sessions.get(key) === session ? session : undefined;
  };

  const usageOf = (key: string, of: RunOf, agentId: string | null): RunUsage => {
    const make = (): RunUsage => {
      const shared = agentId === null ? null : { id: runIdOf(of), agentId, of };
      return createRunUsage(counters, { originSub: of.sub, shared, startedAt: govern.clock.now() });
    };
    const usage = usages.get(key) ?? make();
    usages.set(key, usage);
    return usage;
  };

  const numbersFor = (key: string): Numbers => {
    const numbers = numbersOf.get(key) ?? createNumbers();
    numbersOf.set(key, numbers);
    return numbers;
  };

  return {
    find: (index, identity, { sessionId, chain, delegatedTools, tier, client }) => {
      const askedKey = JSON.stringify([identity.keyId, identity.sub, sessionId, chain, tier, client]);
      const shortcut = delegatedTools === null ? found(index, askedKey) : undefined;
      if (shortcut !== undefined) return shortcut;
      const asked: Claim = { identity, hops: chain.map((agent) => ({ tier, client: client.name, agent })) };
      // Agents by what they are, not by what they are called: an id and a name are the same agent, and a pin is no choice.
      const { hops: bound, profile } = bindCaller(index, asked);
      const agents = bound.map(({ profile: known, name }) => known?.id ?? name);
      const of = [identity.keyId, identity.sub, sessionId];
      const handedTo = (agent: string): string => JSON.stringify([...of, agent]);
      if (delegatedTools !== null) {
        const key = handedTo(agents.at(-1) ?? '');
        const before = handed.get(key);
        handed.set(key, before === undefined ? delegatedTools : intersectTools(before, delegatedTools));
      }
      const handedNow: (readonly [string, readonly string[] | undefined])[] = [];
      const hops = asked.hops.map((hop, at) => {
        const name = handedTo(agents[at] ?? '');
        const tools = handed.get(name);
        handedNow.push([name, tools]);
        return tools === undefined ? hop : { ...hop, handedTools: tools };
      });
      const claim: Claim = { identity, hops };
      const key = JSON.stringify([claim, sessionId, client]);
      const usageKey = JSON.stringify([...of, agents]);
      const runOf = { keyId: identity.keyId, sub: identity.sub, sessionId, agents };
      const usage = usageOf(usageKey, runOf, sessionId === identity.keyId ? null : (profile?.id ?? null));
      const numbersKey = JSON.stringify(of);
      const numbers = numbersFor(numbersKey);
      const remember = (session: Session): Session => {
        shortcuts.set(askedKey, { index, session, key, usageKey, numbersKey, handedTo: handedNow });
        return session;
      };
      const known = sessions.get(key);
      if (known !== undefined) return remember(known);
      const session: Session = {
        run: resumeRun(index, {
          facts: { sessionId, client, runChain: chain.map(() => sessionId), chainClaimed: chain.length > 1 },
          claim,
          usage,
          numbers,
        }),
        pending: createPendingCalls(),
      };
      sessions.set(key, session);
      return remember(session);
    },
  };
}
