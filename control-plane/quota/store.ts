// Stores the rows of the ledger. A process locks the rows that it needs in the order of their keys, which prevents
// deadlocks.
//
// Rows are found key by key (`cross join lateral`), in a form that PostgreSQL cannot join in another way. Otherwise it
// would read the whole table for each message, until it has new statistics of it. While runs begin, the table grows by
// thousands of rows before the statistics are made.
import type pg from 'pg';
import type { CounterState } from './rules/ledger.ts';
import type { Queryable } from '../database/transaction.ts';

/**
 * The channel for recalls of grants. `watch-revisions.ts` of every control plane receives them. A recall is only a
 * hint.
 */
export const recallChannel = 'tollgate_recall';
/** The maximum size of one recall. PostgreSQL accepts less than 8,000 bytes. */
export const recallBytesMax = 7_900;

interface LockedCounter {
  readonly key: string;
  /** Null for a row that was just created. */
  readonly state: CounterState | null;
}

export interface LockedCounters {
  readonly rows: readonly LockedCounter[];
  /** Time of the database in ms since 1970, read after the ask was sent. */
  readonly nowMs: number;
}

interface Row extends LockedCounter {
  readonly now_ms: string;
}

/** Locks the existing rows of these keys until the transaction ends. Each key must be named once. */
export async function lockCounters(client: pg.PoolClient, workspaceId: number, keys: readonly string[]): Promise<LockedCounters> {
  const { rows } = await client.query<Row>(
    `select found.key, found.state, floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
     from unnest($2::text[]) as wanted(key) cross join lateral (
       select key, state from quota_counter where workspace_id = $1 and quota_counter.key = wanted.key for update
     ) as found`,
    // Keys are hex digits, so this order is the same in every process. Rows are locked in the order of the list.
    [workspaceId, keys.toSorted()],
  );
  return { rows, nowMs: Math.max(0, ...rows.map(({ now_ms: ms }) => Number(ms))) };
}

/**
 * Inserts rows for counters that have none, if the workspace exists. Each item of `counters` is the key of the row, and
 * the id of the API key that has created the counter, or null. The statement does not wait for the disk, because a row
 * without a state says nothing.
 */
export async function insertCounters(
  db: Queryable,
  workspaceId: number,
  counters: readonly (readonly [string, string | null])[],
): Promise<void> {
  await db.query(
    `insert into quota_counter (workspace_id, key, key_id, kept_until)
     select workspace.id, wanted.key, wanted.key_id, clock_timestamp() + interval '1 minute'
     from (select set_config('synchronous_commit', 'off', true)) as fast, workspace
     cross join unnest($2::text[], $3::text[]) as wanted(key, key_id) where workspace.id = $1 order by wanted.key
     on conflict (workspace_id, key) do nothing`,
    [workspaceId, counters.map(([key]) => key), counters.map(([, keyId]) => keyId)],
  );
}

/**
 * Inserts counters with their first state, which was computed for the time `nowMs`. Returns the keys of those that had no
 * row before. The others are not changed. Inserts nothing if the workspace does not exist, or if `nowMs` differs from the
 * time of the database by more than a minute: such a row could be removed too early, or repeat ids of grants.
 */
export async function insertBegunCounters(
  db: Queryable,
  workspaceId: number,
  counters: readonly (WrittenCounter & { readonly keyId: string })[],
  nowMs: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ key: string }>({
    // The statement has a name, so that PostgreSQL plans it once for each connection. It runs once for nearly every run,
    // and planning took as long as running it.
    name: 'insert-begun-counters',
    text: `insert into quota_counter (workspace_id, key, key_id, state, kept_until)
     select workspace.id, begun.key, begun.key_id, begun.state, to_timestamp(begun.kept_until_ms / 1000.0)
     from workspace cross join unnest($2::text[], $3::text[], $4::jsonb[], $5::bigint[]) as begun(key, key_id, state, kept_until_ms)
     where workspace.id = $1 and abs(extract(epoch from clock_timestamp()) * 1000 - $6::bigint) < 60000 order by begun.key
     on conflict (workspace_id, key) do nothing returning key`,
    values: [
      workspaceId,
      counters.map(({ key }) => key),
      counters.map(({ keyId }) => keyId),
      counters.map(({ state }) => JSON.stringify(state)),
      counters.map((counter) => counter.keptUntilMs),
      nowMs,
    ],
  });
  return new Set(rows.map(({ key }) => key));
}

