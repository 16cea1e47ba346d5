// The runs behind the hook endpoint. A client names a session, not a run: calls of one key, user, session and agent
// chain are one run, so that caps and handed-down tools hold over requests, whatever client or tier each claims.
//
// States: a session is made at its first call and forgotten when it is the least recently used of `sessionsMax`; its
// caps and numbers begin anew then. A permitted call waits for its outcome under its id, or else under its input, also
// as it was before redaction: among `pendingMax` such that differ and `pendingEqualMax` calls that are equal. An outcome
// that finds none is recorded as a call of its own.
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
export type PendingCall = DecidedCall &
  Pick<Permit, 'decidedAt'> & {
    /** All that it waits under. */
    readonly keys: readonly string[];
  };

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

export function createSessions({ counters, govern }: Pick<Sidecar, 'counters' | 'govern'>, max = sessionsMax): Sessions {
  const sessions = new LRUCache<string, Session>({ max });
  // These are asked for at every call, so that none is forgotten before the sessions that hold it. What a run has used,
  // whatever client or tier it claims from call to call.
  const usages = new LRUCache<string, RunUsage>({ max });
  // Of a session, for what its agents hand each other.
  const numbersOf = new LRUCache<string, Numbers>({ max });
  // What an agent of a session was handed down with: once said it holds, and only gets narrower.
  const handed = new LRUCache<string, readonly string[]>({ max });

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
      const usage = usageOf(JSON.stringify([...of, agents]), identity.sub);
      const numbers = numbersFor(JSON.stringify(of));
      const known = sessions.get(key);
      if (known !== undefined) return known;
      const session: Session = {
        run: {
          facts: { sessionId, client, runChain: chain.map(() => sessionId), chainClaimed: chain.length > 1 },
          claim,
          usage,
          numbers,
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
  { tool, requestId, decision, inputDigest, decidedAt, input }: Permit,
): void {
  // Its outcome may be told with the input that was asked about, or with the one that the tool got.
  const keys = [...new Set([request, { ...request, input }].map(pendingKey))];
  const call = { tool, requestId, decision, inputDigest, decidedAt, keys };
  for (const key of keys) pending.set(key, [...(pending.get(key) ?? []), call].slice(-pendingEqualMax));
}

/** The call that an outcome belongs to; null where none waits for it. */
export function takePending({ pending }: Session, request: HookRequest): PendingCall | null {
  const call = pending.get(pendingKey(request))?.[0];
  if (call === undefined || call.tool !== request.tool) return null;
  for (const key of call.keys) {
    const others = (pending.get(key) ?? []).filter((other) => other !== call);
    if (others.length === 0) pending.delete(key);
    else pending.set(key, others);
  }
  return call;
}

/** Under what a permit waits for its outcome: the client's id for the call, or what was called with what. */
const pendingKey = ({ callId, tool, input }: Pick<HookRequest, 'callId' | 'tool' | 'input'>): string =>
  callId === null ? `input ${tool} ${digestText(canonicalJson(input))}` : `call ${callId}`;
