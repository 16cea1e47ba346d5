// Stores tool servers. Their secrets are already sealed when they arrive here.
import { wildcardPrefix } from '@tollgate/proto/contract';
import type { WorkspaceServer } from '../../workspaces/rules.ts';
import { isObject, type JsonSchema } from '@tollgate/proto/shape';
import type { DiscoveredTool, ListedToolServer, RegisteredToolServer, Target, ToolScopes, ToolServer } from '../rules/tool-server.ts';
import { among, rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

interface RegisteredRow {
  readonly name: string;
  readonly url: string | null;
  readonly program: string | null;
  readonly args: readonly string[];
  readonly secret_names: readonly string[];
  readonly scopes: unknown;
  readonly admitted: unknown;
  readonly hints: unknown;
  readonly revision: string;
  readonly discovered_at: Date;
  readonly created_at: Date;
}

interface ToolServerRow extends RegisteredRow {
  readonly tools: unknown;
}

/** The columns without the tools, which can be large. */
const columns = 'name, url, program, args, secret_names, scopes, admitted, hints, revision, discovered_at, created_at';

/**
 * SQL: a digest that identifies the definition. It does not change when the server is asked for its tools again, or
 * when the secrets are encrypted with another key. Two different definitions never have the same digest. The digest
 * includes only the nonce of the sealed secrets. The nonce stays the same when another key encrypts the secrets.
 */
const definition = `encode(sha256(convert_to(
  json_build_array(url, program, args, secret_names, encode(substring(sealed for 12), 'hex'))::text, 'UTF8')), 'hex') as definition`;

// The code in `rules` has checked the values before they were written.
const areListedTools = (value: unknown): value is ListedToolServer['tools'] => Array.isArray(value) && value.every(isObject);
const areTools = (value: unknown): value is readonly (Omit<DiscoveredTool, 'digest'> & Partial<DiscoveredTool>)[] =>
  Array.isArray(value) && value.every(isObject);
const areAdmitted = (value: unknown): value is RegisteredToolServer['admitted'] => Array.isArray(value) && value.every(Array.isArray);
const areHints = (value: unknown): value is RegisteredToolServer['hints'] => Array.isArray(value) && value.every(Array.isArray);
const areScopes = (value: unknown): value is ToolScopes => Array.isArray(value) && value.every(Array.isArray);

/** Tools that were discovered before digests were stored have no digest. */
const toolsFromRow = (tools: unknown): readonly DiscoveredTool[] =>
  rowIs(areTools, tools).map(({ digest = null, ...tool }) => ({ ...tool, digest }));

export function targetFromRow({
  url,
  program,
  args,
  secret_names: names,
}: Pick<RegisteredRow, 'url' | 'program' | 'args' | 'secret_names'>): Target {
  if (url !== null) return { kind: 'url', url, headers: names };
  if (program === null) throw new Error('the database contains a tool server without a url and without a command');
  return { kind: 'command', program, args, env: names };
}

const registeredFromRow = (row: RegisteredRow): RegisteredToolServer => ({
  name: row.name,
  target: targetFromRow(row),
  scopes: rowIs(areScopes, row.scopes),
  admitted: rowIs(areAdmitted, row.admitted),
  hints: rowIs(areHints, row.hints),
  revision: Number(row.revision),
  discoveredAt: row.discovered_at,
  createdAt: row.created_at,
});

/** SQL: the tools of a server without their schemas. */
const listedTools = `(
  select coalesce(json_agg(json_build_object('name', tool->'name', 'description', tool->'description', 'digest', tool->'digest') order by place), '[]')
  from json_array_elements(tools) with ordinality as one(tool, place)
) as tools`;

const listedFromRow = (row: ToolServerRow): ListedToolServer => ({
  ...registeredFromRow(row),
  tools: rowIs(areListedTools, row.tools),
});

/** Returns the servers, sorted by name. The tools are listed without their schemas. */
export async function listToolServers(db: Queryable, workspaceId: number): Promise<readonly ListedToolServer[]> {
  const { rows } = await db.query<ToolServerRow>(
    `select ${columns}, ${listedTools} from tool_server where workspace_id = $1 order by name`,
    [workspaceId],
  );
  return rows.map(listedFromRow);
}

/** Maximum size of the tools of a page, as stored. A page of a single server can be larger. */
const pageBytesMax = 4 * 1_048_576;

/** Like `listToolServers`, for a page, which ends at `limit` servers or at its maximum size. */
export async function listToolServersAfter(
  db: Queryable,
  workspaceId: number,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<{ readonly servers: readonly ListedToolServer[]; readonly more: boolean }> {
  const { rows } = await db.query<ToolServerRow & { readonly remaining: string }>(
    `with remaining as (
       select name, count(*) over () as remaining, octet_length(tools::text) as bytes,
         sum(octet_length(tools::text)) over (order by name) as bytes_so_far
       from tool_server where workspace_id = $1 and ($2::text is null or name > $2)
     )
     select ${columns}, ${listedTools}, remaining from remaining join tool_server using (name)
     where workspace_id = $1 and (bytes_so_far = bytes or bytes_so_far <= $4) order by name limit $3`,
    [workspaceId, after, limit, pageBytesMax],
  );
  return { servers: rows.map(listedFromRow), more: Number(rows[0]?.remaining ?? 0) > rows.length };
}

export async function findToolServer(db: Queryable, workspaceId: number, name: string): Promise<ToolServer | null> {
  const { rows } = await db.query<ToolServerRow>(`select ${columns}, tools from tool_server where workspace_id = $1 and name = $2`, [
    workspaceId,
    name,
  ]);
  return rows[0] === undefined ? null : { ...registeredFromRow(rows[0]), tools: toolsFromRow(rows[0].tools) };
}

/**
 * Reads the server together with its sealed secrets. If they were read separately, the definition could change in
 * between. Then the secrets of one definition could be sent to the address of another.
 */
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

/**
 * Returns the servers whose tools can match a key of a list such as `enabledTools`, sorted by name. Each server is
 * returned with all its tools and its sealed secrets.
 */
export async function listSealedToolServers(
  db: Queryable,
  workspaceId: number,
  keys: readonly string[],
): Promise<readonly { readonly server: ToolServer; readonly sealed: Uint8Array | null; readonly definition: string }[]> {
  const beginnings = keys.map((key) => wildcardPrefix(key) ?? key);
  const { rows } = await db.query<ToolServerRow & { sealed: Buffer | null; definition: string }>(
    `select ${columns}, tools, sealed, ${definition} from tool_server
     where workspace_id = $1 and exists (
       select from unnest($2::text[]) as beginning where starts_with(beginning, name || '.') or starts_with(name || '.', beginning)
     ) order by name`,
    [workspaceId, beginnings],
  );
  return rows.map((row) => ({
    server: { ...registeredFromRow(row), tools: toolsFromRow(row.tools) },
    sealed: row.sealed,
    definition: row.definition,
  }));
}

export async function hasToolServer(db: Queryable, workspaceId: number, name: string): Promise<boolean> {
  const { rowCount } = await db.query('select from tool_server where workspace_id = $1 and name = $2', [workspaceId, name]);
  return rowCount === 1;
}

export async function countToolServers(db: Queryable, workspaceId: number): Promise<number> {
  const { rows } = await db.query<{ count: string }>('select count(*) from tool_server where workspace_id = $1', [workspaceId]);
  return Number(rows[0]?.count);
}

/**
 * Returns the servers as policy uses them: their address, the scopes that their tools require, and the admitted
 * definitions. `names`: null for all servers.
 */
export async function listWorkspaceServers(
  db: Queryable,
  workspaceId: number,
  names: readonly string[] | null = null,
): Promise<readonly WorkspaceServer[]> {
  const { rows } = await db.query<RegisteredRow & { readonly definition: string }>(
    `select ${columns}, ${definition} from tool_server where workspace_id = $1 and ${among('name', '$2')} order by name`,
    [workspaceId, names],
  );
  return rows.map((row) => {
    const { name, target, scopes, admitted, hints } = registeredFromRow(row);
    const tools = scopes.map(([tool, requiredScopes]) => ({ name: tool, requiredScopes }));
    const digests = new Map(admitted);
    // An older control plane changes what is admitted, and not the hints.
    const valid = hints.flatMap(([tool, digest, hint]) => (digests.get(tool) === digest ? [[tool, hint] as const] : []));
    return { name, definition: row.definition, tools, target, admitted, hints: valid };
  });
}

/** One tool of a wildcard is enough to know that a path exists, and schemas can be large. */
const schemasMax = 100;

/**
 * Returns the input schemas of the tools that the names and wildcards of rules match, by `<server>.<tool>`. At most
 * 100 of them, those that are named first. The servers reported these schemas last.
 */
export async function listInputSchemas(
  db: Queryable,
  workspaceId: number,
  keys: readonly string[],
): Promise<{ readonly schemas: ReadonlyMap<string, JsonSchema>; readonly isComplete: boolean }> {
  const prefixes = keys.flatMap((key) => wildcardPrefix(key) ?? []);
  const { rows } = await db.query<{ name: string; schema: unknown }>(
    `select * from (
       select name || '.' || (tool->>'name') as name, tool->'inputSchema' as schema from tool_server, json_array_elements(tools) as tool
       where workspace_id = $1 and exists (select from unnest($2::text[]) as key where starts_with(key, name || '.'))
     ) as named
     where name = any($2) or exists (select from unnest($3::text[]) as prefix where starts_with(name, prefix))
     order by name = any($2) desc, name limit ${schemasMax}`,
    [workspaceId, keys, prefixes],
  );
  return { schemas: new Map(rows.map(({ name, schema }) => [name, rowIs(isObject, schema)])), isComplete: rows.length < schemasMax };
}

export async function insertToolServer(db: Queryable, workspaceId: number, server: ToolServer, sealed: Uint8Array | null): Promise<void> {
  const { name, target, scopes, admitted, hints, tools, revision, discoveredAt, createdAt } = server;
  const { url, program, args, secretNames } = placeOf(target);
  await db.query(
    `insert into tool_server (workspace_id, name, url, program, args, secret_names, sealed, scopes, tools, revision, discovered_at, created_at, admitted, hints)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
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
      JSON.stringify(admitted),
      JSON.stringify(hints),
    ],
  );
}

function placeOf(target: Target) {
  return target.kind === 'url'
    ? { url: target.url, program: null, args: [], secretNames: target.headers }
    : { url: null, program: target.program, args: target.args, secretNames: target.env };
}

/** Stores the present tools of a server, and which of them are admitted. */
export async function updateTools(
  db: Queryable,
  workspaceId: number,
  name: string,
  { tools, admitted, hints, revision, discoveredAt }: Pick<ToolServer, 'tools' | 'admitted' | 'hints' | 'revision' | 'discoveredAt'>,
): Promise<void> {
  await db.query(
    'update tool_server set tools = $3, admitted = $4, hints = $5, revision = $6, discovered_at = $7 where workspace_id = $1 and name = $2',
    [workspaceId, name, JSON.stringify(tools), JSON.stringify(admitted), JSON.stringify(hints), revision, discoveredAt],
  );
}

export async function updateAdmitted(
  db: Queryable,
  workspaceId: number,
  name: string,
  { admitted, hints, revision }: Pick<ToolServer, 'admitted' | 'hints' | 'revision'>,
): Promise<void> {
  await db.query('update tool_server set admitted = $3, hints = $4, revision = $5 where workspace_id = $1 and name = $2', [
    workspaceId,
    name,
    JSON.stringify(admitted),
    JSON.stringify(hints),
    revision,
  ]);
}

/** Returns false if no server has that name. */
export async function deleteToolServer(db: Queryable, workspaceId: number, name: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from tool_server where workspace_id = $1 and name = $2', [workspaceId, name]);
  return rowCount === 1;
}
