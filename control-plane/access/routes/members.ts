import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type Member, parseMemberCursor } from '../rules/member.ts';
import { changeMember, removeMember } from '../operations/change-member.ts';
import { createMember } from '../operations/create-member.ts';
import { listMembers, readMember } from '../operations/read-members.ts';
import type { AppDeps } from '../../http/deps.ts';
import { limitOrAll, positionOf } from '../../http/page-limit.ts';
import { addRoute, ok } from '../../http/route.ts';
import {
  inWorkspace,
  listOf,
  memberRef,
  okAnd,
  roleShape,
  text,
  wholeOrPage,
  wholeOrPageQuery,
  workspaceAnd,
  written,
} from '../../http/shapes.ts';

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
    id: 'listMembers',
    tag: 'Access',
    summary: 'Lists the members by their uid',
    description: wholeOrPage,
    answers: okAnd({ members: listOf(memberRef) }, { next: text }),
    operation: listMembers,
    schema: { params: inWorkspace, querystring: wholeOrPageQuery },
    input: ({ query }) => ({ limit: limitOrAll(query.limit), after: positionOf(query.cursor, parseMemberCursor) }),
    answer: ({ members, ...rest }) => ok({ members: members.map(shownMember), ...rest }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: list,
    id: 'createMember',
    tag: 'Access',
    summary: 'Adds a member',
    description:
      'A caller cannot grant what it lacks: this needs every scope that a session of that role has (`*` for owners and admins), and a key or session without pins and without expiry. No other member may have the same e-mail.',
    answers: written({ uid: text }),
    refusals: ['conflict', 'stale_revision'],
    operation: createMember,
    schema: { params: inWorkspace, body: newMember },
    input: ({ body }) => body,
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: one,
    id: 'readMember',
    tag: 'Access',
    summary: 'Reads a member',
    answers: okAnd({ member: memberRef }),
    refusals: ['not_found'],
    operation: readMember,
    schema: { params },
    input: (asked) => asked.params.uid,
    answer: (member) => ok({ member: shownMember(member) }),
  });
  addRoute(app, deps, {
    method: 'PATCH',
    url: one,
    id: 'changeMember',
    tag: 'Access',
    summary: "Changes a member's e-mail or role",
    description:
      'A workspace always has at least one owner, and only owners can change owners. Raising a role or changing an e-mail needs the same scopes as adding such a member. Raising a role revokes the personal keys of the member that members with a lower role made. Changing an e-mail ends the sessions that were opened through an issuer.',
    answers: written(),
    refusals: ['not_found', 'conflict', 'stale_revision'],
    operation: changeMember,
    schema: { params, body: change },
    input: (asked) => ({ uid: asked.params.uid, email: asked.body.email, role: asked.body.role }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    id: 'removeMember',
    tag: 'Access',
    summary: 'Removes a member and revokes their keys',
    description: 'Keys that the member made for others are also revoked, because the member may have kept them.',
    answers: written(),
    refusals: ['not_found', 'conflict', 'stale_revision'],
    operation: removeMember,
    schema: { params },
    input: (asked) => asked.params.uid,
    answer: ok,
  });
}

const shownMember = ({ createdAt, ...member }: Member) => ({ ...member, createdAt: createdAt.toISOString() });
