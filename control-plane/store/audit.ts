// Reads the audit log, newest first.
import type { AuditFilters, AuditPosition, AuditQuery } from '../domain/audit-query.ts';
import { isObject } from '../domain/policy.ts';
import { rowIs } from './row.ts';
import { patientQuery, type Queryable } from './transaction.ts';

/** An entry as the API shows it, and where it stands. */
export interface ReadEntry {
  readonly position: AuditPosition;
  readonly entry: Readonly<Record<string, unknown>>;
}

interface EntryRow {
  readonly ts: Date;
  readonly spool_id: string;
  readonly sequence: string;
  readonly received_at: Date;
  readonly tool: string;
  readonly decision: string;
  readonly agent_name: string;
  readonly sub: string;
  readonly session_id: string;
  readonly entry: unknown;
}

const columnOf: Readonly<Record<keyof AuditFilters, string>> = {
  tool: 'tool',
  decision: 'decision',
  agent: 'agent_name',
  sub: 'sub',
  session: 'session_id',
};

/** At most `limit + 1` entries, so that the caller sees whether more follow. */
export async function readAudit(db: Queryable, workspaceId: number, query: AuditQuery): Promise<readonly ReadEntry[]> {
  const values: unknown[] = [workspaceId, query.since];
  const param = (value: unknown): string => `$${values.push(value)}`;
  const conditions = ['workspace_id = $1', 'ts >= $2'];
  for (const [name, column] of Object.entries(columnOf)) {
    const value = Object.entries(query.filters).find(([filter]) => filter === name)?.[1];
    if (value !== undefined) conditions.push(`${column} = ${param(value)}`);
  }
  if (query.after !== null) {
    const { ts, spoolId, sequence } = query.after;
    // The first condition is implied; it lets partitions be left out.
    const at = param(ts);
    conditions.push(`ts <= ${at}`, `(ts, spool_id, sequence) < (${at}, ${param(spoolId)}, ${param(sequence)})`);
  }
  const sql = `select ts, spool_id, sequence, received_at, tool, decision, agent_name, sub, session_id, entry
     from audit_entry where ${conditions.join(' and ')}
     order by ts desc, spool_id desc, sequence desc limit ${param(query.limit + 1)}`;
  const { rows } = await db.query<EntryRow>(patientQuery(sql, values));
  return rows.map(entryFromRow);
}

function entryFromRow(row: EntryRow): ReadEntry {
  const position = { ts: row.ts, spoolId: row.spool_id.replaceAll('-', ''), sequence: Number(row.sequence) };
  const entry = {
    ...rowIs(isObject, row.entry),
    id: `${position.spoolId}-${position.sequence}`,
    ts: row.ts.toISOString(),
    receivedAt: row.received_at.toISOString(),
    tool: row.tool,
    decision: row.decision,
    agentName: row.agent_name,
    sub: row.sub,
    sessionId: row.session_id,
  };
  return { position, entry };
}
