// Receives raised revisions. A NOTIFY arrives immediately. The reliable source is a poll of the table once a second, so
// a lost connection or notification delays a revision only until the next poll. The poll never waits for the listener.
// The poll also detects that the database was restored. After a restore, revisions can be lower than before, and all of
// them are reported again.
//
// States: listening (on a separate connection, which is checked once a second) and not listening (the connection broke;
// it is opened again in the next second).
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { loggable, reasonOf } from '../../base/loggable.ts';
import { revisionChannel } from '../../workspaces/store/revision.ts';

interface WatchDeps {
  readonly pool: pg.Pool;
  readonly connection: pg.PoolConfig;
  readonly log: { warn(fields: object, message: string): void };
}

export interface RevisionWatch {
  /** The reason why notifications are not received; null while they are received. */
  readonly problem: string | null;
  close(): Promise<void>;
}

const pollMs = 1_000;

interface RevisionRow {
  readonly epoch: string;
  readonly id: string;
  readonly revision: string;
  readonly raised_at: Date;
}

export interface RevisionListener {
  /**
   * Reports the newest revision of a workspace, and when it was raised (ms since 1970). Within one epoch, an older
   * revision is never reported after a newer one.
   */
  raised(workspaceId: number, revision: number, raisedAt: number): void;
  /** Reports that the workspace was deleted. */
  removed(workspaceId: number): void;
  /** Reports that the database has another epoch. All known revisions belong to the history before the restore. */
  restored(): void;
}

/**
 * Handlers for other channels on the same connection, by channel. Messages that are sent while the connection is not
 * listening are lost.
 */
export type ChannelHandlers = Readonly<Record<string, (payload: string) => void>>;

export const watchRevisions = (deps: WatchDeps, listener: RevisionListener, channels: ChannelHandlers = {}): RevisionWatch =>
  new DatabaseWatch(deps, listener, channels);

class DatabaseWatch implements RevisionWatch {
  readonly #deps: WatchDeps;
  readonly #listener: RevisionListener;
  readonly #channels: ChannelHandlers;
  /** For each workspace, the newest revision that was reported. */
  readonly #seen = new Map<number, number>();
  #epoch: string | null = null;
  /** The connection that receives notifications; null while not listening. */
  #client: pg.Client | null = null;
  #problem: string | null = 'not listening yet';
  readonly #closing = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(deps: WatchDeps, listener: RevisionListener, channels: ChannelHandlers) {
    this.#deps = deps;
    this.#listener = listener;
    this.#channels = channels;
    this.#running = Promise.all([this.#everySecond(() => this.#keepListening()), this.#everySecond(() => this.#poll())]);
  }

  get problem(): string | null {
    return this.#problem;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }

  async #everySecond(step: () => Promise<void>): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await step();
      await delay(pollMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
    }
  }

  async #keepListening(): Promise<void> {
    try {
      if (this.#client === null) await this.#listen();
      else await this.#client.query('select 1');
    } catch (error) {
      this.#dropConnection(error);
    }
  }

  async #listen(): Promise<void> {
    const client = new pg.Client({
      connectionTimeoutMillis: pollMs,
      query_timeout: pollMs,
      keepAlive: true,
      ...this.#deps.connection,
    });
    client.on('error', (error) => (this.#client === client ? this.#dropConnection(error) : undefined));
    client.on('end', () => (this.#client === client ? this.#dropConnection('the connection ended') : undefined));
    client.on('notification', ({ channel, payload = '' }) => this.#takeNotification(channel, payload));
    try {
      await client.connect();
      await client.query([revisionChannel, ...Object.keys(this.#channels)].map((channel) => `listen ${channel}`).join('; '));
    } catch (error) {
      // The attempt to connect may still succeed after its timeout. The connection is then closed.
      void client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    this.#problem = null;
  }

  #takeNotification(channel: string, payload: string): void {
    if (channel !== revisionChannel) return this.#channels[channel]?.(payload);
    const [workspaceId, revision, raisedAt] = payload.split(':').map(Number);
    if (workspaceId !== undefined && revision !== undefined && raisedAt !== undefined) this.#report(workspaceId, revision, raisedAt);
  }

  #dropConnection(reason: unknown): void {
    const message = reasonOf(reason);
    if (this.#problem === null)
      this.#deps.log.warn(
        { reason: message },
        'notifications of new revisions are not received; new revisions are found only by polling the database',
      );
    this.#problem = message;
    const broken = this.#client;
    this.#client = null;
    broken?.removeAllListeners('end');
    void broken?.end().catch(() => undefined);
  }

  async #poll(): Promise<void> {
    const { pool, log } = this.#deps;
    try {
      const { rows } = await pool.query<RevisionRow>('select d.epoch, w.id, w.revision, w.raised_at from deployment d, workspace w');
      if (rows[0] !== undefined) this.#compareEpoch(rows[0].epoch);
      for (const row of rows) this.#report(Number(row.id), Number(row.revision), row.raised_at.getTime());
      this.#forgetAllExcept(new Set(rows.map(({ id }) => Number(id))));
    } catch (error) {
      log.warn({ err: loggable(error) }, 'the current revisions could not be read from the database');
    }
  }

  #compareEpoch(polled: string): void {
    if (this.#epoch !== null && this.#epoch !== polled) {
      this.#deps.log.warn({ epoch: polled }, 'the database was restored; its revisions are read again');
      this.#seen.clear();
      this.#listener.restored();
    }
    this.#epoch = polled;
  }

  #report(workspaceId: number, revision: number, raisedAt: number): void {
    if (this.#closing.signal.aborted || revision <= (this.#seen.get(workspaceId) ?? -1)) return;
    this.#seen.set(workspaceId, revision);
    this.#listener.raised(workspaceId, revision, raisedAt);
  }

  #forgetAllExcept(present: ReadonlySet<number>): void {
    for (const id of this.#seen.keys()) {
      if (present.has(id)) continue;
      this.#seen.delete(id);
      this.#listener.removed(id);
    }
  }
}
