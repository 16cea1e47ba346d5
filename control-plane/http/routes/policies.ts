// The documents of the workspace, of roles and of agent types; explaining; the brake.
import { isRole, isTier, nameProblem, parseAgentType, type Role, roles, tiers } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type Problem } from '../../domain/policy.ts';
import { badRequest, refuseIfAny } from '../../domain/refusal.ts';
import { explainCall } from '../../operations/explain-call.ts';
import { freezeWorkspace, unfreezeWorkspace } from '../../operations/freeze-workspace.ts';
import {
  listAgentTypePolicies,
  listRolePolicies,
  readAgentTypePolicy,
  readRolePolicy,
  readWorkspacePolicy,
} from '../../operations/read-policies.ts';
import {
  deleteAgentTypePolicy,
  deleteRolePolicy,
  deleteWorkspacePolicy,
  putAgentTypePolicy,
  putRolePolicy,
  putWorkspacePolicy,
} from '../../operations/write-policy.ts';
import type { AppDeps } from '../app.ts';
import { addRoute, ok } from '../route.ts';
import { anyObject, inWorkspace, roleShape, tierShape, workspaceAnd } from './shapes.ts';

const same = <T>(value: T): T => value;
const nothing = (): undefined => undefined;

export function addPolicyRoutes(app: FastifyInstance, deps: AppDeps): void {
  addWorkspacePolicy(app, deps);
  addRolePolicies(app, deps);
  addAgentTypePolicies(app, deps);
  addExplain(app, deps);
  for (const [word, operation] of [
    ['freeze', freezeWorkspace],
    ['unfreeze', unfreezeWorkspace],
  ] as const) {
    addRoute(app, deps, {
      method: 'POST',
      url: `/:workspace/admin/${word}`,
      operation,
      schema: { params: inWorkspace },
      input: nothing,
      answer: ok,
    });
  }
}

function addWorkspacePolicy(app: FastifyInstance, deps: AppDeps): void {
  const url = '/:workspace/admin/workspacePolicy';
  const params = inWorkspace;
  addRoute(app, deps, { method: 'GET', url, operation: readWorkspacePolicy, schema: { params }, input: nothing, answer: same });
  addRoute(app, deps, {
    method: 'PUT',
    url,
    operation: putWorkspacePolicy,
    schema: { params, body: anyObject },
    input: ({ body }) => body,
    answer: ok,
  });
  addRoute(app, deps, { method: 'DELETE', url, operation: deleteWorkspacePolicy, schema: { params }, input: nothing, answer: ok });
}

function addRolePolicies(app: FastifyInstance, deps: AppDeps): void {
  const list = '/:workspace/admin/rolePolicies';
  const url = `${list}/:role`;
  const params = workspaceAnd('role');
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    operation: listRolePolicies,
    schema: { params: inWorkspace },
    input: nothing,
    answer: same,
  });
  addRoute(app, deps, {
    method: 'GET',
    url,
    operation: readRolePolicy,
    schema: { params },
    input: (asked) => roleOf(asked.params.role),
    answer: same,
  });
  addRoute(app, deps, {
    method: 'PUT',
    url,
    operation: putRolePolicy,
    schema: { params, body: anyObject },
    input: (asked) => ({ role: roleOf(asked.params.role), body: asked.body }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url,
    operation: deleteRolePolicy,
    schema: { params },
    input: (asked) => roleOf(asked.params.role),
    answer: ok,
  });
}

function roleOf(text: string): Role {
  if (!isRole(text)) throw badRequest(`the role in the path must be one of ${roles.join(', ')}`);
  return text;
}

function addAgentTypePolicies(app: FastifyInstance, deps: AppDeps): void {
  const list = '/:workspace/admin/agentTypePolicies';
  const url = `${list}/:key`;
  const params = workspaceAnd('key');
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    operation: listAgentTypePolicies,
    schema: { params: inWorkspace },
    input: nothing,
    answer: same,
  });
  addRoute(app, deps, {
    method: 'GET',
    url,
    operation: readAgentTypePolicy,
    schema: { params },
    input: (asked) => agentTypeOf(asked.params.key),
    answer: same,
  });
  addRoute(app, deps, {
    method: 'PUT',
    url,
    operation: putAgentTypePolicy,
    schema: { params, body: anyObject },
    input: (asked) => ({ key: agentTypeOf(asked.params.key), body: asked.body }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url,
    operation: deleteAgentTypePolicy,
    schema: { params },
    input: (asked) => agentTypeOf(asked.params.key),
    answer: ok,
  });
}

/** The router has decoded it once; nothing decodes it again. */
function agentTypeOf(text: string): string {
  if (parseAgentType(text) === null)
    throw badRequest(`the key in the path must be <client>::<tier>::<name>, with a tier of ${tiers.join(', ')}`);
  return text;
}

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

function addExplain(app: FastifyInstance, deps: AppDeps): void {
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
    answer: same,
  });
}

const problemsAt = (path: string, message: string | null): readonly Problem[] => (message === null ? [] : [{ path, message }]);

function agentTypeProblems(agentType: string, tier: string): readonly Problem[] {
  const parsed = parseAgentType(agentType);
  if (parsed === null) return [{ path: 'agentType', message: 'must be <client>::<tier>::<name>' }];
  return problemsAt('agentType', isTier(tier) && parsed.tier !== tier ? 'must name the same tier as tier' : null);
}
