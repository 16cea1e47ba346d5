// Runs reads that can take longer than the pool allows. A read is cancelled as soon as the database does not answer any
// other connection either, for example because it is frozen. The caller then does not wait until the timeout.
//
// The number of reads is limited to the number of REST connections of a control plane. A further read is refused
// immediately, because a client that sends requests on one connection without waiting for answers could start any
// number.
//
// States of the probe of a pool: idle (no read is running, no probe runs) and probing (one test connection each
// `probeEveryMs`, however many reads run). A probe without an answer ends all reads that were running when it started.
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@tollgate/proto/contract';
import pg from 'pg';
import { patienceMs, patientQuery } from './transaction.ts';

const probeEveryMs = 500;
const probeMs = 700;
/** The limit for one pool. */
const readersMax = 10_000;

/** Runs one query and returns its rows. */
export function queryPatiently<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  { text, values }: { readonly text: string; readonly values: readonly unknown[] },
  timeoutMs = patienceMs,
): Promise<readonly R[]> {
  return readPatiently(pool, async (client) => (await client.query<R>(patientQuery(text, values, timeoutMs))).rows);
}

/** Gives `read` a connection. The connection is closed if anything fails. */
export async function readPatiently<T>(pool: pg.Pool, read: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const poolProbe = poolProbeOf(pool);
  return poolProbe.unlessSilent(async (silence) => {
    const connecting = pool.connect();
    const client = await orSilence(silence, connecting).catch((reason: unknown) => {
      void connecting.then((late) => late.release(), ignore);
      throw reason;
    });
    client.on('error', ignore);
    try {
      const result = await orSilence(silence, read(client));
      client.off('error', ignore);
      client.release();
      return result;
    } catch (reason) {
      client.release(true);
      throw reason;
    }
  });
}

interface PoolProbe {
  /**
   * Calls `run` with a signal. If the database no longer answers, the signal is aborted. Its reason is the failure of
   * the probe.
   */
  unlessSilent<T>(run: (silence: AbortSignal) => Promise<T>): Promise<T>;
}

const poolProbes = new WeakMap<pg.Pool, PoolProbe>();

function poolProbeOf(pool: pg.Pool): PoolProbe {
  const poolProbe = poolProbes.get(pool) ?? createPoolProbe(pool.options);
  poolProbes.set(pool, poolProbe);
  return poolProbe;
}

function createPoolProbe(options: pg.ClientConfig): PoolProbe {
  const readers = new Set<AbortController>();
  let idle = new AbortController();

  const listen = async (): Promise<void> => {
    idle = new AbortController();
    const { signal } = idle;
    while (await delay(probeEveryMs, true, { signal }).catch(() => false)) {
      const asking = [...readers];
      const failure = await probe(options);
      if (failure !== null) for (const reader of asking) reader.abort(failure);
    }
  };

  return {
    unlessSilent: async (run) => {
      if (readers.size >= readersMax) throw tooMany();
      const reader = new AbortController();
      readers.add(reader);
      if (readers.size === 1) void listen();
      try {
        return await run(reader.signal);
      } finally {
        readers.delete(reader);
        if (readers.size === 0) idle.abort();
      }
    },
  };
}

const tooMany = (): AppError =>
  new AppError({
    code: 'unavailable',
    publicMessage: `${readersMax} reads of the database are already in progress, which is the maximum; try again`,
    retryAfterSeconds: 1,
  });

/**
 * Checks whether the database answers; null: it does. The check uses a separate connection, because a full pool says
 * nothing about the database. An error that PostgreSQL itself sends counts as an answer.
 */
async function probe(options: pg.ClientConfig): Promise<Error | null> {
  const client = new pg.Client({ ...options, connectionTimeoutMillis: probeMs });
  client.on('error', ignore);
  try {
    await client.connect();
    return null;
  } catch (reason) {
    return reason instanceof Error && !(reason instanceof pg.DatabaseError) ? reason : null;
  } finally {
    void client.end().catch(ignore);
  }
}

/**
 * Settles as `work` does, or rejects when `silence` is aborted first. After the abort, the result of `work` is ignored.
 */
function orSilence<T>(silence: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(silence.reason);
    silence.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => silence.removeEventListener('abort', give));
  });
}

function ignore(): void {}
