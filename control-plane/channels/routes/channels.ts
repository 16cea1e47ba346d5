// Routes of channels, and of the messages that they receive.
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Actor } from '../../access/rules/actor.ts';
import { badRequest } from '../../base/refusal.ts';
import { createRateLimit } from '../../base/rate-limit.ts';
import type { AppDeps } from '../../http/deps.ts';
import { limitOf } from '../../http/page-limit.ts';
import { addRoute, ok } from '../../http/route.ts';
import {
  dateTime,
  flag,
  inWorkspace,
  integer,
  listOf,
  object,
  okAnd,
  oneOf,
  orNull,
  pageCursor,
  pageLimit,
  text,
  word,
  workspaceAnd,
  written,
} from '../../http/shapes.ts';
import { listChannels, putChannel, removeChannel, rotateChannel, testChannel } from '../operations/channels.ts';
import { listMessages, type MessagePlace, retryMessage, type ShownMessage } from '../operations/messages.ts';
import { channelBounds, keepSecondsDefault } from '../rules/channel.ts';

const list = '/:workspace/admin/approvalChannels';
const one = `${list}/:name`;
const params = workspaceAnd('name');
const messageList = '/:workspace/admin/approvalMessages';
const states = ['waiting', 'sent', 'failed'] as const;
/** The limit exists because each test connects to an address that a tenant chose. */
const testsPerMinute = 30;

const channelShape = object({
  name: text,
  url: text,
  default: { ...flag, description: 'receives messages about approvals whose rules name no channel' },
  createdAt: dateTime,
  secretAt: { ...dateTime, description: 'when its secret was made' },
  oldSecretUntil: { ...orNull(dateTime), description: 'until then the secret before it signs too' },
  waiting: { ...integer, description: 'messages that are not sent yet' },
  failed: { ...integer, description: 'messages that could not be sent' },
  lastSentAt: orNull(dateTime),
});

const messageShape = object({
  id: { ...text, description: 'the `webhook-id` of every attempt' },
  channel: text,
  kind: {
    ...word(['asked', 'ended', 'digest']),
    description: 'a person is asked; the question has ended; or many questions in one message',
  },
  approval: orNull(text),
  state: word(states),
  createdAt: dateTime,
  nextAt: { ...orNull(dateTime), description: 'when the next attempt is due' },
  endedAt: orNull(dateTime),
  attempts: integer,
  problem: { ...orNull(text), description: 'why the last attempt failed' },
});

const secretShape = { ...text, description: '`whsec_…`, which verifies the messages; it is shown only now' };

export function addChannelRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoutesOfList(app, deps);
  addRoutesOfSecrets(app, deps);
  addMessageRoutes(app, deps);
}

