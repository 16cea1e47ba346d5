// Stores the money of runs, in µ¢: days, budgets and reservations. A process that changes any of them locks the day
// first, and then the runs from the root down. This order prevents deadlocks.
import { isRunStatus, type RunStatus } from '../rules/run.ts';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

export interface DayRef {
  readonly workspaceId: number;
  readonly sub: string;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
}

export interface Spend {
  readonly settled: number;
  readonly reserved: number;
}

interface SpendRow {
  readonly settled: string;
  readonly reserved: string;
}

const spendFromRow = (row: SpendRow): Spend => ({ settled: Number(row.settled), reserved: Number(row.reserved) });

/** Locks the day and returns its spending. A new day begins with zero. */
export async function lockDay(db: Queryable, { workspaceId, sub, day }: DayRef): Promise<Spend> {
  const values = [workspaceId, sub, day];
  const lock = 'select settled, reserved from spend where workspace_id = $1 and sub = $2 and day = $3 for update';
  const found = await db.query<SpendRow>(lock, values);
  if (found.rows[0] !== undefined) return spendFromRow(found.rows[0]);
  await db.query('insert into spend (workspace_id, sub, day) values ($1, $2, $3) on conflict do nothing', values);
  const { rows } = await db.query<SpendRow>(lock, values);
  if (rows[0] === undefined) throw new Error('the table "spend" must have a row for the day after the insert, but this row was not found');
  return spendFromRow(rows[0]);
}

/** Returns the spending of the day without a lock. */
export async function readDay(db: Queryable, { workspaceId, sub, day }: DayRef): Promise<Spend> {
  const { rows } = await db.query<SpendRow>('select settled, reserved from spend where workspace_id = $1 and sub = $2 and day = $3', [
    workspaceId,
    sub,
    day,
  ]);
  return rows[0] === undefined ? { settled: 0, reserved: 0 } : spendFromRow(rows[0]);
}

/** Returns the subjects with spending or reservations on that day, the highest sum first. */
export async function listSpend(
  db: Queryable,
  { workspaceId, day, sub }: { readonly workspaceId: number; readonly day: string; readonly sub: string | null },
  limit: number,
): Promise<readonly (Spend & { readonly sub: string })[]> {
  const { rows } = await db.query<SpendRow & { readonly sub: string }>(
    `select sub, settled, reserved from spend where workspace_id = $1 and day = $2 and ($3::text is null or sub = $3)
       and settled + reserved > 0
     order by settled + reserved desc, sub limit $4`,
    [workspaceId, day, sub, limit],
  );
  return rows.map((row) => ({ sub: row.sub, ...spendFromRow(row) }));
}

interface CostPage {
  readonly workspaceId: number;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly limit: number;
  /** Only those after this one, in the order "largest cost first". */
  readonly after: { readonly microcents: number; readonly id: string } | null;
}

interface Cost {
  /** The subject, or the id of the agent. */
  readonly id: string;
  readonly microcents: number;
}

/** Returns what the runs of each user cost on that day, the largest first, without what is reserved. */
export async function listUserCosts(db: Queryable, { workspaceId, day, limit, after }: CostPage): Promise<readonly Cost[]> {
  const { rows } = await db.query<{ sub: string; settled: string }>(
    `select sub, settled from spend where workspace_id = $1 and day = $2 and settled > 0
       and ($4::bigint is null or settled < $4 or (settled = $4 and sub > $5))
     order by settled desc, sub limit $3`,
    [workspaceId, day, limit, after?.microcents, after?.id],
  );
  return rows.map((row) => ({ id: row.sub, microcents: Number(row.settled) }));
}

/**
 * Returns what the runs that each agent began on that day cost, the largest first. What a run costs is counted in the
 * runs above it, too: here only in its own. The agents are found one after the other in the index of their runs.
 */