/** An API key in its workspace. */
export interface KeyPlace {
  readonly workspaceId: number;
  readonly keyId: string;
}

/** Returns the API keys that have created `max` counters or more. */
export async function listCrowdedKeys(db: Queryable, max: number): Promise<readonly (KeyPlace & { readonly counters: number })[]> {
  const { rows } = await db.query<{ workspace: string; key: string; counters: string }>(
    `select workspace_id as workspace, key_id as key, count(*) as counters from quota_counter
     where key_id is not null group by workspace_id, key_id having count(*) >= $1`,
    [max],
  );
  return rows.map(({ workspace, key, counters }) => ({ workspaceId: Number(workspace), keyId: key, counters: Number(counters) }));
}

/**
 * Deletes at most `limit` of the counters that an API key has created, the longest unused first. Counters with a grant,
 * and counters that would be kept for longer than `spareMs`, are not deleted. Returns the number of deleted rows.
 */
export async function deleteUnusedCounters(
  db: Queryable,
  { workspaceId, keyId }: KeyPlace,
  { limit, spareMs }: { readonly limit: number; readonly spareMs: number },
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from quota_counter using (
       select workspace_id, key from quota_counter
       where workspace_id = $1 and key_id = $2 and kept_until < clock_timestamp() + $4 * interval '1 millisecond'
         and coalesce(jsonb_array_length(state->'grants'), 0) = 0
       order by kept_until limit $3 for update skip locked
     ) as unused where quota_counter.workspace_id = unused.workspace_id and quota_counter.key = unused.key`,
    [workspaceId, keyId, limit, spareMs],
  );
  return rowCount ?? 0;
}

export interface WrittenCounter {
  readonly key: string;
  readonly state: CounterState;
  readonly keptUntilMs: number;
}

/** Writes the states of counters. Their rows must be locked, so their places in the table (`ctid`) do not change. */
export async function writeCounters(client: pg.PoolClient, workspaceId: number, counters: readonly WrittenCounter[]): Promise<void> {
  await client.query(
    `update quota_counter set state = written.state, kept_until = to_timestamp(written.kept_until_ms / 1000.0)
     from unnest($2::text[], $3::jsonb[], $4::bigint[]) as written(key, state, kept_until_ms)
     cross join lateral (
       select ctid from quota_counter where workspace_id = $1 and quota_counter.key = written.key offset 0
     ) as locked
     where quota_counter.ctid = locked.ctid`,
    [
      workspaceId,
      counters.map(({ key }) => key),
      counters.map(({ state }) => JSON.stringify(state)),
      counters.map(({ keptUntilMs }) => keptUntilMs),
    ],
  );
}

/**
 * Deletes at most `limit` rows that no longer count anything, and returns their number. It skips rows that other
 * transactions have locked.
 */
export async function deleteSpentCounters(db: Queryable, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from quota_counter using (
       select workspace_id, key from quota_counter where kept_until < clock_timestamp() limit $1 for update skip locked
     ) as spent where quota_counter.workspace_id = spent.workspace_id and quota_counter.key = spent.key`,
    [limit],
  );
  return rowCount ?? 0;
}

/** Sends recalls to all control planes. */
export async function notifyRecalls(db: Queryable, payloads: readonly string[]): Promise<void> {
  await db.query('select pg_notify($1, payload) from unnest($2::text[]) as payload', [recallChannel, payloads]);
}
