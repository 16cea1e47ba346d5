// What would be decided of a call, and why, without making it.
import { isTier, nameProblem, parseAgentType } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Problem } from '../../domain/policy.ts';
import { badRequest, refuseIfAny } from '../../domain/refusal.ts';
import { explainCall } from '../../operations/explain-call.ts';
import type { AppDeps } from '../deps.ts';
import { addRoute } from '../route.ts';
import { inWorkspace, roleShape, tierShape } from './shapes.ts';

const question = Type.Object(
  {
    sub: Type.Optional(Type.String()),
    role: Type.Optional(roleShape),
    agentType: Type.String(),
    tier: tierShape,
    tool: Type.String(),
  },
  { additionalProperties: false },
);

export function addExplainRoute(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/explain',
    operation: explainCall,
    schema: { params: inWorkspace, body: question },
    input: ({ body }) => {
      const { sub, role, agentType, tier, tool } = body;
      if ((sub === undefined) === (role === undefined)) throw badRequest('give either sub or role');
      refuseIfAny([...agentTypeProblems(agentType, tier), ...problemsAt('tool', nameProblem(tool))]);
      return { agentType, tier, tool, ...(sub === undefined ? {} : { sub }), ...(role === undefined ? {} : { role }) };
    },
    answer: (explanation) => explanation,
  });
}

const problemsAt = (path: string, message: string | null): readonly Problem[] => (message === null ? [] : [{ path, message }]);

function agentTypeProblems(agentType: string, tier: string): readonly Problem[] {
  const parsed = parseAgentType(agentType);
  if (parsed === null) return [{ path: 'agentType', message: 'must be <client>::<tier>::<name>' }];
  return problemsAt('agentType', isTier(tier) && parsed.tier !== tier ? 'must name the same tier as tier' : null);
}
