// Reads that may take longer than the pool allows, while somebody waits. They are given up as soon as the database does
// not answer anybody else either, as one that is frozen: nobody waits for that until patience ends.
//
// At most as many are under way as a control plane has connections of REST; a further one is refused at once, since who
// sends requests on one connection without waiting for answers could make any number.
//
// States of the ear that a pool has: idle (nobody reads patiently, nothing runs) and listening (one probing connection
// every `probeEveryMs`, however many read). A probe without an answer ends every read of that moment.
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@tollgate/proto/contract';
import pg from 'pg';
import { patienceMs, patientQuery } from './transaction.ts';

const probeEveryMs = 500;
const probeMs = 700;
/** Of one pool. */
const readersMax = 10_000;

/** One query; its rows. */
export function queryPatiently<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  { text, values }: { readonly text: string; readonly values: readonly unknown[] },
  timeoutMs = patienceMs,
): Promise<readonly R[]> {
  return readPatiently(pool, async (client) => (await client.query<R>(patientQuery(text, values, timeoutMs))).rows);
}

/** Lends `read` a connection, which is closed if anything fails. */
export async function readPatiently<T>(pool: pg.Pool, read: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const ear = earOf(pool);
  return ear.unlessSilent(async (silence) => {
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

interface Ear {
  /** `run` is told by the signal, whose reason is the probe's failure. */
  unlessSilent<T>(run: (silence: AbortSignal) => Promise<T>): Promise<T>;
}

const ears = new WeakMap<pg.Pool, Ear>();

function earOf(pool: pg.Pool): Ear {
  const ear = ears.get(pool) ?? createEar(pool.options);
  ears.set(pool, ear);
  return ear;
}

function createEar(options: pg.ClientConfig): Ear {
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
    publicMessage: `${readersMax} reads wait for the database already; try again`,
    retryAfterSeconds: 1,
  });

/** By a connection of its own: that the pool has none left says nothing about the database, and a refusal is an answer. */
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

/** What becomes of `work` after the silence is nobody's affair. */
function orSilence<T>(silence: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(silence.reason);
    silence.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => silence.removeEventListener('abort', give));
  });
}

function ignore(): void {}
