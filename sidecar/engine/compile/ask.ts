// The terms of rules that ask a person: `ask` of a rule or case with `permission: "ask"`, as it is written, and what it
// compiles to.
import {
  askBounds,
  askDefaults,
  childPath,
  type CompiledAsk,
  isApprover,
  isServerName,
  isUid,
  reasonProblem,
  type RulePermission,
  roles,
  serverNameWords,
} from '@tollgate/proto/contract';
import { described, either, fields, integer, isObject, list, oneOf, problem, type Problem, type Shape, text } from '@tollgate/proto/shape';

/** The terms as they are written. A field that is absent has its default. */
export interface AskTerms {
  readonly approvers?: readonly string[];
  readonly need?: number;
  readonly waitSeconds?: number;
  readonly pendingSeconds?: number;
  readonly validSeconds?: number;
  readonly uses?: number;
  readonly self?: boolean;
  readonly independent?: boolean;
  readonly via?: 'session';
  readonly reason?: string;
  readonly channels?: readonly string[];
}

/** `confirm`: the person that the call is made for answers. */
export type AskDocument = 'confirm' | AskTerms;

/** A rule or a case, as far as it asks. */
export interface Asking {
  readonly permission?: RulePermission;
  readonly ask?: AskDocument;
}

const approverForm = `must be "subject", "role:<role>" with a role of ${roles.join(', ')}, or "user:<uid>"`;

const approverLength = 'user:'.length + 128;
const approver: Shape = {
  ...text(approverLength, (name) => (isApprover(name) ? null : approverForm)),
  schema: {
    type: 'string',
    pattern: `^(?:subject|role:(?:${roles.join('|')})|user:[A-Za-z0-9_.@|-]+)$`,
    maxLength: approverLength,
  },
};
const approverList = list(askBounds.approvers, approver);
const approvers: Shape = {
  check: (value, path) => {
    const wrong = approverList.check(value, path);
    if (wrong.length > 0 || !Array.isArray(value)) return wrong;
    if (value.length === 0) return problem(path, 'must name at least one approver; without the field, owners and admins may answer');
    return new Set(value).size < value.length ? problem(path, 'must not name an approver twice') : [];
  },
  schema: { ...approverList.schema, minItems: 1, uniqueItems: true },
};

const channelLength = 63;
const channel: Shape = {
  ...text(channelLength, (name) => (isServerName(name) ? null : serverNameWords)),
  schema: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$', maxLength: channelLength },
};
const channelList = list(askBounds.channels, channel);
const channels: Shape = {
  check: (value, path) => {
    const wrong = channelList.check(value, path);
    if (wrong.length > 0 || !Array.isArray(value)) return wrong;
    if (value.length === 0)
      return problem(path, 'must name at least one channel; without the field, the default channels receive messages');
    return new Set(value).size < value.length ? problem(path, 'must not name a channel twice') : [];
  },
  schema: { ...channelList.schema, minItems: 1, uniqueItems: true },
};

const bounded = ({ min, max }: { readonly min: number; readonly max: number }): Shape => integer(min, max);

const terms = {
  need: described(`how many persons must approve; default: ${askDefaults.need}`, bounded(askBounds.need)),
  waitSeconds: described(
    `how long a caller is held, if its door can wait; default: ${askDefaults.waitSeconds}`,
    bounded(askBounds.waitSeconds),
  ),
  pendingSeconds: described(
    `how long the question may be answered; default: ${askDefaults.pendingSeconds}`,
    bounded(askBounds.pendingSeconds),
  ),
  validSeconds: described(`from the answer to the last use; default: ${askDefaults.validSeconds}`, bounded(askBounds.validSeconds)),
  uses: described(`how often the approved call may be made; default: ${askDefaults.uses}`, bounded(askBounds.uses)),
  independent: described('the member who made or rotated the key that asks may not answer', oneOf(true, false)),
  via: described('`session`: only the answer of a signed-in session counts', oneOf('session')),
  reason: described('why it is asked, for the person who answers', text(askBounds.reasonLength, reasonProblem)),
  channels: described('the channels that receive a message; default: the default channels of the workspace', channels),
};

