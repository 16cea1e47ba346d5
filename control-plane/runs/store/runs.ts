// Stores runs: their beginning, progress and end, and the queries on them. Their cost is in `spend.ts`.
import type { Run, RunPosition, RunRef, RunStatus, RunSummary, ToldProgress } from '../rules/run.ts';
import { isRunStatus } from '../rules/run.ts';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

interface SummaryRow {
  readonly id: string;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly model: string;
  readonly sub: string;
  readonly lineage: readonly string[];
  readonly status: string;
  readonly stop_reason: string | null;
  readonly started_at: Date;
  readonly ended_at: Date | null;
  readonly cancel_requested_at: Date | null;
  readonly prompt_tokens: string | null;
  readonly completion_tokens: string | null;
  readonly tool_calls: string | null;
  readonly rounds: string | null;
  readonly spent: string;
}

interface RunRow extends SummaryRow {
  readonly approval_ids: readonly string[] | null;
  readonly request: unknown;
  readonly transcript: unknown;
  readonly output: string;
  readonly error: string | null;
}

/** The columns without the potentially large values. */
const columns = `id, agent_id, agent_name, model, sub, lineage, status, stop_reason, started_at, ended_at, cancel_requested_at,
  prompt_tokens, completion_tokens, tool_calls, rounds, spent`;

const countOf = (text: string | null): number | null => (text === null ? null : Number(text));

const summaryFromRow = (row: SummaryRow): RunSummary => ({
  id: row.id,
  agentId: row.agent_id,
  agentName: row.agent_name,
  model: row.model,
  sub: row.sub,
  lineage: row.lineage,
  status: rowIs(isRunStatus, row.status),
  stopReason: row.stop_reason,
  startedAt: row.started_at,
  endedAt: row.ended_at,
  cancelRequestedAt: row.cancel_requested_at,
  promptTokens: countOf(row.prompt_tokens),
  completionTokens: countOf(row.completion_tokens),
  toolCalls: countOf(row.tool_calls),
  rounds: countOf(row.rounds),
  spent: Number(row.spent),
});

