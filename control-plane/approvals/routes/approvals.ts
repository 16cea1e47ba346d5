// Routes of approvals: the list, one of them, the answers of people, and a stream of what changes.
import { approvalStates } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { badRequest } from '../../base/refusal.ts';
import type { StreamDeps } from '../../http/deps.ts';
import { limitOf } from '../../http/page-limit.ts';
import { addRoute, ok } from '../../http/route.ts';
import {
  approvalEventRef,
  approvalRef,
  inWorkspace,
  integer,
  listOf,
  object,
  oneOf,
  pageCursor,
  pageLimit,
  text,
  wholeApprovalRef,
  word,
  workspaceAnd,
  written,
} from '../../http/shapes.ts';
import { addStream } from '../../http/stream-route.ts';
import { approve, deny } from '../operations/answer.ts';
import { cancel } from '../operations/cancel.ts';
import { type ApprovalItem, createFollowApprovals, listApprovals, type ListPlace, showApproval } from '../operations/list.ts';
import { reveal } from '../operations/reveal.ts';
import { isPlainText } from '../rules/plain-text.ts';
import { shownApproval, shownWhole } from './shown.ts';

const list = '/:workspace/admin/approvals';
const one = `${list}/:id`;
const params = workspaceAnd('id');

const query = Type.Object(
  {
    state: Type.Optional(oneOf(approvalStates)),
    tool: Type.Optional(Type.String({ description: 'exact tool name' })),
    agent: Type.Optional(Type.String({ description: 'the calling agent, by id, or by name if none of that name is registered' })),
    sub: Type.Optional(Type.String({ description: 'the person that the call is made for' })),
    session: Type.Optional(Type.String()),
    mine: Type.Optional(oneOf(['true', 'false'])),
    limit: Type.Optional(pageLimit),
    cursor: Type.Optional(pageCursor),
  },
  { additionalProperties: false },
);

const note = Type.Optional(Type.String({ maxLength: 1_000, description: 'what the agent is told with the answer' }));
const others = Type.Optional(
  Type.Array(Type.String(), { maxItems: 100, description: 'other approvals of the same question, which get the same answer' }),
);
const approveBody = Type.Object({ note, with: others }, { additionalProperties: false });
const denyBody = Type.Object(
  {
    note,
    session: Type.Optional(Type.Boolean({ description: 'true: everything that these rules ask about in this session is denied too' })),
    with: others,
  },
  { additionalProperties: false },
);

const states = { states: listOf(object({ id: text, state: word(approvalStates) })) };

export function addApprovalRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addReadingRoutes(app, deps);
  addAnswerRoutes(app, deps);
  addTakingBackRoutes(app, deps);
}

function addReadingRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    id: 'listApprovals',
    tag: 'Approvals',
    summary: 'Lists approvals, newest first',
    description:
      'Owners and admins see all of them, members those that they may answer and those of calls that are made for them. `mine=true`: only the latter. `next` is absent on the last page.',
    answers: object({ approvals: listOf(approvalRef) }, { next: text }),
    operation: listApprovals,
    schema: { params: inWorkspace, querystring: query },
    input: ({ query: { state, tool, agent, sub, session, mine, limit, cursor } }) => ({
      filters: { state, tool, agent, sub, session },
      mine: mine === 'true',
      limit: limitOf(limit ?? '200'),
      before: cursor === undefined ? null : placeOf(cursor),
    }),
    answer: ({ approvals, next }) => ({
      approvals: approvals.map(shownApproval),
      ...(next === null ? {} : { next: `${next.createdUs}.${next.id}` }),
    }),
  });
  addStream(app, deps, {
    method: 'GET',
    url: `${list}/stream`,
    id: 'followApprovals',
    tag: 'Approvals',
    summary: 'Streams approvals that change',
    description:
      'The stream begins with the comment `: listening`. From then on each approval that is made or changes is sent as it is after the change. Read the list after that comment to know what there was before. The stream ends when its key is revoked.',
    answers: { mediaType: 'text/event-stream', text: '`event: approval`, an Approval as one line of `data`', event: approvalEventRef },
    operation: createFollowApprovals(),
    schema: { params: inWorkspace },
    input: () => null,
    frame: eventOf,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: one,
    id: 'showApproval',
    tag: 'Approvals',
    summary: 'Reads an approval, with everything that an approver needs',
    description:
      '`shownText` is the input for people: invisible characters and those that change the direction of text are escaped. `call.claimedClient` is what the agent says of itself; nothing of it is proved.',
    answers: wholeApprovalRef,
    refusals: ['not_found'],
    operation: showApproval,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: shownWhole,
  });
}

function addAnswerRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/reveal`,
    id: 'revealApproval',
    tag: 'Approvals',
    summary: 'Shows the values of the call that are hidden, and records who saw them',
    description: 'A call with hidden values can be approved only by a person who has revealed them.',
    answers: written({
      hidden: listOf(
        object({
          path: text,
          kind: text,
          length: integer,
          value: { description: 'the value as the tool receives it' },
          text: { ...text, description: 'the value as JSON text for people, with invisible characters escaped' },
        }),
      ),
    }),
    refusals: ['not_found', 'conflict'],
    operation: reveal,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/approve`,
    id: 'approveApproval',
    tag: 'Approvals',
    summary: 'Approves exactly this call',
    description:
      'Approved is not allowed: everything is decided again when the call is made. An answer 403 says why this person may not answer, an answer 409 who has answered already, and when.',
    answers: written(states),
    refusals: ['not_found', 'conflict'],
    operation: approve,
    schema: { params, body: approveBody },
    input: ({ params: { id }, body }) => ({ id, note: noteOf(body.note), with: body.with ?? [] }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/deny`,
    id: 'denyApproval',
    tag: 'Approvals',
    summary: 'Denies the call, or everything that its rules ask about in this session',
    answers: written(states),
    refusals: ['not_found', 'conflict'],
    operation: deny,
    schema: { params, body: denyBody },
    input: ({ params: { id }, body }) => ({
      id,
      note: noteOf(body.note),
      session: body.session === true,
      with: body.with ?? [],
    }),
    answer: ok,
  });
}

function addTakingBackRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/cancel`,
    id: 'cancelApproval',
    tag: 'Approvals',
    summary: 'Takes a question back, or an approval that is not used up',
    description: 'For the person that the call is made for, and for owners and admins.',
    answers: written(states),
    refusals: ['not_found', 'conflict'],
    operation: cancel,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
  });
}

// An agent's program may print the note in a terminal.
const unprintable = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

function noteOf(note: string | undefined): string | null {
  if (note === undefined || note === '') return null;
  if (!isPlainText(note) || unprintable.test(note))
    throw badRequest('note must be text without control characters, and without characters that change its direction');
  return note;
}

function placeOf(cursor: string): ListPlace {
  const [, createdUs, id] = /^(\d{1,17})\.([A-Za-z0-9]{20})$/.exec(cursor) ?? [];
  if (createdUs === undefined || id === undefined) throw badRequest('cursor must be the `next` of an earlier answer');
  return { createdUs, id };
}

function eventOf(item: ApprovalItem): string {
  if (item.kind === 'note') return `: ${item.text}\n\n`;
  return `event: approval\ndata: ${JSON.stringify(shownApproval(item.shown))}\n\n`;
}
