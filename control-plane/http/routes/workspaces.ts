// Workspaces, for the operator: off while `TOLLGATE_OPERATOR_KEY` is unset.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { unauthenticated } from '../../domain/refusal.ts';
import { createWorkspace, deleteWorkspace, listWorkspaces } from '../../operations/create-workspace.ts';
import type { AppDeps } from '../deps.ts';
import { ok } from '../route.ts';

const list = '/api/v1/workspaces';
const closed = { additionalProperties: false };
const newWorkspace = Type.Object({ slug: Type.String(), owner: Type.Object({ uid: Type.String(), email: Type.String() }, closed) }, closed);
const params = Type.Object({ slug: Type.String() });
const confirmation = Type.Object({ slug: Type.String({ description: 'the slug again' }) }, closed);

export function addWorkspaceRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { operatorKey } = deps.config;
  if (operatorKey === null) return;
  const onRequest = async (request: { readonly headers: { readonly authorization?: string | undefined } }): Promise<void> => {
    if (!equal(request.headers.authorization ?? '', `Bearer ${operatorKey}`)) throw unauthenticated('the operator key is needed');
  };

  app.get(list, { onRequest }, async () => {
    const workspaces = await listWorkspaces(deps);
    return ok({
      workspaces: workspaces.map(({ slug, frozen, revision, createdAt }) => ({
        slug,
        frozen,
        revision,
        createdAt: createdAt.toISOString(),
      })),
    });
  });
  app.post<{ Body: Static<typeof newWorkspace> }>(list, { onRequest, schema: { body: newWorkspace } }, async ({ body }) =>
    ok(await createWorkspace(deps, body)),
  );
  app.delete<{ Params: Static<typeof params>; Body: Static<typeof confirmation> }>(
    `${list}/:slug`,
    { onRequest, schema: { params, body: confirmation } },
    async (request) => {
      await deleteWorkspace(deps, request.params.slug, request.body.slug);
      return ok({});
    },
  );
}

/** In a time that does not tell how much was right. */
const equal = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
