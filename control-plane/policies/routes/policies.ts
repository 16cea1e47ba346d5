// Routes for the policy documents of the four layers, which are all read, written and removed in the same way. Also the
// routes for the freeze of a workspace.
import { isRole, parseAgentType, roles, tiers, uidProblem } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import { isLead, requireAccessTo } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { badRequest } from '../../base/refusal.ts';
import type { JsonSchema } from '@tollgate/proto/shape';
import { freezeWorkspace, unfreezeWorkspace } from '../../workspaces/operations/freeze-workspace.ts';
import type { Operation } from '../../access/operation.ts';
import {
  listAgentTypePolicies,
  listRolePolicies,
  parseAgentTypeCursor,
  readAgentTypePolicy,
  readRolePolicy,
  readUserPolicy,
  readWorkspacePolicy,
} from '../operations/read-policies.ts';
import {
  deleteAgentTypePolicy,
  deleteRolePolicy,
  deleteWorkspacePolicy,
  putAgentTypePolicy,
  putRolePolicy,
  putWorkspacePolicy,
} from '../operations/write-policy.ts';
import { deleteUserPolicy, putUserPolicy } from '../operations/write-user-policy.ts';
import type { AppDeps } from '../../http/deps.ts';
import { createRateLimit, writesPerMinute } from '../../base/rate-limit.ts';
import { limitOrAll, positionOf } from '../../http/page-limit.ts';
import { addRoute, ok } from '../../http/route.ts';
import {
  agentTypeKeyShape,
  anyObject,
  forceQuery,
  inWorkspace,
  mapOf,
  pageByAgentType,
  policyNotices,
  policyPatchRef,
  policyRef,
  shownUserPolicyRef,
  userPolicyPatchRef,
  wholeOrPage,
  wholeOrPageQuery,
  word,
  workspaceAnd,
  workspacePolicyPatchRef,
  workspacePolicyRef,
  written,
} from '../../http/shapes.ts';

const admin = '/:workspace/admin';
const same = <T>(value: T): T => value;
const nothing = (): undefined => undefined;
const merges = 'JSON Merge Patch (RFC 7396): fields that are sent are changed, `null` removes a field.';

export function addPolicyRoutes(app: FastifyInstance, deps: AppDeps): void {
  const ofMembers = createRateLimit(deps.clock, writesPerMinute, 'writes of a user policy by its member a minute for each key');
  addPolicyDocument(app, deps, {
    url: `${admin}/workspacePolicy`,
    noun: 'WorkspacePolicy',
    words: 'the policy of the workspace',
    nameOf: nothing,
    read: readWorkspacePolicy,
    write: putWorkspacePolicy,
    remove: deleteWorkspacePolicy,
    shown: workspacePolicyRef,
    body: workspacePolicyPatchRef,
    how: merges,
  });
  addPolicyDocument(app, deps, {
    url: `${admin}/rolePolicies/:role`,
    noun: 'RolePolicy',
    words: 'the policy of a role',
    segment: word(roles),
    nameOf: (role) => accept(isRole, role, `the role in the path must be one of ${roles.join(', ')}`),
    read: readRolePolicy,
    write: putRolePolicy,
    remove: deleteRolePolicy,
    shown: policyRef,
    body: policyPatchRef,
    how: merges,
  });
  addPolicyDocument(app, deps, {
    url: `${admin}/agentTypePolicies/:key`,
    noun: 'AgentTypePolicy',
    words: 'the policy of an agent type',
    segment: agentTypeKeyShape,
    // The router has decoded the segment once. It must not be decoded again.
    nameOf: (key) => accept(isAgentType, key, `the key in the path must be <client>::<tier>::<name>, with a tier of ${tiers.join(', ')}`),
    read: readAgentTypePolicy,
    write: putAgentTypePolicy,
    remove: deleteAgentTypePolicy,
    shown: policyRef,
    body: policyRef,
    how: 'Replaces the whole document.',
  });
  addPolicyDocument(app, deps, {
    url: `${admin}/userPolicies/:uid`,
    noun: 'UserPolicy',
    words: 'the policy of a user',
    // The policy may be written before its member joins. It must not be written for a uid that no member can have.
    nameOf: acceptUid,
    admit: (actor, uid) => requireAccessTo(actor, 'user-policy.write', uid),
    limit: ({ role, keyId }) => {
      if (!isLead(role)) ofMembers.take(keyId);
    },
    often: `For a member, more than ${writesPerMinute} PUT and DELETE requests of a key in a minute are refused.`,
    read: readUserPolicy,
    write: putUserPolicy,
    remove: deleteUserPolicy,
    shown: shownUserPolicyRef,
    body: userPolicyPatchRef,
    how: `${merges} Owners and admins write the organisation's part; a member writes their own, never looser than the organisation's.`,
  });
  addLists(app, deps);
  addBrake(app, deps);
}

