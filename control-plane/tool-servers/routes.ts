import type { FastifyInstance } from 'fastify';
import type { Actor } from '../access/rules/actor.ts';
import type { ListedToolServer, ToolServer } from './rules/tool-server.ts';
import { toolServerSchema } from './rules/tool-server-definition.ts';
import { admitSchema } from './rules/admission.ts';
import { admitTools } from './operations/admit-tools.ts';
import { deleteToolServer } from './operations/delete-tool-server.ts';
import { listToolServers, parseToolServerCursor, readToolServer } from './operations/read-tool-servers.ts';
import { refreshToolServer } from './operations/refresh-tool-server.ts';
import { registerToolServer } from './operations/register-tool-server.ts';
import type { AppDeps } from '../http/deps.ts';
import { createRateLimit } from '../base/rate-limit.ts';
import { limitOrAll, positionOf } from '../http/page-limit.ts';
import { addRoute, ok } from '../http/route.ts';
import {
  anyObject,
  inWorkspace,
  listedToolServerRef,
  listOf,
  okAnd,
  text,
  toolRef,
  toolServerRef,
  wholeOrPage,
  wholeOrPageQuery,
  workspaceAnd,
  written,
} from '../http/shapes.ts';

const list = '/:workspace/admin/toolServers';
const one = `${list}/:name`;
const params = workspaceAnd('name');
/** The limit exists because each discovery connects to an address, or starts a program, that a tenant chose. */
const discoveriesPerMinute = 30;
const found = written({ name: text, tools: listOf(toolRef) });

export function addToolServerRoutes(app: FastifyInstance, deps: AppDeps): void {
  const discoveries = createRateLimit(deps.clock, discoveriesPerMinute, 'discoveries of tools a minute for each workspace');
  const limitDiscoveries = ({ workspaceId }: Actor): void => discoveries.take(String(workspaceId));
  addRoutesOfList(app, deps, limitDiscoveries);
  addRoutesOfOne(app, deps);
  addRoutesOfTools(app, deps, limitDiscoveries);
}

function addRoutesOfList(app: FastifyInstance, deps: AppDeps, limitDiscoveries: (actor: Actor) => void): void {
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    id: 'listToolServers',
    tag: 'Tools',
    summary: 'Lists tool servers by name, never the values of their headers',
    description: `Without the schemas of their tools. To read the schemas, read one server by its name, or discover its tools. ${wholeOrPage} A page ends earlier where it would have more than 4 MiB of tools.`,
    answers: okAnd({ servers: listOf(listedToolServerRef) }, { next: text }),
    operation: listToolServers,
    schema: { params: inWorkspace, querystring: wholeOrPageQuery },
    input: ({ query }) => ({ limit: limitOrAll(query.limit), after: positionOf(query.cursor, parseToolServerCursor) }),
    answer: ({ servers, ...rest }) => ok({ servers: servers.map(shownServer), ...rest }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: list,
    id: 'registerToolServer',
    tag: 'Tools',
    summary: 'Registers an MCP server and discovers its tools',
    description:
      'The server is asked before anything is stored. It has 10 s to answer. Addresses that are not public are refused unless the operator allows them, redirects are not followed.',
    answers: found,
    refusals: ['conflict', 'stale_revision', 'rate_limited', 'upstream_failed'],
    shownBody: toolServerSchema,
    operation: registerToolServer,
    schema: { params: inWorkspace, body: anyObject },
    input: ({ body }) => body,
    answer: shownTools,
    admit: limitDiscoveries,
  });
}

function addRoutesOfOne(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: one,
    id: 'readToolServer',
    tag: 'Tools',
    summary: 'Reads a tool server',
    answers: okAnd({ server: toolServerRef }),
    refusals: ['not_found'],
    operation: readToolServer,
    schema: { params },
    input: (asked) => asked.params.name,
    answer: (server) => ok({ server: shownServer(server) }),
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    id: 'deleteToolServer',
    tag: 'Tools',
    summary: 'Removes a tool server and its credentials',
    answers: written(),
    refusals: ['not_found', 'stale_revision'],
    operation: deleteToolServer,
    schema: { params },
    input: (asked) => asked.params.name,
    answer: ok,
  });
}

/** Adds the routes that discover the tools of a server again, and that admit them. */
function addRoutesOfTools(app: FastifyInstance, deps: AppDeps, limitDiscoveries: (actor: Actor) => void): void {
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/refresh`,
    id: 'refreshToolServer',
    tag: 'Tools',
    summary: 'Discovers the tools of a server again',
    description:
      'A server that fails keeps its tools. Where the workspace policy says `toolDefinitions: "pinned"`, tools that changed or appeared are `admitted: false` until they are admitted.',
    answers: found,
    refusals: ['not_found', 'conflict', 'stale_revision', 'rate_limited', 'upstream_failed'],
    operation: refreshToolServer,
    schema: { params },
    input: (asked) => asked.params.name,
    answer: shownTools,
    admit: limitDiscoveries,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/admit`,
    id: 'admitTools',
    tag: 'Tools',
    summary: 'Admits the definitions of tools as they were last discovered',
    description:
      'All of them (`{}`), or those named. Where the workspace policy says `toolDefinitions: "pinned"`, only admitted definitions are called. With `If-Match`, only the definitions that were read are admitted.',
    answers: found,
    refusals: ['not_found', 'stale_revision'],
    operation: admitTools,
    schema: { params, body: anyObject },
    shownBody: admitSchema,
    input: (asked) => ({ name: asked.params.name, body: asked.body }),
    answer: shownTools,
  });
}

const shownTools = ({ server, revision }: { readonly server: ToolServer; readonly revision: number }): object =>
  ok({ revision, name: server.name, tools: toolsOf(server) });

/** Returns a server as answers show it: with the names of headers and environment variables, without their values. */
function shownServer(server: ToolServer | ListedToolServer): object {
  const { name, target, discoveredAt, createdAt } = server;
  const place =
    target.kind === 'url'
      ? { url: target.url, headers: target.headers }
      : { command: { program: target.program, args: target.args, env: target.env } };
  return { name, ...place, tools: toolsOf(server), discoveredAt: discoveredAt.toISOString(), createdAt: createdAt.toISOString() };
}

function toolsOf({ name, scopes, tools, admitted }: ToolServer | ListedToolServer): readonly object[] {
  const required = new Map(scopes);
  const digests = new Map(admitted);
  return tools.map((tool) => ({
    name: `${name}.${tool.name}`,
    description: tool.description,
    requiredScopes: required.get(tool.name) ?? [],
    ...(tool.digest === null ? {} : { digest: tool.digest }),
    admitted: tool.digest !== null && digests.get(tool.name) === tool.digest,
    ...('inputSchema' in tool ? { inputSchema: tool.inputSchema } : {}),
    ...('hints' in tool && tool.hints !== undefined ? { annotations: tool.hints } : {}),
  }));
}