function addRoutesOfList(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    id: 'listApprovalChannels',
    tag: 'Approvals',
    summary: 'Lists the channels that receive messages about approvals, by name, never their secrets',
    answers: okAnd({ channels: listOf(channelShape) }),
    operation: listChannels,
    schema: { params: inWorkspace },
    input: () => undefined,
    answer: (channels) =>
      ok({
        channels: channels.map(({ isDefault, createdAt, secretAt, oldSecretUntil, lastSentAt, ...channel }) => ({
          ...channel,
          default: isDefault,
          createdAt: createdAt.toISOString(),
          secretAt: secretAt.toISOString(),
          oldSecretUntil: iso(oldSecretUntil),
          lastSentAt: iso(lastSentAt),
        })),
      }),
  });
  addRoute(app, deps, {
    method: 'PUT',
    url: one,
    id: 'putApprovalChannel',
    tag: 'Approvals',
    summary: 'Adds a channel, or changes its address',
    description:
      'The answer for a new channel has its `secret`, which is shown only then. Messages are signed as Standard Webhooks say. Addresses that are not public are refused unless the operator allows them, redirects are not followed.',
    answers: written({ name: text }, { secret: secretShape }),
    refusals: ['conflict', 'stale_revision'],
    operation: putChannel,
    schema: {
      params,
      body: Type.Object(
        {
          url: Type.String({ maxLength: channelBounds.urlLength, description: 'begins with https://' }),
          default: Type.Optional(
            Type.Boolean({
              description: 'receives messages about approvals whose rules name no channel; absent: as before, and false for a new channel',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    },
    input: ({ params: { name }, body }) => ({ name, url: body.url, isDefault: body.default }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    id: 'removeApprovalChannel',
    tag: 'Approvals',
    summary: 'Removes a channel with its messages, also those that were not sent',
    answers: written(),
    refusals: ['not_found', 'stale_revision'],
    operation: removeChannel,
    schema: { params },
    input: (asked) => asked.params.name,
    answer: ok,
  });
}

function addRoutesOfSecrets(app: FastifyInstance, deps: AppDeps): void {
  const tests = createRateLimit(deps.clock, testsPerMinute, 'tests of channels a minute for each workspace');
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/rotate`,
    id: 'rotateApprovalChannel',
    tag: 'Approvals',
    summary: 'Gives a channel a new secret',
    description: 'For `keepSeconds` both secrets sign each message, so that the receiver can take the new one without a gap.',
    answers: written({ name: text, secret: secretShape, oldSecretUntil: orNull(dateTime) }),
    refusals: ['not_found', 'stale_revision'],
    operation: rotateChannel,
    schema: {
      params,
      body: Type.Object(
        {
          keepSeconds: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: channelBounds.keepSeconds,
              description: `how long the present secret signs too; default: ${keepSecondsDefault}; 0: it stops at once`,
            }),
          ),
        },
        { additionalProperties: false },
      ),
    },
    input: ({ params: { name }, body }) => ({ name, keepSeconds: body.keepSeconds ?? keepSecondsDefault }),
    answer: ({ oldSecretUntil, ...result }) => ok({ ...result, oldSecretUntil: iso(oldSecretUntil) }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/test`,
    id: 'testApprovalChannel',
    tag: 'Approvals',
    summary: 'Sends a message of the type `approval.test`, once, and says whether it was taken',
    description: 'The receiver has 10 s to answer.',
    answers: okAnd({ id: { ...text, description: 'its `webhook-id`' } }),
    refusals: ['not_found', 'conflict', 'rate_limited', 'upstream_failed'],
    operation: testChannel,
    schema: { params },
    input: (asked) => asked.params.name,
    answer: ok,
    admit: ({ workspaceId }: Actor) => tests.take(String(workspaceId)),
  });
}

function addMessageRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: messageList,
    id: 'listApprovalMessages',
    tag: 'Approvals',
    summary: 'Lists messages to channels, newest first; `state=failed` are those that could not be sent',
    description: 'A message is kept for 30 days after its end. `next` is absent on the last page.',
    answers: object({ messages: listOf(messageShape) }, { next: text }),
    operation: listMessages,
    schema: {
      params: inWorkspace,
      querystring: Type.Object(
        {
          state: Type.Optional(oneOf(states)),
          channel: Type.Optional(Type.String()),
          limit: Type.Optional(pageLimit),
          cursor: Type.Optional(pageCursor),
        },
        { additionalProperties: false },
      ),
    },
    input: ({ query: { state, channel, limit, cursor } }) => ({
      state,
      channel,
      limit: limitOf(limit ?? '200'),
      before: cursor === undefined ? null : placeOf(cursor),
    }),
    answer: ({ messages, next }) => ({
      messages: messages.map(shownMessage),
      ...(next === null ? {} : { next: `${next.createdUs}.${next.id}` }),
    }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${messageList}/:id/retry`,
    id: 'retryApprovalMessage',
    tag: 'Approvals',
    summary: 'Sends a message again, now, with the same `webhook-id`',
    answers: written({ id: text }),
    refusals: ['not_found', 'conflict', 'stale_revision'],
    operation: retryMessage,
    schema: { params: workspaceAnd('id') },
    input: (asked) => asked.params.id,
    answer: ok,
  });
}

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

const shownMessage = ({ id, channel, kind, approvalId, state, createdAt, nextAt, endedAt, attempts, problem }: ShownMessage) => ({
  id,
  channel,
  kind,
  approval: approvalId,
  state,
  createdAt: createdAt.toISOString(),
  nextAt: iso(nextAt),
  endedAt: iso(endedAt),
  attempts,
  problem,
});

function placeOf(cursor: string): MessagePlace {
  const [, createdUs, id] = /^(\d{1,17})\.(msg_[0-9a-f]{32})$/.exec(cursor) ?? [];
  if (createdUs === undefined || id === undefined) throw badRequest('cursor must be the `next` of an earlier answer');
  return { createdUs, id };
}
