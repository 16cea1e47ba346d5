// The folder session/ handles the sessions of the revisions before 2026-07-28. The tool server gives each session its
// id. Begin here: this file stores the owner of each session and its pending requests. `stream.ts` handles GET, which
// opens the stream of a session, and DELETE, which ends the session. `answered-events.ts` stores answers that a client
// may request again after its stream broke.
//
// States of a session: it begins when a server gives a caller its id. It ends when the caller ends it, when the server
// no longer knows it, when its key is no longer valid, or when memory runs out. In the last case the key with the most
// memory loses its least recently used session. A caller that names the session of another caller finds no session.
// States of a request: a pending request waits for its answer, which may come on another stream. It ends when it is
// settled or abandoned. It is abandoned by the caller, at the end of the session, or if it is the oldest of more than
// `waitingMax` requests. Each request is settled or abandoned once. An answer to an abandoned request belongs to no
// request. Therefore the id of an abandoned request cannot be used again in that session.
import { digestText } from '@tollgate/proto/contract';
import type { Identity } from '../../../engine/decide/call.ts';
import { Budget, type Share } from '../../entrance/budget.ts';
import { type AnsweredEvents, createAnsweredEvents } from './answered-events.ts';
import type { RpcId } from '../../../upstream/wire/rpc.ts';
import type { Pending } from '../request/pending.ts';

export interface Client {
  readonly name: string;
  readonly version?: string;
}

export interface McpSession {
  readonly id: string;
  readonly owner: Identity;
  readonly client: Client;
  readonly waiting: Map<string, Pending>;
  /** The requests that are held for a person. The engine holds at most 20 calls of a key. */
  readonly holding: Map<string, { cancel(): void }>;
  /** The ids of requests that were abandoned. */
  readonly abandoned: Set<string>;
  /**
   * For each tool that had a redacted call in this session: the redaction of messages that belong to calls of this
   * tool. The tool of the latest such call is last.
   */
  readonly redacting: Map<string, Pending['passing']>;
  readonly answered: AnsweredEvents;
  /** The ids of the server's questions to its client. Each may be answered once. */
  readonly questions: Set<string>;
  /**
   * Call this after a change. It abandons the oldest pending request above `waitingMax` and recomputes the session's
   * memory.
   */
  kept(): void;
}

interface Beginning {
  readonly owner: Identity;
  readonly client: Client;
  /** Ends the session at the tool server too. */
  readonly endAtServer: () => void;
}

export interface McpSessions {
  begin(server: string, id: string, beginning: Beginning): McpSession;
  /** Returns the caller's session with that id. Null: this caller has no such session. */
  find(server: string, id: string, caller: Identity): McpSession | null;
  /** Ends a session. Resolves when the outcomes of its pending requests are recorded. */
  end(server: string, id: string): Promise<void>;
  /** Ends the sessions for which `stays` returns false, at their servers too. */
  keepOnly(stays: (owner: Identity) => boolean): void;
  /** Ends all sessions. Resolves when the outcomes of their pending requests are recorded. */
  endAll(): Promise<void>;
}

/** Memory limit for all sessions together, in bytes. */
const sessionsBytes = 16 * 1_048_576;
const waitingMax = 1_000;
const abandonedMax = 1_000;
const redactingMax = 20;
const questionsMax = 1_000;
/** Estimates of the bytes that V8 needs. The names of sessions and clients are added to them. */
const bytesOf = { session: 2_500, waiting: 2_000, id: 150, redacting: 1_000 };

interface KeptSession {
  readonly session: McpSession;
  readonly server: string;
  readonly endAtServer: () => void;
  bytes: number;
}

/** `failed`: receives errors of recording an outcome, if no caller waits for it. */
export function createMcpSessions(failed: (error: unknown) => void, bytesMax = sessionsBytes): McpSessions {
  return new ServerSessions(failed, bytesMax);
}

