import { scopes } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { parseInstant } from '../../domain/instant.ts';
import type { ApiKey } from '../../domain/key.ts';
import { badRequest } from '../../domain/refusal.ts';
import { revokeKey, rotateKey } from '../../operations/change-key.ts';
import { createKey } from '../../operations/create-key.ts';
import { listKeys } from '../../operations/read-keys.ts';
import type { AppDeps } from '../deps.ts';
import { addRoute, ok } from '../route.ts';
import { inWorkspace, oneOf, tierShape, workspaceAnd } from './shapes.ts';

const list = '/:workspace/admin/keys';
const one = `${list}/:id`;
const params = workspaceAnd('id');
const name = Type.String({ minLength: 1, maxLength: 200 });

const newKey = Type.Object(
  {
    name,
    scopes: Type.Array(oneOf(scopes), { minItems: 1, maxItems: scopes.length, uniqueItems: true }),
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
    operation: listKeys,
    schema: { params: inWorkspace },
    input: () => undefined,
    answer: (keys) => ok({ keys: keys.map(shownKey) }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: list,
    operation: createKey,
    schema: { params: inWorkspace, body: newKey },
    input: ({ body: { expiresAt, ...body } }) => ({ ...body, expiresAt: expiresAt === undefined ? undefined : instantOf(expiresAt) }),
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'DELETE',
    url: one,
    operation: revokeKey,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/rotate`,
    operation: rotateKey,
    schema: { params },
    input: (asked) => asked.params.id,
    answer: ok,
  });
}

function instantOf(text: string): Date {
  const instant = parseInstant(text);
  if (instant === null) throw badRequest('expiresAt must be an ISO 8601 date-time');
  return instant;
}

/** Never the key: its last four characters, to know it by. */
const shownKey = ({ pins, expiresAt, revokedAt, createdAt, ...key }: ApiKey) => ({
  ...key,
  ...pins,
  expiresAt: expiresAt?.toISOString() ?? null,
  revokedAt: revokedAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});