export async function findRun(db: Queryable, workspaceId: number, id: string): Promise<Run | null> {
  const { rows } = await db.query<RunRow>(
    `select ${columns}, request, transcript, output, error,
       (select approval_ids from run_wait where workspace_id = $1 and run_id = $2 and run.status = 'waiting') as approval_ids
     from run where workspace_id = $1 and id = $2`,
    [workspaceId, id],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return {
    ...summaryFromRow(row),
    request: row.request,
    transcript: row.transcript,
    output: row.output,
    error: row.error,
    approvalIds: row.approval_ids ?? [],
  };
}

interface RunsWanted {
  readonly limit: number;
  readonly before: RunPosition | null;
  /** The subject of the runs; null: all subjects. */
  readonly sub: string | null;
}

/** Lists the runs of an agent, newest first. */
export async function listRuns(
  db: Queryable,
  workspaceId: number,
  agentId: string,
  { limit, before, sub }: RunsWanted,
): Promise<readonly RunSummary[]> {
  const { rows } = await db.query<SummaryRow>(
    `select ${columns} from run where workspace_id = $1 and agent_id = $2
       and ($3::timestamptz is null or (started_at, id) < ($3, $4)) ${sub === null ? '' : 'and sub = $6'}
     order by started_at desc, id desc limit $5`,
    [workspaceId, agentId, before?.startedAt, before?.id, limit, ...(sub === null ? [] : [sub])],
  );
  return rows.map(summaryFromRow);
}

/**
 * The subject that pays for a run, and the ids of the runs from the root run to this run. Neither of the two changes.
 */
export interface RunOwner {
  readonly sub: string;
  readonly lineage: readonly string[];
}

export async function findRunOwner(db: Queryable, workspaceId: number, id: string): Promise<RunOwner | null> {
  const { rows } = await db.query<RunOwner>('select sub, lineage from run where workspace_id = $1 and id = $2', [workspaceId, id]);
  return rows[0] ?? null;
}

export interface StoredRun extends RunOwner {
  readonly id: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly model: string;
  readonly budget: number;
  readonly instance: string;
  readonly request: unknown;
  readonly startedAt: Date;
}

export async function insertRun(db: Queryable, workspaceId: number, run: StoredRun): Promise<void> {
  const { id, agentId, agentName, model, sub, lineage, budget, instance, request, startedAt } = run;
  await db.query(
    `insert into run (workspace_id, id, agent_id, agent_name, model, sub, lineage, status, started_at, instance, budget, request)
     values ($1, $2, $3, $4, $5, $6, $7, 'running', $8, $9, $10, $11)`,
    [workspaceId, id, agentId, agentName, model, sub, lineage, startedAt, instance, budget, JSON.stringify(request)],
  );
}

/**
 * The end of a run. `transcript` is JSON. If nothing is known beyond the stored progress, `transcript` is undefined and
 * the counts are null.
 */
export interface StoredEnd {
  readonly status: Exclude<RunStatus, 'running' | 'waiting'>;
  readonly stopReason: string | null;
  readonly output: string;
  readonly error: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly toolCalls: number | null;
  readonly rounds: number | null;
  readonly transcript: unknown;
  readonly at: Date;
}

/**
 * Returns SQL for the stored value of a column, or for null if no progress was stored. Progress is stored for the first
 * time after the first round.
 */
const ifTold = (column: string): string => `case when rounds > 0 then ${column} end`;

/** Writes the end of a run. The run must be locked and still running. */
export async function updateRunEnd(db: Queryable, workspaceId: number, id: string, end: StoredEnd): Promise<void> {
  const { status, stopReason, output, error, promptTokens, completionTokens, toolCalls, rounds, transcript, at } = end;
  await db.query(
    `update run set status = $3, stop_reason = $4, output = $5, error = $6,
       prompt_tokens = coalesce($7, ${ifTold('prompt_tokens')}), completion_tokens = coalesce($8, ${ifTold('completion_tokens')}),
       tool_calls = coalesce($9, ${ifTold('tool_calls')}), rounds = coalesce($10, ${ifTold('rounds')}),
       transcript = coalesce($11, transcript), ended_at = greatest($12, started_at)
     where workspace_id = $1 and id = $2`,
    [
      workspaceId,
      id,
      status,
      stopReason,
      output,
      error,
      promptTokens,
      completionTokens,
      toolCalls,
      rounds,
      transcript === undefined ? null : JSON.stringify(transcript),
      at,
    ],
  );
}

/** Updates a running run. A run that is not running, or that was resumed since `generation`, does not change. */
export async function updateRunProgress(
  db: Queryable,
  { workspaceId, id }: RunRef,
  generation: number,
  progress: ToldProgress,
): Promise<void> {
  const { rounds, toolCalls, promptTokens, completionTokens, transcript } = progress;
  await db.query(
    `update run set rounds = $3, tool_calls = $4, prompt_tokens = $5, completion_tokens = $6, transcript = $7
     where workspace_id = $1 and id = $2 and status = 'running' and generation = $8`,
    [workspaceId, id, rounds, toolCalls, promptTokens, completionTokens, JSON.stringify(transcript), generation],
  );
}

/** Removes at most `limit` runs of all workspaces that ended before `instant`. Returns how many were removed. */
export async function deleteRunsEndedBefore(db: Queryable, instant: Date, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from run using (
       select workspace_id, id from run where ended_at < $1 order by ended_at limit $2 for update skip locked
     ) old where run.workspace_id = old.workspace_id and run.id = old.id`,
    [instant, limit],
  );
  return rowCount ?? 0;
}

/** Returns the cost of the run if it ended with this status at this instant; otherwise null. */
export async function findRunEnd(
  db: Queryable,
  workspaceId: number,
  id: string,
  { status, at }: Pick<StoredEnd, 'status' | 'at'>,
): Promise<{ readonly spent: number } | null> {
  const { rows } = await db.query<{ spent: string }>(
    'select spent from run where workspace_id = $1 and id = $2 and status = $3 and ended_at = greatest($4, started_at)',
    [workspaceId, id, status, at],
  );
  return rows[0] === undefined ? null : { spent: Number(rows[0].spent) };
}

/** Records that the end of a running or waiting run was requested. A run that has ended does not change. */
export async function requestCancel(db: Queryable, workspaceId: number, id: string, at: Date): Promise<void> {
  await db.query(
    `update run set cancel_requested_at = coalesce(cancel_requested_at, $3) where workspace_id = $1 and id = $2 and status in ('running', 'waiting')`,
    [workspaceId, id, at],
  );
}
