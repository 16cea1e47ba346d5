import { scopes } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { instantWords, parseInstant } from '../../base/instant.ts';
import { type ApiKey, parseKeyCursor } from '../rules/key.ts';
import { badRequest } from '../../base/refusal.ts';
import { narrowKey, revokeKey, rotateKey } from '../operations/change-key.ts';
import { createKey } from '../operations/create-key.ts';
import { listKeys } from '../operations/read-keys.ts';
import type { AppDeps } from '../../http/deps.ts';
import { limitOrAll, positionOf } from '../../http/page-limit.ts';
import { addRoute, ok } from '../../http/route.ts';
import {
  inWorkspace,
  keyRef,
  listOf,
  okAnd,
  oneOf,
  text,
  tierShape,
  wholeOrPage,
  wholeOrPageQuery,
  workspaceAnd,
  written,
} from '../../http/shapes.ts';

const list = '/:workspace/admin/keys';
const one = `${list}/:id`;
const params = workspaceAnd('id');
const name = Type.String({ minLength: 1, maxLength: 200 });

const someScopes = Type.Array(oneOf(scopes), { minItems: 1, maxItems: scopes.length, uniqueItems: true });

const newKey = Type.Object(
  {
    name,
    scopes: someScopes,
    uid: Type.Optional(Type.String()),
    tier: Type.Optional(tierShape),
    agent: Type.Optional(name),
    client: Type.Optional(name),
    expiresAt: Type.Optional(Type.String({ description: 'ISO 8601 date-time; absent: that of the issuing key, if it has one' })),
  },
  { additionalProperties: false },
);

export function addKeyRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: list,
    id: 'listKeys',
    tag: 'Access',
    summary: 'Lists keys, newest first, without their secrets',
    description: wholeOrPage,
    answers: okAnd({ keys: listOf(keyRef) }, { next: text }),
    operation: listKeys,
    schema: { params: inWorkspace, querystring: wholeOrPageQuery },
    input: ({ query }) => ({ limit: limitOrAll(query.limit), after: positionOf(query.cursor, parseKeyCursor) }),
    answer: ({ keys, ...rest }) => ok({ keys: keys.map(shownKey), ...rest }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: list,
    id: 'createKey',
    tag: 'Access',
    summary: 'Issues a key, which is shown only once',
    description: 'With `uid` it is a personal key of that member, without it a service key. A caller cannot grant what it lacks.',
    answers: written({ id: text, key: text }),
    refusals: ['stale_revision'],
    operation: createKey,
    schema: { params: inWorkspace, body: newKey },
    input: ({ body: { expiresAt, ...body } }) => ({ ...body, expiresAt: expiresAt === undefined ? undefined : instantOf(expiresAt) }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    id: 'revokeKey',
    tag: 'Access',
    summary: 'Revokes a key',
    answers: written(),
    refusals: ['not_found', 'stale_revision'],
    operation: revokeKey,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'PATCH',
    url: one,
    id: 'narrowKey',
    tag: 'Access',
    summary: 'Removes scopes from a key; its secret does not change',
    description: '`scopes` are the scopes that the key keeps. `sidecar.sync` may be replaced by `sidecar.library`, which is a part of it.',
    answers: written({ id: text, scopes: listOf(text) }),
    refusals: ['not_found', 'stale_revision'],
    operation: narrowKey,
    schema: { params, body: Type.Object({ scopes: someScopes }, { additionalProperties: false }) },
    input: ({ params: { id }, body }) => ({ id, scopes: body.scopes }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/rotate`,
    id: 'rotateKey',
    tag: 'Access',
    summary: 'Gives a key a new secret, which is shown only once; the old secret stops working immediately',
    answers: written({ id: text, key: text }),
    refusals: ['not_found', 'conflict', 'stale_revision'],
    operation: rotateKey,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
  });
}

function instantOf(text: string): Date {
  const instant = parseInstant(text);
  if (instant === null) throw badRequest(`expiresAt ${instantWords}`);
  return instant;
}

/** Shows the last four characters of the key for identification, never the key. */
const shownKey = ({ pins, expiresAt, revokedAt, createdAt, ...key }: ApiKey) => ({
  ...key,
  ...pins,
  expiresAt: expiresAt?.toISOString() ?? null,
  revokedAt: revokedAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});