class ServerSessions implements McpSessions {
  readonly #ending = new Set<Promise<void>>();
  readonly #all = new Map<string, KeptSession>();
  readonly #shares = new Map<string, OwnedSessions>();
  readonly #budget: Budget;
  readonly #answeredOf = createAnsweredEvents();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void, bytesMax = sessionsBytes) {
    this.#failed = failed;
    this.#budget = new Budget(bytesMax);
  }

  begin(server: string, id: string, { owner, client, endAtServer }: Beginning): McpSession {
    const key = keyOf(server, id);
    this.#end(key);
    const session: McpSession = {
      id,
      owner,
      client,
      waiting: new Map(),
      holding: new Map(),
      abandoned: new Set(),
      redacting: new Map(),
      answered: this.#answeredOf(),
      questions: new Set(),
      kept: () => {
        const oldest = session.waiting.size > waitingMax ? session.waiting.entries().next().value : undefined;
        if (oldest !== undefined) {
          session.waiting.delete(oldest[0]);
          this.#abandon(oldest[1], 'too many calls of the session were in progress');
        }
        this.#count(kept, bytesKept(session));
      },
    };
    const kept: KeptSession = { session, server, endAtServer, bytes: 0 };
    this.#all.set(key, kept);
    this.#shareOf(owner.keyId).keys.add(key);
    session.kept();
    return session;
  }

  find(server: string, id: string, { keyId, sub }: Identity): McpSession | null {
    const key = keyOf(server, id);
    const session = this.#all.get(key)?.session;
    if (session === undefined || session.owner.keyId !== keyId || session.owner.sub !== sub) return null;
    this.#shares.get(keyId)?.use(key);
    return session;
  }

  end(server: string, id: string): Promise<void> {
    this.#end(keyOf(server, id));
    return this.#recorded();
  }

  keepOnly(stays: (owner: Identity) => boolean): void {
    for (const [key, { session, endAtServer }] of this.#all) {
      if (stays(session.owner)) continue;
      this.#end(key);
      endAtServer();
    }
  }

  endAll(): Promise<void> {
    for (const key of this.#all.keys()) this.#end(key);
    return this.#recorded();
  }

  #abandon(pending: Pending, why: string): void {
    const done = pending
      .abandon(why)
      .catch(this.#failed)
      .finally(() => this.#ending.delete(done));
    this.#ending.add(done);
  }

  #count(kept: KeptSession, bytes: number): void {
    const share = this.#shares.get(kept.session.owner.keyId);
    if (share === undefined || this.#all.get(keyOf(kept.server, kept.session.id)) !== kept) return;
    const grown = bytes - kept.bytes;
    kept.bytes = bytes;
    share.bytes += grown;
    this.#budget.changed(grown);
  }

  #end(key: string): KeptSession | null {
    const kept = this.#all.get(key);
    if (kept === undefined) return null;
    this.#count(kept, 0);
    this.#all.delete(key);
    const { keyId } = kept.session.owner;
    const share = this.#shares.get(keyId);
    share?.keys.delete(key);
    if (share?.keys.size === 0) {
      this.#shares.delete(keyId);
      this.#budget.remove(share);
    }
    for (const held of kept.session.holding.values()) held.cancel();
    const left = [...kept.session.waiting.values()];
    kept.session.waiting.clear();
    for (const pending of left) this.#abandon(pending, 'the session ended before the answer');
    return kept;
  }

  #shareOf(keyId: string): OwnedSessions {
    const known = this.#shares.get(keyId);
    if (known !== undefined) return known;
    const share = new OwnedSessions((key) => this.#end(key)?.endAtServer());
    this.#shares.set(keyId, share);
    this.#budget.add(share);
    return share;
  }

  async #recorded(): Promise<void> {
    return void (await Promise.all(this.#ending));
  }
}

const keyOf = (server: string, id: string): string => `${server} ${id}`;

/** The sessions of one key, the least recently used first. */
class OwnedSessions implements Share {
  bytes = 0;
  readonly keys = new Set<string>();
  readonly #evict: (key: string) => void;

  constructor(evict: (key: string) => void) {
    this.#evict = evict;
  }

  use(key: string): void {
    this.keys.delete(key);
    this.keys.add(key);
  }

  /** False: only the session in use is left, and it is kept. */
  get canForget(): boolean {
    return this.keys.size > 1;
  }

  forgetOldest(): void {
    const [oldest] = this.keys;
    if (oldest !== undefined) this.#evict(oldest);
  }
}

function bytesKept({ id, client, waiting, abandoned, questions, redacting }: McpSession): number {
  const names = 2 * (id.length + client.name.length + (client.version?.length ?? 0));
  const ids = (abandoned.size + questions.size) * bytesOf.id;
  return bytesOf.session + names + waiting.size * bytesOf.waiting + ids + redacting.size * bytesOf.redacting;
}

/** Adds a pending request to its session. Abandoning the request also removes it from the session. */
export function addWaiting(session: McpSession, key: string, pending: Pending): void {
  const { waiting, redacting } = session;
  waiting.set(key, pending);
  if (pending.redacting !== undefined) {
    redacting.delete(pending.redacting);
    redacting.set(pending.redacting, pending.passing);
    removeOldest(redacting, redactingMax);
  }
  session.kept();
}

/** Takes the pending request with that id out of the session. */
export function takeWaiting(session: McpSession | null, id: RpcId): Pending | null {
  const key = waitingKey(id);
  const pending = session?.waiting.get(key) ?? null;
  if (session !== null) removeWaiting(session, key);
  return pending;
}

export function removeWaiting(session: McpSession, key: string): void {
  if (session.waiting.delete(key)) session.kept();
}

export function noteAbandoned(session: McpSession, key: string): void {
  session.waiting.delete(key);
  session.abandoned.add(key);
  removeOldest(session.abandoned, abandonedMax);
  session.kept();
}

export function noteQuestion(session: McpSession, id: RpcId): void {
  session.questions.add(waitingKey(id));
  removeOldest(session.questions, questionsMax);
  session.kept();
}

function removeOldest(of: Map<string, unknown> | Set<string>, max: number): void {
  const [oldest] = of.keys();
  if (of.size > max && oldest !== undefined) of.delete(oldest);
}

const keyLengthMax = 64;

/**
 * Returns the key of a request id. A number and a string are different ids, even if they look the same. A long id is
 * stored as its digest.
 */
export function waitingKey(id: RpcId): string {
  const key = JSON.stringify(id);
  return key.length > keyLengthMax ? digestText(key) : key;
}
