// Tells who waits that an approval is no longer pending. NOTIFY is a hint: it makes a look at the database happen at once.
// Once a second all watched approvals are looked at together, so a lost notification delays an answer by a second.
import type pg from 'pg';
import type { ApprovalStatus } from '@tollgate/proto/contract';
import { loggable } from '../../base/loggable.ts';
import { type ApprovalRef, statusOf } from '../rules/approval.ts';
import { readDecided, type WatchedStatus } from '../store/listed.ts';
import type { ApprovalChanges } from './parts.ts';

const lookMs = 1_000;
/** The maximum number of approvals in one query. */
const atOnce = 2_000;

/** `call`: whose approval it is, so that the one who waits can check that it may know. */
type WatchListener = (status: ApprovalStatus, call: WatchedStatus['call']) => void;

export interface ApprovalWatch extends ApprovalChanges {
  /** Calls the function once, when the approval is no longer pending, unless the returned function was called before. */
  watch(ref: ApprovalRef, listener: WatchListener): () => void;
  /** Handles a message of the channel `approvalChannel`. */
  heard(payload: string): void;
  close(): void;
}

interface Waiter {
  readonly ref: ApprovalRef;
  readonly waiting: Set<WatchListener>;
}

interface WatchDeps {
  readonly pool: pg.Pool;
  readonly log: { warn(fields: object, message: string): void };
  /** Records the end of approvals whose time is over. */
  readonly expire: () => Promise<unknown>;
}

const keyOf = ({ workspaceId, id }: ApprovalRef): string => `${workspaceId}:${id}`;

export const createApprovalWatch = (deps: WatchDeps): ApprovalWatch => new SharedWatch(deps);

class SharedWatch implements ApprovalWatch {
  readonly #deps: WatchDeps;
  readonly #waiters = new Map<string, Waiter>();
  readonly #followers = new Set<(workspaceId: number, id: string) => void>();
  /** Keys to look at now. */
  #due = new Set<string>();
  #isLooking = false;
  #isExpiring = false;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  watch(ref: ApprovalRef, listener: WatchListener): () => void {
    const key = keyOf(ref);
    const waiter = this.#waiters.get(key) ?? { ref, waiting: new Set<WatchListener>() };
    // One function can watch several approvals, and one approval twice.
    const call: WatchListener = (status, of) => listener(status, of);
    this.#waiters.set(key, waiter);
    waiter.waiting.add(call);
    this.#timer ??= setInterval(() => void this.#lookAtAll(), lookMs);
    this.#lookSoon(key);
    return () => {
      waiter.waiting.delete(call);
      if (waiter.waiting.size === 0 && this.#waiters.get(key) === waiter) this.#waiters.delete(key);
      if (this.#waiters.size === 0) this.#stopTimer();
    };
  }

  onChange(call: (workspaceId: number, id: string) => void): () => void {
    const follower = (workspaceId: number, id: string): void => call(workspaceId, id);
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  heard(payload: string): void {
    if (this.#waiters.has(payload)) this.#lookSoon(payload);
    const [, workspaceId, id] = /^(\d{1,15}):([A-Za-z0-9]+)$/.exec(payload) ?? [];
    if (workspaceId !== undefined && id !== undefined) for (const call of this.#followers) call(Number(workspaceId), id);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    this.#waiters.clear();
    this.#followers.clear();
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #lookAtAll(): Promise<void> {
    // A database that is slow gets no second query of this kind.
    if (this.#isExpiring) return;
    this.#isExpiring = true;
    await this.#deps.expire().catch((error: unknown) => this.#warn(error));
    this.#isExpiring = false;
    for (const key of this.#waiters.keys()) this.#due.add(key);
    await this.#look();
  }

  #lookSoon(key: string): void {
    this.#due.add(key);
    void this.#look();
  }

  /** Looks at everything that is due. What becomes due meanwhile is looked at next, in one query. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      while (this.#due.size > 0 && !this.#isClosed) {
        const keys = [...this.#due].slice(0, atOnce);
        for (const key of keys) this.#due.delete(key);
        const refs = keys.flatMap((key) => this.#waiters.get(key)?.ref ?? []);
        if (refs.length > 0) await this.#tell(refs);
      }
    } catch (error) {
      this.#warn(error);
    } finally {
      this.#isLooking = false;
    }
  }

  async #tell(refs: readonly ApprovalRef[]): Promise<void> {
    for (const { now, ...found } of await readDecided(this.#deps.pool, refs)) {
      const key = keyOf(found);
      const waiter = this.#waiters.get(key);
      this.#waiters.delete(key);
      const status = statusOf(found, now);
      for (const call of waiter?.waiting ?? []) call(status, found.call);
    }
    if (this.#waiters.size === 0) this.#stopTimer();
  }

  #warn(error: unknown): void {
    if (!this.#isClosed) this.#deps.log.warn({ err: loggable(error) }, 'approvals that are waited for could not be read');
  }
}
