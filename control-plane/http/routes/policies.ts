// The documents of the workspace, of roles and of agent types; the brake.
import { isRole, parseAgentType, type Role, roles, tiers } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import { badRequest } from '../../domain/refusal.ts';
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
import type { AppDeps } from '../deps.ts';
import { addRoute, ok } from '../route.ts';
import { anyObject, inWorkspace, workspaceAnd } from './shapes.ts';

const same = <T>(value: T): T => value;
const nothing = (): undefined => undefined;

export function addPolicyRoutes(app: FastifyInstance, deps: AppDeps): void {
  addWorkspacePolicy(app, deps);
  addRolePolicies(app, deps);
  addAgentTypePolicies(app, deps);
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
