// Routes with which the operator manages workspaces. They are off while `TOLLGATE_OPERATOR_KEY` is unset.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { unauthenticated } from '../base/refusal.ts';
import { createWorkspace } from './operations/create-workspace.ts';
import { deleteWorkspace } from './operations/delete-workspace.ts';
import { listWorkspaces, parseWorkspaceCursor } from './operations/list-workspaces.ts';
import type { AppDeps } from '../http/deps.ts';
import { describe } from '../http/describe.ts';
import { limitOrAll, positionOf } from '../http/page-limit.ts';
import { ok } from '../http/route.ts';
import { dateTime, flag, integer, listOf, object, okAnd, text, wholeOrPage, wholeOrPageQuery } from '../http/shapes.ts';

const list = '/api/v1/workspaces';
const closed = { additionalProperties: false };
const newWorkspace = Type.Object({ slug: Type.String(), owner: Type.Object({ uid: Type.String(), email: Type.String() }, closed) }, closed);
const params = Type.Object({ slug: Type.String() });
const confirmation = Type.Object({ slug: Type.String({ description: 'the slug again' }) }, closed);

const security = [{ operator: [] }];
const tag = 'Workspaces';
const schemas = {
  list: describe(
    {
      id: 'listWorkspaces',
      tag,
      summary: 'Lists the workspaces by their slug',
      description: wholeOrPage,
      answers: okAnd({ workspaces: listOf(object({ slug: text, frozen: flag, revision: integer, createdAt: dateTime })) }, { next: text }),
    },
    { querystring: wholeOrPageQuery },
    security,
  ),
  create: describe(
    {
      id: 'createWorkspace',
      tag,
      summary: "Creates a workspace with its owner and the owner's key, which is shown only once",
      answers: okAnd({ slug: text, key: text }),
      refusals: ['conflict'],
    },
    { body: newWorkspace },
    security,
  ),
  remove: describe(
    {
      id: 'deleteWorkspace',
      tag,
      summary: 'Removes a workspace and everything in it',
      answers: okAnd(),
      refusals: ['not_found'],
    },
    { params, body: confirmation },
    security,
  ),
};

export function addWorkspaceRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { operatorKey } = deps.config;
  if (operatorKey === null) return;
  const onRequest = async (request: { readonly headers: { readonly authorization?: string | undefined } }): Promise<void> => {
    if (!equal(request.headers.authorization ?? '', `Bearer ${operatorKey}`)) throw unauthenticated('the operator key is needed');
  };

  app.get<{ Querystring: Static<typeof wholeOrPageQuery> }>(list, { onRequest, schema: schemas.list }, async ({ query }) => {
    const wanted = { limit: limitOrAll(query.limit), after: positionOf(query.cursor, parseWorkspaceCursor) };
    const { workspaces, ...rest } = await listWorkspaces(deps, wanted);
    return ok({
      workspaces: workspaces.map(({ slug, frozen, revision, createdAt }) => ({
        slug,
        frozen,
        revision,
        createdAt: createdAt.toISOString(),
      })),
      ...rest,
    });
  });
  app.post<{ Body: Static<typeof newWorkspace> }>(list, { onRequest, schema: schemas.create }, async ({ body, log }) => {
    const created = await createWorkspace(deps, body);
    log.info({ workspace: created.slug, owner: body.owner.uid }, 'the operator created a workspace');
    return ok(created);
  });
  app.delete<{ Params: Static<typeof params>; Body: Static<typeof confirmation> }>(
    `${list}/:slug`,
    { onRequest, schema: schemas.remove },
    async (request) => {
      await deleteWorkspace(deps, request.params.slug, request.body.slug);
      request.log.info({ workspace: request.params.slug }, 'the operator removed a workspace');
      return ok({});
    },
  );
}

/** Compares in constant time, so that the duration does not reveal how many characters match. */
const equal = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
