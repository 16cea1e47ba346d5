import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { agentSchemas, profileOf } from '../rules/agent.ts';
import { parseAgentCursor } from '../rules/agent-position.ts';
import { isLead } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { createAgent } from '../operations/create-agent.ts';
import { deleteAgent } from '../operations/delete-agent.ts';
import { listAgents, readAgent } from '../operations/read-agents.ts';
import { patchAgent, updateAgent } from '../operations/update-agent.ts';
import type { AppDeps } from '../../http/deps.ts';
import { createRateLimit, writesPerMinute } from '../../base/rate-limit.ts';
import { limitOrAll, positionOf } from '../../http/page-limit.ts';
import { addRoute, ok } from '../../http/route.ts';
import { agentRef, anyObject, listOf, okAnd, text, wholeOrPage, wholeOrPageQuery, written } from '../../http/shapes.ts';

const list = '/api/v1/agents';
const one = `${list}/:id`;
const params = Type.Object({ id: Type.String() });

const often = `Of a member, more than ${writesPerMinute} creates, PUTs and DELETEs of a key in a minute are refused.`;

export function addAgentRoutes(app: FastifyInstance, deps: AppDeps): void {
  const writes = createRateLimit(deps.clock, writesPerMinute, 'writes of agents a minute for each key');
  const limitWrites = ({ role, keyId }: Actor): void => {
    if (!isLead(role)) writes.take(keyId);
  };
  addRoutesOfList(app, deps, limitWrites);
  addRoutesOfOne(app, deps, limitWrites);
}

function addRoutesOfList(app: FastifyInstance, deps: AppDeps, limitWrites: (actor: Actor) => void): void {
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    id: 'listAgents',
    tag: 'Agents',
    summary: 'Lists agents, newest first',
    description: wholeOrPage,
    answers: okAnd({ profiles: listOf(agentRef) }, { next: text }),
    operation: listAgents,
    schema: { querystring: wholeOrPageQuery },
    input: ({ query }) => ({ limit: limitOrAll(query.limit), after: positionOf(query.cursor, parseAgentCursor) }),
    answer: ({ agents, ...rest }) => ok({ profiles: agents.map(profileOf), ...rest }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: list,
    id: 'createAgent',
    tag: 'Agents',
    summary: 'Creates an agent',
    description: `Omitted optional fields take their defaults; unknown ones are ignored. ${often}`,
    answers: written({ id: text }),
    refusals: ['conflict', 'stale_revision', 'rate_limited'],
    shownBody: agentSchemas.create,
    operation: createAgent,
    schema: { body: anyObject },
    input: ({ body }) => body,
    answer: ok,
    admit: limitWrites,
  });
}

function addRoutesOfOne(app: FastifyInstance, deps: AppDeps, limitWrites: (actor: Actor) => void): void {
  const patches = createRateLimit(deps.clock, deps.config.patchPerMinute);
  addRoute(app, deps, {
    method: 'GET',
    url: one,
    id: 'readAgent',
    tag: 'Agents',
    summary: 'Reads an agent',
    answers: okAnd({ profile: agentRef }),
    refusals: ['not_found'],
    operation: readAgent,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: (agent) => ok({ profile: profileOf(agent) }),
  });
  addRoute(app, deps, {
    method: 'PUT',
    url: one,
    id: 'updateAgent',
    tag: 'Agents',
    summary: 'Writes the fields that are present',
    description: `Absent fields are untouched, unknown ones ignored. ${often}`,
    answers: written(),
    refusals: ['not_found', 'conflict', 'stale_revision', 'rate_limited'],
    shownBody: agentSchemas.update,
    operation: updateAgent,
    schema: { params, body: anyObject },
    input: (asked) => ({ id: asked.params.id, body: asked.body }),
    answer: ok,
    admit: limitWrites,
  });
  addRoute(app, deps, {
    method: 'PATCH',
    url: one,
    id: 'patchAgent',
    tag: 'Agents',
    summary: 'Changes an agent on the validated path',
    description: 'Unknown fields, unrecognized models and caps out of bounds are refused. Rate limited for each key.',
    answers: written(),
    refusals: ['not_found', 'conflict', 'stale_revision', 'rate_limited'],
    shownBody: agentSchemas.patch,
    operation: patchAgent,
    schema: { params, body: anyObject },
    input: (asked) => ({ id: asked.params.id, body: asked.body }),
    answer: ok,
    admit: ({ keyId }) => patches.take(keyId),
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    id: 'deleteAgent',
    tag: 'Agents',
    summary: 'Removes an agent',
    description: often,
    answers: written(),
    refusals: ['not_found', 'stale_revision', 'rate_limited'],
    operation: deleteAgent,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
    admit: limitWrites,
  });
}
