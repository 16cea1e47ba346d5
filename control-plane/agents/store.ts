// Stores agent profiles.
import type { Agent, AgentFields } from './rules/agent.ts';
import type { AgentPosition, PositionedAgent } from './rules/agent-position.ts';
import type { PageWanted } from '../base/page.ts';
import { among } from '../database/row.ts';
import type { Queryable } from '../database/transaction.ts';

interface AgentRow {
  readonly id: string;
  readonly name: string;
  readonly model: string;
  readonly system_prompt: string;
  readonly description: string;
  readonly icon: string;
  readonly enabled_tools: readonly string[];
  readonly scopes: readonly string[];
  readonly max_tool_calls: string;
  readonly max_budget_cents: string;
  readonly max_duration_ms: string;
  readonly max_tool_rounds: string;
  readonly delegatable: boolean;
  readonly can_delegate: boolean;
  readonly max_delegation_depth: string | null;
  readonly suspended: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columnOf: Readonly<Record<keyof AgentFields, string>> = {
  name: 'name',
  model: 'model',
  systemPrompt: 'system_prompt',
  description: 'description',
  icon: 'icon',
  enabledTools: 'enabled_tools',
  scopes: 'scopes',
  maxToolCalls: 'max_tool_calls',
  maxBudgetCents: 'max_budget_cents',
  maxDurationMs: 'max_duration_ms',
  maxToolRounds: 'max_tool_rounds',
  delegatable: 'delegatable',
  canDelegate: 'can_delegate',
  maxDelegationDepth: 'max_delegation_depth',
  suspended: 'suspended',
};

const isColumnField = (key: string): key is keyof AgentFields => Object.hasOwn(columnOf, key);

const fieldsOf = (fields: Partial<AgentFields>): readonly (readonly [string, unknown])[] =>
  Object.entries(fields).flatMap(([key, value]) => (isColumnField(key) ? [[columnOf[key], value] as const] : []));

const columns = ['id', ...Object.values(columnOf), 'created_at', 'updated_at'].join(', ');

const agentFromRow = (row: AgentRow): Agent => ({
  id: row.id,
  name: row.name,
  model: row.model,
  systemPrompt: row.system_prompt,
  description: row.description,
  icon: row.icon,
  enabledTools: row.enabled_tools,
  scopes: row.scopes,
  maxToolCalls: Number(row.max_tool_calls),
  maxBudgetCents: Number(row.max_budget_cents),
  maxDurationMs: Number(row.max_duration_ms),
  maxToolRounds: Number(row.max_tool_rounds),
  delegatable: row.delegatable,
  canDelegate: row.can_delegate,
  maxDelegationDepth: row.max_delegation_depth === null ? null : Number(row.max_delegation_depth),
  suspended: row.suspended,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/** Lists agents, newest first. `ids`: only these agents; null: all agents. */
export async function listAgents(db: Queryable, workspaceId: number, ids: readonly string[] | null = null): Promise<readonly Agent[]> {
  const { rows } = await db.query<AgentRow>(
    `select ${columns} from agent where workspace_id = $1 and ${among('id', '$2')} order by created_at desc, position desc`,
    [workspaceId, ids],
  );
  return rows.map(agentFromRow);
}

/** Lists agents with their positions, newest first. */
export async function listPositionedAgents(
  db: Queryable,
  workspaceId: number,
  { limit, after }: PageWanted<AgentPosition>,
): Promise<readonly PositionedAgent[]> {
  const { rows } = await db.query<AgentRow & { readonly position: string }>(
    `select ${columns}, position from agent where workspace_id = $1
       and ($2::timestamptz is null or (created_at, position) < ($2, $3))
     order by created_at desc, position desc limit $4`,
    [workspaceId, after?.createdAt, after?.number, limit],
  );
  return rows.map((row) => ({ agent: agentFromRow(row), position: { createdAt: row.created_at, number: Number(row.position) } }));
}

export async function findAgent(db: Queryable, workspaceId: number, id: string): Promise<Agent | null> {
  const { rows } = await db.query<AgentRow>(`select ${columns} from agent where workspace_id = $1 and id = $2`, [workspaceId, id]);
  return rows[0] === undefined ? null : agentFromRow(rows[0]);
}

/**
 * Returns the number of agents and the total size of their texts and lists, in bytes. For fields from which policy is
 * compiled, the size is that of their JSON, because they are sent in this form. For the other fields only the length is
 * measured.
 */
export async function measureAgents(db: Queryable, workspaceId: number): Promise<{ readonly count: number; readonly bytes: number }> {
  const lengths = ['to_json(name)::text', 'array_to_json(enabled_tools)::text', 'array_to_json(scopes)::text']
    .concat('model', 'system_prompt', 'description', 'icon')
    .map((text) => `octet_length(${text})`);
  const { rows } = await db.query<{ count: string; bytes: string }>(
    `select count(*), coalesce(sum(${lengths.join(' + ')}), 0) as bytes from agent where workspace_id = $1`,
    [workspaceId],
  );
  return { count: Number(rows[0]?.count), bytes: Number(rows[0]?.bytes) };
}

export async function insertAgent(
  db: Queryable,
  workspaceId: number,
  agent: AgentFields & { readonly id: string; readonly createdAt: Date },
): Promise<void> {
  const given = fieldsOf(agent);
  const names = ['workspace_id', 'id', 'created_at', 'updated_at', ...given.map(([column]) => column)];
  const values = [workspaceId, agent.id, agent.createdAt, agent.createdAt, ...given.map(([, value]) => value)];
  await db.query(`insert into agent (${names.join(', ')}) values (${names.map((_, at) => `$${at + 1}`).join(', ')})`, values);
}

export async function updateAgent(db: Queryable, workspaceId: number, id: string, fields: Partial<AgentFields>, at: Date): Promise<void> {
  const given = [['updated_at', at] as const, ...fieldsOf(fields)];
  const set = given.map(([column], index) => `${column} = $${index + 3}`).join(', ');
  await db.query(`update agent set ${set} where workspace_id = $1 and id = $2`, [workspaceId, id, ...given.map(([, value]) => value)]);
}

export async function deleteAgent(db: Queryable, workspaceId: number, id: string): Promise<void> {
  await db.query('delete from agent where workspace_id = $1 and id = $2', [workspaceId, id]);
}