const isAgentType = (text: string): text is string => parseAgentType(text) !== null;

/** Returns the name in the path, or throws when it is not a valid name. */
function accept<T extends string>(is: (text: string) => text is T, text: string, otherwise: string): T {
  if (!is(text)) throw badRequest(otherwise);
  return text;
}

function acceptUid(uid: string): string {
  const wrong = uidProblem(uid);
  if (wrong !== null) throw badRequest(`the uid in the path ${wrong}`);
  return uid;
}

interface Document<N> {
  readonly url: string;
  readonly noun: string;
  readonly words: string;
  /** The schema of the last segment of the path, as the API document shows it. */
  readonly segment?: JsonSchema;
  readonly nameOf: (segment: string) => N;
  /** Checks whether the actor may write the document of the last segment. The segment is not parsed yet. */
  readonly admit?: (actor: Actor, segment: string) => void;
  /** Limits how often an actor may write. `often` describes the limit in the API document. */
  readonly limit?: (actor: Actor) => void;
  readonly often?: string;
  readonly read: Operation<N, object>;
  readonly write: Operation<{ readonly name: N; readonly body: unknown }, object>;
  readonly remove: Operation<N, object>;
  readonly shown: JsonSchema;
  readonly body: JsonSchema;
  readonly how: string;
}

function addPolicyDocument<N>(app: FastifyInstance, deps: AppDeps, document: Document<N>): void {
  const { url, noun, words, read, write, remove, shown, body, often } = document;
  const variable = /:(\w+)$/.exec(url)?.[1];
  const params = variable === undefined ? inWorkspace : workspaceAnd(variable, document.segment);
  const segmentOf = (named: object): string => String(Object.entries(named).find(([key]) => key === variable)?.[1]);
  const nameOf = (asked: { readonly params: object }): N => document.nameOf(segmentOf(asked.params));
  const tag = 'Policies';
  const limited = document.limit === undefined ? [] : (['rate_limited'] as const);
  addRoute(app, deps, {
    method: 'GET',
    url,
    id: `read${noun}`,
    tag,
    summary: `Reads ${words}; \`{}\` where none is set`,
    answers: shown,
    operation: read,
    schema: { params },
    input: nameOf,
    answer: same,
  });
  addRoute(app, deps, {
    method: 'PUT',
    url,
    id: `write${noun}`,
    tag,
    summary: `Writes ${words}`,
    description: [document.how, ...(often === undefined ? [] : [often])].join(' '),
    answers: written({}, policyNotices),
    refusals: ['conflict', 'stale_revision', ...limited],
    operation: write,
    schema: { params, body: anyObject, querystring: forceQuery },
    admit: (actor, named) => {
      document.admit?.(actor, segmentOf(named));
      document.limit?.(actor);
    },
    shownBody: body,
    input: (asked) => ({ name: nameOf(asked), body: asked.body }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url,
    id: `delete${noun}`,
    tag,
    summary: `Removes ${words}`,
    ...(often === undefined ? {} : { description: often }),
    answers: written({}, policyNotices),
    refusals: ['stale_revision', ...limited],
    operation: remove,
    schema: { params },
    admit: (actor) => document.limit?.(actor),
    input: nameOf,
    answer: ok,
  });
}

function addLists(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: `${admin}/rolePolicies`,
    id: 'listRolePolicies',
    tag: 'Policies',
    summary: 'Reads all policies of this kind, by role',
    answers: mapOf(policyRef),
    operation: listRolePolicies,
    schema: { params: inWorkspace },
    input: nothing,
    answer: same,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: `${admin}/agentTypePolicies`,
    id: 'listAgentTypePolicies',
    tag: 'Policies',
    summary: 'Reads all policies of this kind, by agent-type key',
    description: `${wholeOrPage} A page ends earlier where it would have more than 4 MiB of documents. \`next\` is not a key: every key has \`::\`.`,
    answers: pageByAgentType(policyRef),
    operation: listAgentTypePolicies,
    schema: { params: inWorkspace, querystring: wholeOrPageQuery },
    input: ({ query }) => ({ limit: limitOrAll(query.limit), after: positionOf(query.cursor, parseAgentTypeCursor) }),
    answer: ({ policies, ...rest }) => ({ ...policies, ...rest }),
  });
}

function addBrake(app: FastifyInstance, deps: AppDeps): void {
  for (const [word, summary, operation] of [
    ['freeze', 'Denies every call of the workspace, before every rule', freezeWorkspace],
    ['unfreeze', 'Ends a freeze of the workspace', unfreezeWorkspace],
  ] as const) {
    addRoute(app, deps, {
      method: 'POST',
      url: `${admin}/${word}`,
      id: `${word}Workspace`,
      tag: 'Policies',
      summary,
      answers: written(),
      refusals: ['stale_revision'],
      operation,
      schema: { params: inWorkspace },
      input: nothing,
      answer: ok,
    });
  }
}
