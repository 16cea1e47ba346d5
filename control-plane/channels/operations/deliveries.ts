// Runs the jobs that send messages about approvals, by graphile-worker. It is loaded, and its schema made, when the first
// channel is added. A job that was lost with its process is added again: messages that are overdue are looked for. A job
// only begins an attempt: it does not wait for the receiver, so receivers that do not answer keep no other job waiting.
import { AppError } from '@tollgate/proto/contract';
import { isObject } from '@tollgate/proto/shape';
import type pg from 'pg';
import { loggable } from '../../base/loggable.ts';
import { createPool, poolMax } from '../../database/pool.ts';
import { channelBounds } from '../rules/channel.ts';
import { hasChannels } from '../store/channels.ts';
import {
  addJob,
  deleteDeadJobs,
  deleteOldMessages,
  jobsSchema,
  listOverdue,
  type MessageRef,
  sendTask,
  withJobsLock,
} from '../store/messages.ts';
import { beginDelivery, type DeliverDeps } from './deliver.ts';
import type { ApprovalDeliveries } from '../../approvals/operations/parts.ts';

/** Jobs that this process runs at the same time. */
const jobsAtOnce = 10;
/** Messages that this process sends at the same time. */
const attemptsMax = 200;
/** How long attempts in progress may still last when the process stops. */
const closeMs = 5_000;
/** How often jobs are looked for whose notification was lost. */
const pollMs = 2_000;
/** How often overdue messages are looked for, and how late such a message is. */
const overduePace = { everyMs: 10_000, seconds: 10, ofWorkspace: channelBounds.attemptsAtOnce, limit: 500 } as const;
const deletedAtOnce = 1_000;
/** The schema changes of graphile-worker can take longer than other work. */
const migrating = { query_timeout: 30_000, statement_timeout: 30_000, lock_timeout: 10_000 } as const;

interface DeliveriesDeps extends DeliverDeps {
  readonly connection: pg.PoolConfig;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export interface Deliveries extends ApprovalDeliveries {
  /** Adds jobs that were lost. Returns how many. */
  recover(): Promise<number>;
  /** Ends when the attempts in progress have ended or are abandoned. An abandoned one is made again later. */
  close(): Promise<void>;
}

interface Running {
  close(): Promise<void>;
}

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const attempts = createAttempts(deps);
  let running: Promise<Running> | null = null;
  let isClosed = false;
  const recover = async (): Promise<number> => {
    const lost = await listOverdue(deps.pool, overduePace);
    for (const ref of lost) await addJob(deps.pool, ref);
    return lost.length;
  };
  const forget = (): void => {
    running = null;
  };
  const start = async (): Promise<void> => {
    if (isClosed) throw unavailable('this control plane is stopping');
    running ??= begin(deps, attempts, recover, forget).catch((error: unknown) => {
      running = null;
      deps.log.error(loggable(error), `the schema ${jobsSchema} could not be made or used, so no messages about approvals are sent`);
      throw unavailable(`the schema ${jobsSchema} could not be made or used in the database; the log of the control plane says why`);
    });
    await running;
  };
  return {
    start,
    recover,
    startIfNeeded: async () => {
      if (running === null && !isClosed && (await hasChannels(deps.pool))) await start();
    },
    removeOld: async () => {
      while ((await deleteOldMessages(deps.pool, channelBounds.keptDays, deletedAtOnce)) === deletedAtOnce);
      if (running !== null) await deleteDeadJobs(deps.pool);
    },
    close: async () => {
      isClosed = true;
      const ending = running;
      running = null;
      await (await ending?.catch(() => null))?.close();
      await attempts.close();
    },
  };
}

const unavailable = (publicMessage: string): AppError => new AppError({ code: 'unavailable', publicMessage });

/** `ended`: the worker has ended by itself, for example because the database did not answer for long. */
async function begin(deps: DeliveriesDeps, attempts: Attempts, recover: () => Promise<number>, ended: () => void): Promise<Running> {
  const { connection, log } = deps;
  const { run, Logger } = await import('graphile-worker');
  const pool = createPool({ ...connection, ...migrating }, log, poolMax.jobs);
  // What it warns of before is that there are fewer connections than jobs at once. A job has none while it sends.
  let isStarted = false;
  const logger = new Logger(() => (level, message) => {
    if (isStarted && /^(?:error|warning)$/.test(level)) log.warn({ worker: message }, 'the worker of jobs reports a problem');
  });
  try {
    const runner = await withJobsLock(pool, () =>
      run({
        pgPool: pool,
        schema: jobsSchema,
        concurrency: jobsAtOnce,
        pollInterval: pollMs,
        noHandleSignals: true,
        parsedCronItems: [],
        logger,
        taskList: {
          [sendTask]: async (payload) => {
            const ref = refOf(payload);
            if (ref !== null) await attempts.begin(ref);
          },
        },
      }),
    );
    isStarted = true;
    const look = (): void =>
      void recover().catch((error: unknown) => log.warn(loggable(error), 'messages about approvals that are overdue could not be read'));
    look();
    const timer = setInterval(look, overduePace.everyMs);
    let isClosing = false;
    const settled = async (): Promise<void> => {
      if (isClosing) return;
      clearInterval(timer);
      ended();
      log.warn({}, 'the worker of jobs has ended; it is started again within a minute');
      await pool.end();
    };
    void runner.promise.then(settled, settled);
    return {
      close: async () => {
        isClosing = true;
        clearInterval(timer);
        await runner.stop();
        await pool.end();
      },
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

interface Attempts {
  /** Begins an attempt, if one may be made. A message without an attempt is found again when it is overdue. */
  begin(ref: MessageRef): Promise<void>;
  /** Ends when the attempts in progress have ended or are abandoned. */
  close(): Promise<void>;
}

/** The attempts that this process makes. */
function createAttempts(deps: DeliveriesDeps): Attempts {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  let beginning = 0;
  const make = async (ref: MessageRef): Promise<void> => {
    const delivery = await beginDelivery(deps, ref);
    if (delivery === null) return;
    const attempt = delivery(stopping.signal)
      .catch((error: unknown) =>
        deps.log.warn(
          loggable(error),
          'the result of an attempt to send a message about an approval could not be stored; it is made again',
        ),
      )
      .finally(() => running.delete(attempt));
    running.add(attempt);
  };
  return {
    begin: async (ref) => {
      if (running.size + beginning >= attemptsMax) return;
      beginning += 1;
      await make(ref).finally(() => {
        beginning -= 1;
      });
    },
    close: async () => {
      const timer = setTimeout(() => stopping.abort(), closeMs);
      await Promise.all(running);
      clearTimeout(timer);
    },
  };
}

function refOf(payload: unknown): MessageRef | null {
  const { workspaceId, id } = isObject(payload) ? payload : {};
  return typeof workspaceId === 'number' && typeof id === 'string' ? { workspaceId, id } : null;
}
