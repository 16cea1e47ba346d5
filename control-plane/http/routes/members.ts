import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Member } from '../../domain/member.ts';
import { changeMember, removeMember } from '../../operations/change-member.ts';
import { createMember } from '../../operations/create-member.ts';
import { listMembers, readMember } from '../../operations/read-members.ts';
import type { AppDeps } from '../deps.ts';
import { addRoute, ok } from '../route.ts';
import { inWorkspace, roleShape, workspaceAnd } from './shapes.ts';

const list = '/:workspace/admin/members';
const one = `${list}/:uid`;
const params = workspaceAnd('uid');
const closed = { additionalProperties: false };
const newMember = Type.Object({ uid: Type.String(), email: Type.String(), role: roleShape }, closed);
const change = Type.Object({ email: Type.Optional(Type.String()), role: Type.Optional(roleShape) }, closed);

export function addMemberRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    operation: listMembers,
    schema: { params: inWorkspace },
    input: () => undefined,
    answer: (members) => ok({ members: members.map(shownMember) }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: list,
    operation: createMember,
    schema: { params: inWorkspace, body: newMember },
    input: ({ body }) => body,
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: one,
    operation: readMember,
    schema: { params },
    input: (asked) => asked.params.uid,
    answer: (member) => ok({ member: shownMember(member) }),
  });
  addRoute(app, deps, {
    method: 'PATCH',
    url: one,
    operation: changeMember,
    schema: { params, body: change },
    input: (asked) => ({ uid: asked.params.uid, email: asked.body.email, role: asked.body.role }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    operation: removeMember,
    schema: { params },
    input: (asked) => asked.params.uid,
    answer: ok,
  });
}

const shownMember = ({ createdAt, ...member }: Member) => ({ ...member, createdAt: createdAt.toISOString() });