export async function listAgentCosts(
  db: Queryable,
  { workspaceId, day, limit, after }: CostPage,
): Promise<readonly (Cost & { readonly name: string })[]> {
  const { rows } = await db.query<{ agent_id: string; name: string; cost: string }>(
    `with recursive one as (
       (select agent_id from run where workspace_id = $1 order by agent_id limit 1)
       union all
       select (select agent_id from run where workspace_id = $1 and agent_id > one.agent_id order by agent_id limit 1) from one
       where agent_id is not null
     ), begun as (
       select run.agent_id, agent_name, id, spent, started_at, lineage[cardinality(lineage) - 1] as above from one, lateral (
         select * from run where workspace_id = $1 and agent_id = one.agent_id
           and started_at >= $2::date::timestamp at time zone 'UTC' and started_at < ($2::date + 1)::timestamp at time zone 'UTC') run
     ), below as (
       select above, sum(spent) as spent from begun where above is not null group by above
     ), cost as (
       select agent_id, (array_agg(agent_name order by started_at desc))[1] as name,
         sum(begun.spent - coalesce(below.spent, 0))::bigint as cost
       from begun left join below on below.above = begun.id group by agent_id
     )
     select * from cost where cost > 0 and ($4::bigint is null or cost < $4 or (cost = $4 and agent_id > $5))
     order by cost desc, agent_id limit $3`,
    [workspaceId, day, limit, after?.microcents, after?.id],
  );
  return rows.map((row) => ({ id: row.agent_id, name: row.name, microcents: Number(row.cost) }));
}

export interface RunBudget {
  readonly id: string;
  readonly status: RunStatus;
  readonly generation: number;
  readonly budget: number;
  readonly spent: number;
  readonly reserved: number;
}

/** Locks the runs and returns them in order from the root down. A deleted run is absent. */
export async function lockRuns(db: Queryable, workspaceId: number, lineage: readonly string[]): Promise<readonly RunBudget[]> {
  const { rows } = await db.query<{
    id: string;
    status: string;
    generation: number;
    budget: string;
    spent: string;
    reserved: string;
  }>(
    `select id, status, generation, budget, spent, reserved from run where workspace_id = $1 and id = any($2)
     order by cardinality(lineage) for update`,
    [workspaceId, lineage],
  );
  return rows.map((row) => ({
    id: row.id,
    status: rowIs(isRunStatus, row.status),
    generation: row.generation,
    budget: Number(row.budget),
    spent: Number(row.spent),
    reserved: Number(row.reserved),
  }));
}

export interface Reservation extends DayRef {
  readonly id: string;
  readonly runId: string;
  readonly amount: number;
}

interface ReservationRow {
  readonly id: string;
  readonly run_id: string;
  readonly sub: string;
  readonly day: string;
  readonly amount: string;
}

const reservationColumns = 'id, run_id, sub, day::text as day, amount';

const reservationFromRow = (workspaceId: number, row: ReservationRow): Reservation => ({
  workspaceId,
  id: row.id,
  runId: row.run_id,
  sub: row.sub,
  day: row.day,
  amount: Number(row.amount),
});

/** Returns an open reservation; null when it is settled. */
export async function findReservation(db: Queryable, workspaceId: number, id: string): Promise<Reservation | null> {
  const { rows } = await db.query<ReservationRow>(
    `select ${reservationColumns} from spend_reservation where workspace_id = $1 and id = $2`,
    [workspaceId, id],
  );
  return rows[0] === undefined ? null : reservationFromRow(workspaceId, rows[0]);
}

/** All open reservations of a run. */
export async function listReservations(db: Queryable, workspaceId: number, runId: string): Promise<readonly Reservation[]> {
  const { rows } = await db.query<ReservationRow>(
    `select ${reservationColumns} from spend_reservation where workspace_id = $1 and run_id = $2 order by day, id`,
    [workspaceId, runId],
  );
  return rows.map((row) => reservationFromRow(workspaceId, row));
}

export async function insertReservation(db: Queryable, { workspaceId, id, runId, sub, day, amount }: Reservation): Promise<void> {
  await db.query('insert into spend_reservation (workspace_id, id, run_id, sub, day, amount) values ($1, $2, $3, $4, $5, $6)', [
    workspaceId,
    id,
    runId,
    sub,
    day,
    amount,
  ]);
}

/** Deletes a reservation. Returns false if it was already settled. */
export async function deleteReservation(db: Queryable, workspaceId: number, id: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from spend_reservation where workspace_id = $1 and id = $2', [workspaceId, id]);
  return rowCount === 1;
}

/** Adds the amounts to a day and to the runs of a lineage. */
export async function moveSpend(
  db: Queryable,
  { workspaceId, sub, day }: DayRef,
  lineage: readonly string[],
  { spent, reserved }: { readonly spent: number; readonly reserved: number },
): Promise<void> {
  await db.query(
    `with of_day as (
       update spend set settled = settled + $5, reserved = reserved + $6 where workspace_id = $1 and sub = $2 and day = $3
     )
     update run set spent = spent + $5, reserved = reserved + $6 where workspace_id = $1 and id = any($4)`,
    [workspaceId, sub, day, lineage, spent, reserved],
  );
}
