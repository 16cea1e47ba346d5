import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { profileOf } from '../../domain/agent.ts';
import { createAgent } from '../../operations/create-agent.ts';
import { deleteAgent } from '../../operations/delete-agent.ts';
import { listAgents, readAgent } from '../../operations/read-agents.ts';
import { patchAgent, updateAgent } from '../../operations/update-agent.ts';
import type { AppDeps } from '../deps.ts';
import { createRateLimit } from '../rate-limit.ts';
import { addRoute, ok } from '../route.ts';
import { anyObject } from './shapes.ts';

const list = '/api/v1/agents';
const one = `${list}/:id`;
const params = Type.Object({ id: Type.String() });

export function addAgentRoutes(app: FastifyInstance, deps: AppDeps): void {
  const patches = createRateLimit(deps.clock, deps.config.patchPerMinute);
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    operation: listAgents,
    schema: {},
    input: () => undefined,
    answer: (agents) => ok({ profiles: agents.map(profileOf) }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: list,
    operation: createAgent,
    schema: { body: anyObject },
    input: ({ body }) => body,
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: one,
    operation: readAgent,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: (agent) => ok({ profile: profileOf(agent) }),
  });
  addRoute(app, deps, {
    method: 'PUT',
    url: one,
    operation: updateAgent,
    schema: { params, body: anyObject },
    input: (asked) => ({ id: asked.params.id, body: asked.body }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'PATCH',
    url: one,
    operation: patchAgent,
    schema: { params, body: anyObject },
    input: (asked) => ({ id: asked.params.id, body: asked.body }),
    answer: ok,
    admit: ({ keyId }) => patches.take(keyId),
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    operation: deleteAgent,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
  });
}
