// The route of effective permissions: what becomes of the calls of one subject, by tool and tier.
import { layers, roles, tiers } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { outcomes } from '../../audit/rules/outcome.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute } from '../../http/route.ts';
import { clamped, integer, inWorkspace, listOf, object, orNull, pageCursor, pageRange, roleShape, text, word } from '../../http/shapes.ts';
import { readEffective } from '../operations/read-effective.ts';

const query = Type.Object(
  {
    sub: Type.Optional(Type.String({ description: 'a member or service key; this or `role`' })),
    role: Type.Optional(roleShape),
    agent: Type.Optional(Type.String({ description: 'the name or id of a registered agent; this or `agentType`' })),
    agentType: Type.Optional(Type.String({ description: '<client>::<tier>::<name>; its tier is ignored, because all tiers are shown' })),
    cursor: Type.Optional(pageCursor),
    limit: Type.Optional(clamped(100, pageRange)),
  },
  { additionalProperties: false },
);

const cell = object({
  decision: { ...word(['allow', 'ask', 'deny', 'depends']), description: 'as `explain` says without an input' },
  outcome: {
    ...word(outcomes),
    description: '`limit`: allowed up to a rate limit, or the limit is 0; where the input decides, that of the strictest case',
  },
  rateLimit: orNull(integer),
  transform: word(['log', 'redact']),
  layer: { ...word([...layers, 'default', 'agent']), description: 'what says so; `agent`: the profile of the agent' },
  path: text,
  reason: text,
});

export function addEffectiveRoute(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/effective',
    id: 'readEffective',
    tag: 'Policies',
    summary: 'Reads what becomes of the calls of one subject and one agent, by tool and tier',
    description: `Each cell is the decision about a direct call that has used nothing of its limits and caps. The tools are those of tool servers, those
that the documents of the subject and \`enabledTools\` of the agent name, and, for callers that may read the audit log, those that were called
in the last 30 days. They are sorted by name; \`next\` is absent on the last page. A member may ask about themselves and about roles.`,
    answers: object(
      {
        subject: object({ sub: orNull(text), role: orNull(word(roles)), client: text, agent: text }),
        tiers: listOf(word(tiers)),
        tools: listOf(object({ tool: text, cells: object(Object.fromEntries(tiers.map((tier) => [tier, cell]))) })),
      },
      { next: text },
    ),
    operation: readEffective,
    schema: { params: inWorkspace, querystring: query },
    input: (asked) => asked.query,
    answer: (effective) => effective,
  });
}
