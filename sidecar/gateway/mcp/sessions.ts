// Sessions of the revisions before 2026-07-28, which the tool server names: whose they are, and which answers they wait for.
//
// States: a session begins where a server gives a caller its id, and ends where the caller ends it, the server does not know
// it any more, its key is no longer good, or it is the least recently used of `sessionsMax`. Whoever else names its id finds
// none. A request waits in it for its answer, which may come on another stream than it was asked on, until it is taken or
// abandoned: by the caller, by a session that ends, or as the oldest of `waitingMax`. Each is abandoned or settled once, and
// an answer to one that was abandoned is nobody's, so its id names no other request in that session.
import { LRUCache } from 'lru-cache';
import type { Identity } from '../../decide/call.ts';
import { type AnsweredEvents, createAnsweredEvents } from './answered.ts';
import type { RpcId } from './wire/rpc.ts';
import type { Pending } from './pending.ts';

export interface Client {
  readonly name: string;
  readonly version?: string;
}

export interface McpSession {
  readonly id: string;
  readonly owner: Identity;
  readonly client: Client;
  readonly waiting: LRUCache<string, Pending>;
  /** The ids of requests that were abandoned. */
  readonly abandoned: Set<string>;
  /** How the calls of the session redact that do, by tool, the latest last. */
  readonly redacting: Map<string, Pending['passing']>;
  readonly answered: AnsweredEvents;
  /** The ids of what the server asked of its client, each to be answered once. */
  readonly questions: Set<string>;
}

interface Beginning {
  readonly owner: Identity;
  readonly client: Client;
  /** Ends it at the tool server too. */
  readonly endAtServer: () => void;
}

export interface McpSessions {
  begin(server: string, id: string, beginning: Beginning): McpSession;
  /** Null: there is none of that id that is this caller's. */
  find(server: string, id: string, caller: Identity): McpSession | null;
  /** Resolves once what waited in it is recorded. */
  end(server: string, id: string): Promise<void>;
  /** Ends those whose owner is not among these any more, at their servers too. */
  keepOnly(stays: (owner: Identity) => boolean): void;
  /** Resolves once what waited in them is recorded. */
  endAll(): Promise<void>;
}

const sessionsMax = 20_000;
const waitingMax = 1_000;
const abandonedMax = 1_000;
const redactingMax = 20;
const questionsMax = 1_000;

interface Kept {
  readonly session: McpSession;
  readonly endAtServer: () => void;
}

/** `failed`: what could not be recorded where nobody waits to be told. */
export function createMcpSessions(failed: (error: unknown) => void, max = sessionsMax): McpSessions {
  const ending = new Set<Promise<void>>();
  const abandon = (pending: Pending, why: string): void => {
    const done = pending
      .abandon(why)
      .catch(failed)
      .finally(() => ending.delete(done));
    ending.add(done);
  };
  const leave = ({ waiting }: McpSession): void => {
    const left = [...waiting.values()];
    waiting.clear();
    for (const pending of left) abandon(pending, 'the session ended before the answer');
  };
  const sessions = new LRUCache<string, Kept>({
    max,
    dispose: ({ session, endAtServer }, _key, reason) => {
      leave(session);
      if (reason === 'evict') endAtServer();
    },
  });
  const answeredOf = createAnsweredEvents();
  const keyOf = (server: string, id: string): string => `${server} ${id}`;
  const recorded = async (): Promise<void> => void (await Promise.all(ending));
  return {
    begin: (server, id, { owner, client, endAtServer }) => {
      const waiting = new LRUCache<string, Pending>({
        maxSize: waitingMax,
        sizeCalculation: () => 1,
        dispose: (pending, _key, reason) => {
          if (reason === 'evict') abandon(pending, 'too many calls of the session were under way');
        },
      });
      const session: McpSession = {
        id,
        owner,
        client,
        waiting,
        abandoned: new Set(),
        redacting: new Map(),
        answered: answeredOf(),
        questions: new Set(),
      };
      sessions.set(keyOf(server, id), { session, endAtServer });
      return session;
    },
    find: (server, id, { keyId, sub }) => {
      const session = sessions.get(keyOf(server, id))?.session;
      return session !== undefined && session.owner.keyId === keyId && session.owner.sub === sub ? session : null;
    },
    end: (server, id) => {
      sessions.delete(keyOf(server, id));
      return recorded();
    },
    keepOnly: (stays) => {
      const left = [...sessions.entries()].filter(([, { session }]) => !stays(session.owner));
      for (const [key, { endAtServer }] of left) {
        sessions.delete(key);
        endAtServer();
      }
    },
    endAll: () => {
      sessions.clear();
      return recorded();
    },
  };
}

/** It waits in its session; whoever abandons it ends it there. */
export function addWaiting({ waiting, redacting }: McpSession, key: string, pending: Pending): void {
  waiting.set(key, pending);
  if (pending.redacting === undefined) return;
  redacting.delete(pending.redacting);
  redacting.set(pending.redacting, pending.passing);
  removeOldest(redacting, redactingMax);
}

/** What waits for the answer to that request; it waits no longer. */
export function takeWaiting(session: McpSession | null, id: RpcId): Pending | null {
  const key = waitingKey(id);
  const pending = session?.waiting.get(key) ?? null;
  session?.waiting.delete(key);
  return pending;
}

export function noteAbandoned({ waiting, abandoned }: McpSession, key: string): void {
  waiting.delete(key);
  abandoned.add(key);
  removeOldest(abandoned, abandonedMax);
}

export function noteQuestion({ questions }: McpSession, id: RpcId): void {
  questions.add(waitingKey(id));
  removeOldest(questions, questionsMax);
}

function removeOldest(of: Map<string, unknown> | Set<string>, max: number): void {
  const [oldest] = of.keys();
  if (of.size > max && oldest !== undefined) of.delete(oldest);
}

/** Numbers and texts are different ids. */
export const waitingKey = (id: RpcId): string => JSON.stringify(id);
