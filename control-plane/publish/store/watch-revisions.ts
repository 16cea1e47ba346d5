// Receives raised revisions. NOTIFY arrives immediately. A poll of the table once a second is the reliable source, so a
// lost connection or notification delays a revision by one second only. The poll never waits for the listener. The poll
// also detects that the database was restored. Then revisions can be lower than before, and all of them are reported
// again.
//
// States: listening (on a separate connection, checked once a second) and not listening (the connection broke; it is
// tried again once a second).
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
  /** Why no notification would be received; null while listening. */
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
   * A workspace's newest revision, and when it was raised (ms since 1970). Within one epoch, an older revision never
   * follows a newer one.
   */
  raised(workspaceId: number, revision: number, raisedAt: number): void;
  /** The workspace was deleted. */
  removed(workspaceId: number): void;
  /** The database has another epoch. All known revisions belong to the history before the restore. */
  restored(): void;
}

/**
 * Handlers for other channels on the same connection, by channel. Messages that were sent while it was not listening
 * are lost.
 */
export type Heard = Readonly<Record<string, (payload: string) => void>>;

export function watchRevisions({ pool, connection, log }: WatchDeps, told: RevisionListener, heard: Heard = {}): RevisionWatch {
  const seen = new Map<number, number>();
  let epoch: string | null = null;
  let listener: pg.Client | null = null;
  let problem: string | null = 'not listening yet';
  const closing = new AbortController();

  const tell = (workspaceId: number, revision: number, raisedAt: number): void => {
    if (closing.signal.aborted || revision <= (seen.get(workspaceId) ?? -1)) return;
    seen.set(workspaceId, revision);
    told.raised(workspaceId, revision, raisedAt);
  };
  const notice = (polled: string): void => {
    if (epoch !== null && epoch !== polled) {
      log.warn({ epoch: polled }, 'the database was restored; its revisions are read again');
      seen.clear();
      told.restored();
    }
    epoch = polled;
  };
  const forget = (present: ReadonlySet<number>): void => {
    for (const id of seen.keys()) {
      if (present.has(id)) continue;
      seen.delete(id);
      told.removed(id);
    }
  };
  const deafen = (reason: unknown): void => {
    const message = reasonOf(reason);
    if (problem === null) log.warn({ reason: message }, 'revisions are only polled: notifications are not received');
    problem = message;
    const broken = listener;
    listener = null;
    broken?.removeAllListeners('end');
    void broken?.end().catch(() => undefined);
  };
  const listen = async (): Promise<void> => {
    const client = new pg.Client({ connectionTimeoutMillis: pollMs, query_timeout: pollMs, keepAlive: true, ...connection });
    client.on('error', (error) => (listener === client ? deafen(error) : undefined));
    client.on('end', () => (listener === client ? deafen('the connection ended') : undefined));
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel !== revisionChannel) return heard[channel]?.(payload);
      const [workspaceId, revision, raisedAt] = payload.split(':').map(Number);
      if (workspaceId !== undefined && revision !== undefined && raisedAt !== undefined) tell(workspaceId, revision, raisedAt);
    });
    try {
      await client.connect();
      await client.query([revisionChannel, ...Object.keys(heard)].map((channel) => `listen ${channel}`).join('; '));
    } catch (error) {
      // The connection may be established after all, but too late.
      void client.end().catch(() => undefined);
      throw error;
    }
    listener = client;
    problem = null;
  };
  const keepListening = async (): Promise<void> => {
    try {
      if (listener === null) await listen();
      else await listener.query('select 1');
    } catch (error) {
      deafen(error);
    }
  };
  const poll = async (): Promise<void> => {
    try {
      const { rows } = await pool.query<RevisionRow>('select d.epoch, w.id, w.revision, w.raised_at from deployment d, workspace w');
      if (rows[0] !== undefined) notice(rows[0].epoch);
      for (const row of rows) tell(Number(row.id), Number(row.revision), row.raised_at.getTime());
      forget(new Set(rows.map(({ id }) => Number(id))));
    } catch (error) {
      log.warn({ err: loggable(error) }, 'revisions could not be polled');
    }
  };
  const everySecond = async (step: () => Promise<void>): Promise<void> => {
    while (!closing.signal.aborted) {
      await step();
      await delay(pollMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };

  const running = Promise.all([everySecond(keepListening), everySecond(poll)]);
  return {
    get problem() {
      return problem;
    },
    close: async () => {
      closing.abort();
      await running;
      const open = listener;
      listener = null;
      await open?.end().catch(() => undefined);
    },
  };
}
