// Hears of raised revisions: NOTIFY wakes at once, and a poll of the table once a second is the truth, so that a lost
// connection or a lost notification costs a second and nothing more.
//
// States: listening (a connection of its own, checked by every poll) and deaf (it broke; every poll tries anew).
import pg from 'pg';
import { loggable } from '../loggable.ts';
import { revisionChannel } from './revision.ts';

interface WatchDeps {
  readonly pool: pg.Pool;
  readonly connection: pg.PoolConfig;
  readonly log: { warn(fields: object, message: string): void };
}

export interface RevisionWatch {
  /** Why no notification would be heard; null while listening. */
  readonly problem: string | null;
  close(): Promise<void>;
}

const pollMs = 1_000;

/** `onRevision` is told a workspace's newest revision, sometimes twice, never an older one after a newer one. */
export function watchRevisions(
  { pool, connection, log }: WatchDeps,
  onRevision: (workspaceId: number, revision: number) => void,
): RevisionWatch {
  const seen = new Map<number, number>();
  let listener: pg.Client | null = null;
  let problem: string | null = 'not listening yet';
  let closed = false;
  let timer: NodeJS.Timeout | null = null;

  const tell = (workspaceId: number, revision: number): void => {
    if (closed || revision <= (seen.get(workspaceId) ?? -1)) return;
    seen.set(workspaceId, revision);
    onRevision(workspaceId, revision);
  };
  const deafen = (reason: unknown): void => {
    const message = reason instanceof Error ? reason.message : String(reason);
    if (problem === null) log.warn({ reason: message }, 'revisions are only polled for');
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
    client.on('notification', ({ payload = '' }) => {
      const [workspaceId, revision] = payload.split(':').map(Number);
      if (workspaceId !== undefined && revision !== undefined) tell(workspaceId, revision);
    });
    await client.connect();
    await client.query(`listen ${revisionChannel}`);
    listener = client;
    problem = null;
  };
  const poll = async (): Promise<void> => {
    try {
      if (listener === null) await listen();
      else await listener.query('select 1');
    } catch (error) {
      deafen(error);
    }
    try {
      const { rows } = await pool.query<{ id: string; revision: string }>('select id, revision from workspace');
      for (const row of rows) tell(Number(row.id), Number(row.revision));
    } catch (error) {
      log.warn({ err: loggable(error) }, 'revisions could not be polled for');
    }
    if (!closed) timer = setTimeout(() => void poll(), pollMs);
  };

  const first = poll();
  return {
    get problem() {
      return problem;
    },
    close: async () => {
      closed = true;
      await first;
      if (timer !== null) clearTimeout(timer);
      const open = listener;
      listener = null;
      await open?.end().catch(() => undefined);
    },
  };
}
