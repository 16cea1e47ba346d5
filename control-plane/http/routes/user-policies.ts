import { isUid } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import { uidForm } from '../../domain/member.ts';
import { badRequest } from '../../domain/refusal.ts';
import { readUserPolicy } from '../../operations/read-policies.ts';
import { deleteUserPolicy, putUserPolicy } from '../../operations/write-user-policy.ts';
import type { AppDeps } from '../deps.ts';
import { addRoute, ok } from '../route.ts';
import { anyObject, workspaceAnd } from './shapes.ts';

const url = '/:workspace/admin/userPolicies/:uid';
const params = workspaceAnd('uid');

export function addUserPolicyRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url,
    operation: readUserPolicy,
    schema: { params },
    input: (asked) => uidOf(asked.params.uid),
    answer: (view) => view,
  });
  addRoute(app, deps, {
    method: 'PUT',
    url,
    operation: putUserPolicy,
    schema: { params, body: anyObject },
    input: (asked) => ({ uid: uidOf(asked.params.uid), body: asked.body }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url,
    operation: deleteUserPolicy,
    schema: { params },
    input: (asked) => uidOf(asked.params.uid),
    answer: ok,
  });
}

/** A policy may be written before its member joins; it may not be written for what can never be a member. */
function uidOf(text: string): string {
  if (!isUid(text)) throw badRequest(`the uid in the path must be ${uidForm}`);
  return text;
}