const organisationTerms = fields({
  approvers: described(
    'who may answer: `role:<role>` (this role or above), `user:<uid>`, or `subject`, the person that the call is made for; default: owners and admins',
    approvers,
  ),
  ...terms,
  self: described('the person that the call is made for may answer', oneOf(true, false)),
});

const byMember = (): Shape => ({
  check: (_value, path) =>
    problem(path, 'may only be set by owners and admins; what a member asks about, that member, owners and admins answer'),
  schema: { not: {} },
});
const selfTerms = fields({ ...terms, approvers: byMember(), self: byMember() });

const preset = oneOf('confirm');

const shapeOf = (terms: Shape): Shape => {
  const chosen = either((value) => (isObject(value) ? terms : presetOnly), preset, terms);
  return described('with `permission: "ask"`: who answers, and for how long; `confirm`: the person that the call is made for answers', {
    check: (value, path) => {
      const wrong = chosen.check(value, path);
      return wrong.length > 0 || !isObject(value) ? wrong : crossProblems(value, path);
    },
    schema: chosen.schema,
  });
};

const presetOnly: Shape = {
  ...preset,
  check: (value, path) => (value === 'confirm' ? [] : problem(path, 'must be "confirm", or an object with the terms')),
};

/** The shapes of `ask` in documents of the organisation, and in the part that a member writes. */
export const askShape = shapeOf(organisationTerms);
export const selfAskShape = shapeOf(selfTerms);

/** Returns what is wrong with terms of which each field alone is right. */
function crossProblems({ approvers: named, need = askDefaults.need, self }: AskTerms, path: string): readonly Problem[] {
  if (named === undefined) return [];
  if (named.includes('subject') && self !== true)
    return problem(childPath(path, 'self'), 'must be true if "subject" is an approver: otherwise this person may not answer');
  const persons = named.filter((name) => !name.startsWith('role:')).length;
  return persons === named.length && persons < need
    ? problem(childPath(path, 'need'), `must be at most ${persons}, the number of the approvers`)
    : [];
}

/** Returns the problem of `ask` in a rule or case without `permission: "ask"`. */
export const strayAsk = (value: unknown, path: string): readonly Problem[] =>
  isObject(value) && Object.hasOwn(value, 'ask') && value['permission'] !== 'ask'
    ? problem(childPath(path, 'ask'), 'is only for a rule or case with its own permission "ask"; remove it with null')
    : [];

/** The uid of the member who wrote the document for themselves. Null: the organisation wrote it. */
export type Author = string | null;

/** A part can be stored for a subject that is no member, such as a service key. No member has such a uid, so none answers. */
const ofAuthor = (author: string): readonly string[] => (isUid(author) ? [`user:${author}`] : []);

/**
 * Returns the terms with all defaults. The order of approvers and fields does not depend on how they were written, so
 * that equal terms have equal bytes. Null: the rule or case does not ask.
 */
export function compileAsk({ permission, ask = {} }: Asking, author: Author): CompiledAsk | null {
  if (permission !== 'ask') return null;
  const written: AskTerms = ask === 'confirm' ? { approvers: ['subject'], self: true } : ask;
  const { approvers: named = ['role:admin'], self, independent, via, reason, channels: told } = written;
  const number = (field: keyof typeof askDefaults): number => written[field] ?? askDefaults[field];
  return {
    approvers: author === null ? [...new Set(named)].toSorted() : ['role:admin', ...ofAuthor(author)],
    need: number('need'),
    waitSeconds: number('waitSeconds'),
    pendingSeconds: number('pendingSeconds'),
    validSeconds: number('validSeconds'),
    uses: number('uses'),
    ...(self === true || author !== null ? { self: true as const } : {}),
    ...(independent === true ? { independent } : {}),
    ...(via === undefined ? {} : { via }),
    ...(reason === undefined ? {} : { reason }),
    ...(told === undefined ? {} : { channels: [...new Set(told)].toSorted() }),
  };
}
