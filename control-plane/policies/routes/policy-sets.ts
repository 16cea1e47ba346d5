// Routes for all policy documents of the organisation together: reading and writing the set, its history, and rollback.
import { bounds } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { JsonSchema } from '@tollgate/proto/shape';
import { applyPolicies } from '../operations/apply-policies.ts';
import { exportPolicies } from '../operations/export-policies.ts';
import { readPolicyHistory } from '../operations/read-policy-history.ts';
import { rollbackPolicies } from '../operations/rollback-policies.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute, ok } from '../../http/route.ts';
import {
  anyObject,
  dateTime,
  flag,
  forceQuery,
  integer,
  inWorkspace,
  listOf,
  object,
  orNull,
  policyNotices,
  pageCursor,
  pageLimit,
  policySet,
  text,
  word,
  written,
} from '../../http/shapes.ts';

const applied: JsonSchema = {
  ...object(
    {},
    { ...policySet(orNull), revision: { ...integer, description: 'ignored, so that an export can be sent back as it is' }, dryRun: flag },
  ),
  additionalProperties: false,
};

const action = word(['create', 'update', 'delete']);
const document = { ...text, description: 'workspace, role:<role>, agent-type:<key> or user:<uid>:<part>' };
const change = object({ document, action, paths: listOf(object({ path: text }, { before: {}, after: {} })) });
const changes = written({ dryRun: flag, changes: listOf(change) }, policyNotices);
const anyDocument = orNull({ type: 'object', additionalProperties: true });
const pastWrite = object({ revision: integer, at: dateTime, sub: text, document, action, before: anyDocument, after: anyDocument });

const historyQuery = Type.Object(
  {
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(pageCursor),
    document: Type.Optional(Type.String({ description: 'exact, as the answer names it' })),
  },
  { additionalProperties: false },
);

const rollback = Type.Object(
  { revision: Type.Integer({ minimum: 0 }), dryRun: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);

const dry =
  'With `dryRun` nothing is written: the answer lists what would change. `revision` is then the current one, as it is if nothing changes.';

export function addPolicySetRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/policies',
    id: 'exportPolicies',
    tag: 'Policies',
    summary: "Reads all of the organisation's policy documents, in the form that `apply` accepts",
    answers: object({ ...policySet((one) => one), revision: integer }),
    operation: exportPolicies,
    schema: { params: inWorkspace },
    input: () => undefined,
    answer: (policies) => policies,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/policies/apply',
    id: 'applyPolicies',
    tag: 'Policies',
    summary: 'Writes many policy documents at once',
    description: `A section that is present is complete: documents that it does not name are removed. An absent section does not change. ${dry}`,
    answers: changes,
    refusals: ['conflict', 'stale_revision'],
    bodyBytes: bounds.policySetBytes,
    operation: applyPolicies,
    schema: { params: inWorkspace, body: anyObject, querystring: forceQuery },
    shownBody: applied,
    input: ({ body }) => body,
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/policyHistory',
    id: 'readPolicyHistory',
    tag: 'Policies',
    summary: 'Reads what each write changed in a policy document, newest first',
    description:
      '`before` is null if the write created the document, `after` if it removed the document. `next` is absent on the last page.',
    answers: object({ history: listOf(pastWrite), count: integer }, { next: text }),
    operation: readPolicyHistory,
    schema: { params: inWorkspace, querystring: historyQuery },
    input: ({ query }) => ({ ...query }),
    answer: (page) => page,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/policies/rollback',
    id: 'rollbackPolicies',
    tag: 'Policies',
    summary: 'Restores the policy documents of an earlier revision',
    description: `It makes a new revision. Keys, members, agents and members' own parts do not change. Documents about users
who are not members today do not change either. ${dry}`,
    answers: changes,
    refusals: ['not_found', 'conflict', 'stale_revision'],
    operation: rollbackPolicies,
    schema: { params: inWorkspace, body: rollback, querystring: forceQuery },
    input: ({ body: { revision, dryRun = false } }) => ({ revision, dryRun }),
    answer: ok,
  });
}
