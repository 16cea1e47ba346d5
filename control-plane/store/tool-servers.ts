// Tool servers. Their secrets are sealed before they come here.
import type { CompiledServer } from '@tollgate/proto/contract';
import { isObject } from '../domain/shape.ts';
import type {
  DiscoveredTool,
  ListedToolServer,
  RegisteredToolServer,
  Target,
  ToolScopes,
  ToolServer,
} from '../domain/tool-servers/tool-server.ts';
import { rowIs } from './row.ts';
import type { Queryable } from './transaction.ts';

interface RegisteredRow {
  readonly name: string;
  readonly url: string | null;
  readonly program: string | null;
  readonly args: readonly string[];
  readonly secret_names: readonly string[];
  readonly scopes: unknown;
  readonly revision: string;
  readonly discovered_at: Date;
  readonly created_at: Date;
}

interface ToolServerRow extends RegisteredRow {
  readonly tools: unknown;
}

/** Without its tools, which may be large. */
const columns = 'name, url, program, args, secret_names, scopes, revision, discovered_at, created_at';

// Both pass `domain/` before they are written.
const areListedTools = (value: unknown): value is ListedToolServer['tools'] => Array.isArray(value) && value.every(isObject);
const areTools = (value: unknown): value is readonly DiscoveredTool[] => Array.isArray(value) && value.every(isObject);
const areScopes = (value: unknown): value is ToolScopes => Array.isArray(value) && value.every(Array.isArray);

function targetFromRow({ url, program, args, secret_names: names }: RegisteredRow): Target {
  if (url !== null) return { kind: 'url', url, headers: names };
  if (program === null) throw new Error('the database holds a tool server that is nowhere');
  return { kind: 'command', program, args, env: names };
}

const registeredFromRow = (row: RegisteredRow): RegisteredToolServer => ({
  name: row.name,
  target: targetFromRow(row),
  scopes: rowIs(areScopes, row.scopes),
  revision: Number(row.revision),
  discoveredAt: row.discovered_at,
  createdAt: row.created_at,
});

/** By name; of their tools without the schemas. */
export async function listToolServers(db: Queryable, workspaceId: number): Promise<readonly ListedToolServer[]> {
  const { rows } = await db.query<ToolServerRow>(
    `select ${columns}, (
       select coalesce(json_agg(json_build_object('name', tool->'name', 'description', tool->'description') order by place), '[]')
       from json_array_elements(tools) with ordinality as one(tool, place)
     ) as tools
     from tool_server where workspace_id = $1 order by name`,
    [workspaceId],
  );
  return rows.map((row) => ({ ...registeredFromRow(row), tools: rowIs(areListedTools, row.tools) }));
}

export async function findToolServer(db: Queryable, workspaceId: number, name: string): Promise<ToolServer | null> {
  const { rows } = await db.query<ToolServerRow>(`select ${columns}, tools from tool_server where workspace_id = $1 and name = $2`, [
    workspaceId,
    name,
  ]);
  return rows[0] === undefined ? null : { ...registeredFromRow(rows[0]), tools: rowIs(areTools, rows[0].tools) };
}

/** With its sealed secrets, in one read: the secrets of one definition never go to the address of another. */
export async function findSealedToolServer(
  db: Queryable,
  workspaceId: number,
  name: string,
): Promise<{ readonly server: RegisteredToolServer; readonly sealed: Uint8Array | null } | null> {
  const { rows } = await db.query<RegisteredRow & { sealed: Buffer | null }>(
    `select ${columns}, sealed from tool_server where workspace_id = $1 and name = $2`,
    [workspaceId, name],
  );
  return rows[0] === undefined ? null : { server: registeredFromRow(rows[0]), sealed: rows[0].sealed };
}

export async function hasToolServer(db: Queryable, workspaceId: number, name: string): Promise<boolean> {
  const { rowCount } = await db.query('select from tool_server where workspace_id = $1 and name = $2', [workspaceId, name]);
  return rowCount === 1;
}

export async function countToolServers(db: Queryable, workspaceId: number): Promise<number> {
  const { rows } = await db.query<{ count: string }>('select count(*) from tool_server where workspace_id = $1', [workspaceId]);
  return Number(rows[0]?.count);
}

/** For the compiler: what tools ask of an agent, where they ask anything. */
export async function listServerScopes(db: Queryable, workspaceId: number): Promise<readonly CompiledServer[]> {
  const { rows } = await db.query<{ name: string; scopes: unknown }>(
    `select name, scopes from tool_server where workspace_id = $1 and scopes <> '[]' order by name`,
    [workspaceId],
  );
  return rows.map(({ name, scopes }) => ({
    name,
    tools: rowIs(areScopes, scopes).map(([tool, requiredScopes]) => ({ name: tool, requiredScopes })),
  }));
}

export async function insertToolServer(db: Queryable, workspaceId: number, server: ToolServer, sealed: Uint8Array | null): Promise<void> {
  const { name, target, scopes, tools, revision, discoveredAt, createdAt } = server;
  const { url, program, args, secretNames } = placeOf(target);
  await db.query(
    `insert into tool_server (workspace_id, name, url, program, args, secret_names, sealed, scopes, tools, revision, discovered_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      workspaceId,
      name,
      url,
      program,
      args,
      secretNames,
      sealed,
      JSON.stringify(scopes),
      JSON.stringify(tools),
      revision,
      discoveredAt,
      createdAt,
    ],
  );
}

function placeOf(target: Target) {
  return target.kind === 'url'
    ? { url: target.url, program: null, args: [], secretNames: target.headers }
    : { url: null, program: target.program, args: target.args, secretNames: target.env };
}

/** What a server's tools are now, found out at `at`. */
export async function updateTools(
  db: Queryable,
  workspaceId: number,
  name: string,
  { tools, revision, discoveredAt }: Pick<ToolServer, 'tools' | 'revision' | 'discoveredAt'>,
): Promise<void> {
  await db.query('update tool_server set tools = $3, revision = $4, discovered_at = $5 where workspace_id = $1 and name = $2', [
    workspaceId,
    name,
    JSON.stringify(tools),
    revision,
    discoveredAt,
  ]);
}

/** False where there is none of that name. */
export async function deleteToolServer(db: Queryable, workspaceId: number, name: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from tool_server where workspace_id = $1 and name = $2', [workspaceId, name]);
  return rowCount === 1;
}
