// The runs behind the hook endpoint. A client names a session, not a run: calls of one key, user, session and agent
// chain are one run, so that caps and handed-down tools hold over requests, whatever client or tier each claims.
//
// States: a session is made at its first call and forgotten when it is the least recently used of `sessionsMax`; its
// caps begin anew then. A permitted call waits for its outcome among `pendingMax` that differ and `pendingEqualMax` that
// are equal; an outcome that finds none is recorded as a call of its own.
import { canonicalJson, digestText, intersectTools } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { bindCaller } from '../decide/bind.ts';
import type { Index } from '../decide/build-index.ts';
import type { Claim, Identity } from '../decide/call.ts';
import { createRunUsage, type RunUsage } from '../limits/usage.ts';
import type { Sidecar } from '../sidecar.ts';
import { createNumbers, type Numbers } from '../redact/index.ts';
import type { GovernedRun } from './govern.ts';
import type { HookRequest } from './hook-request.ts';
import type { DecidedCall, Permit } from './verdict.ts';

/** What is remembered of a permitted call: not its input, which may be large. */
export type PendingCall = DecidedCall & Pick<Permit, 'decidedAt'>;

export interface Session {
  readonly run: GovernedRun;
  /** Calls whose outcome is awaited, oldest first, by call id, or by tool and input where the client names none. */
  readonly pending: LRUCache<string, readonly PendingCall[]>;
}

export interface Sessions {
  find(index: Index, identity: Identity, request: HookRequest): Session;
}

const sessionsMax = 50_000;
const pendingMax = 1_000;
const pendingEqualMax = 100;

export function createSessions({ counters, govern }: Pick<Sidecar, 'counters' | 'govern'>): Sessions {
  const sessions = new LRUCache<string, Session>({ max: sessionsMax });
  // What a run has used, whatever client or tier it claims from call to call.
  const usages = new LRUCache<string, RunUsage>({ max: sessionsMax });
  // Of a session, for what its agents hand each other.
  const numbersOf = new LRUCache<string, Numbers>({ max: sessionsMax });
  // What an agent of a session was handed down with: once said it holds, and only gets narrower.
  const handed = new LRUCache<string, readonly string[]>({ max: sessionsMax });

  const usageOf = (key: string, originSub: string): RunUsage => {
    const usage = usages.get(key) ?? createRunUsage(counters, { originSub, startedAt: govern.clock.now() });
    usages.set(key, usage);
    return usage;
  };

  const numbersFor = (key: string): Numbers => {
    const numbers = numbersOf.get(key) ?? createNumbers();
    numbersOf.set(key, numbers);
    return numbers;
  };

  return {
    find: (index, identity, request) => {
      const { sessionId, chain, delegatedTools, tier, client } = request;
      const asked: Claim = { identity, hops: chain.map((agent) => ({ tier, client: client.name, agent })) };
      // Agents by what they are, not by what they are called: an id and a name are the same agent, and a pin is no choice.
      const agents = bindCaller(index, asked).hops.map(({ profile, name }) => profile?.id ?? name);
      const of = [identity.keyId, identity.sub, sessionId];
      const handedTo = (agent: string): string => JSON.stringify([...of, agent]);
      if (delegatedTools !== null) {
        const key = handedTo(agents.at(-1) ?? '');
        const before = handed.get(key);
        handed.set(key, before === undefined ? delegatedTools : intersectTools(before, delegatedTools));
      }
      const hops = asked.hops.map((hop, at) => {
        const tools = handed.get(handedTo(agents[at] ?? ''));
        return tools === undefined ? hop : { ...hop, handedTools: tools };
      });
      const claim: Claim = { identity, hops };
      const key = JSON.stringify([claim, sessionId, client]);
      const known = sessions.get(key);
      if (known !== undefined) return known;
      const session: Session = {
        run: {
          facts: { sessionId, client, runChain: chain.map(() => sessionId), chainClaimed: chain.length > 1 },
          claim,
          usage: usageOf(JSON.stringify([...of, agents]), identity.sub),
          numbers: numbersFor(JSON.stringify(of)),
          caller: bindCaller(index, claim),
        },
        // Grows as needed: by `max` it would take the memory of all of them for every session.
        pending: new LRUCache({ maxSize: pendingMax, sizeCalculation: () => 1 }),
      };
      sessions.set(key, session);
      return session;
    },
  };
}

/** A permitted call waits for its outcome. Equal calls wait in line. */
export function addPending(
  { pending }: Session,
  request: HookRequest,
  { tool, requestId, decision, inputDigest, decidedAt }: Permit,
): void {
  const key = pendingKey(request);
  const call = { tool, requestId, decision, inputDigest, decidedAt };
  pending.set(key, [...(pending.get(key) ?? []), call].slice(-pendingEqualMax));
}

/** The call that an outcome belongs to; null where none waits for it. */
export function takePending({ pending }: Session, request: HookRequest): PendingCall | null {
  const key = pendingKey(request);
  const [call, ...others] = pending.get(key) ?? [];
  if (call === undefined || call.tool !== request.tool) return null;
  if (others.length === 0) pending.delete(key);
  else pending.set(key, others);
  return call;
}

/** Under what a permit waits for its outcome: the client's id for the call, or what was called with what. */
const pendingKey = ({ callId, tool, input }: HookRequest): string =>
  callId === null ? `input ${tool} ${digestText(canonicalJson(input))}` : `call ${callId}`;
