// Console sessions: a client exchanges a key for a cookie that scripts cannot read. Opening and ending a session
// changes no other data of the workspace.
import { roles, scopes } from '@tollgate/proto/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { csrfOf } from '../rules/session.ts';
import { authenticate, authenticateRequest } from '../operations/authenticate.ts';
import { endSession } from '../operations/end-session.ts';
import { followWorkspace, type WorkspaceItem } from '../operations/follow-workspace.ts';
import { openSession } from '../operations/open-session.ts';
import { readSession, readSurroundings } from '../operations/read-session.ts';
import { cookieOptions, sessionCookieOf, shownBy } from '../../http/cookies.ts';
import type { StreamDeps } from '../../http/deps.ts';
import { describe } from '../../http/describe.ts';
import { ok, recognising } from '../../http/route.ts';
import { dateTime, flag, inWorkspace, listOf, okAnd, orNull, text, word, workspaceEventRef } from '../../http/shapes.ts';
import { streamHandler } from '../../http/stream-route.ts';
import { addSessionLinkRoute } from './session-link.ts';

const url = '/:workspace/admin/session';
const tag = 'Access';
const csrf = { ...text, description: 'value of the header X-CSRF-Token for requests that change something' };
const role = word(roles);

const who = {
  sub: text,
  uid: { ...orNull(text), description: 'null for a service key' },
  email: orNull(text),
  role,
  scopes: listOf(word(scopes)),
  workspace: text,
  expiresAt: { ...orNull(dateTime), description: 'null for a key that does not expire' },
};
const credentials = [{ key: [] }, { session: [] }];

const schemas = {
  open: describe(
    {
      id: 'openSession',
      method: 'POST',
      tag,
      summary: 'Opens a session of the console with a key',
      description: 'Its cookie has the scopes, pins and role of the key, lasts 12 hours, and ends with the key.',
      answers: okAnd({ csrf, expiresAt: dateTime, sub: text, role }),
    },
    { params: inWorkspace },
    [{ key: [] }],
  ),
  read: describe(
    {
      id: 'readSession',
      tag,
      summary: 'Reads the identity of the caller: of its key or its session',
      answers: okAnd(who, { csrf }),
    },
    { params: inWorkspace },
    credentials,
  ),
  readOwn: describe(
    {
      id: 'readOwnSession',
      tag,
      summary: 'Reads the identity of the caller, and the state of its workspace',
      description: 'For a caller that does not know its workspace, such as the console after a sign-in.',
      answers: okAnd(
        {
          ...who,
          workspaces: { ...listOf(text), description: 'the workspaces that the caller can sign in to, its own included' },
          frozen: { ...flag, description: 'every call of the workspace is denied' },
        },
        { csrf },
      ),
    },
    {},
    credentials,
  ),
  follow: describe(
    {
      id: 'followSession',
      tag,
      summary: 'Streams the state of the workspace to a key or a session, for as long as it is valid',
      description:
        'The first event comes at once, the others after each change of the workspace. The stream ends when the key is revoked or the session ends.',
      answers: {
        mediaType: 'text/event-stream',
        text: '`event: workspace`, `{frozen, revision}` as one line of `data`',
        event: workspaceEventRef,
      },
      refusals: ['rate_limited'],
    },
    { params: inWorkspace },
    credentials,
  ),
  end: describe(
    { id: 'endSession', method: 'DELETE', tag, summary: 'Ends the session whose cookie is sent', answers: okAnd() },
    { params: inWorkspace },
    [{ session: [] }],
  ),
};

export function addSessionRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addSessionLinkRoute(app, deps);
  const { session: options } = cookieOptions(deps);
  const sessionCookie = sessionCookieOf(deps);
  const byKey = recognising(async ({ headers, ip }) => authenticate(deps, headers.authorization, ip));
  const byEither = recognising(async (request) => authenticateRequest(deps, shownBy(request, deps)));

  app.post(url, { schema: schemas.open, onRequest: byKey.onRequest }, async (request, reply) => {
    const { slug: workspace, sub, role, keyId, ...actor } = byKey.actorOf(request);
    const { token, csrf, expiresAt } = await openSession(deps, { keyId, ...actor });
    request.log.info({ workspace, sub, keyId }, 'a session was opened');
    void reply.setCookie(sessionCookie, token, options).header('Cache-Control', 'no-store');
    return ok({ csrf, expiresAt: expiresAt.toISOString(), sub, role });
  });

  const describeCaller = async (request: FastifyRequest, reply: FastifyReply) => {
    const actor = byEither.actorOf(request);
    const { expiresAt, ...who } = await readSession(deps, actor);
    const { cookie } = shownBy(request, deps);
    void reply.header('Cache-Control', 'no-store');
    const csrf = actor.credential.kind === 'session' && cookie !== undefined ? { csrf: csrfOf(cookie) } : {};
    return { ...who, expiresAt: expiresAt?.toISOString() ?? null, ...csrf };
  };

  app.get(url, { schema: schemas.read, onRequest: byEither.onRequest }, async (request, reply) => ok(await describeCaller(request, reply)));

  app.get('/api/v1/session', { schema: schemas.readOwn, onRequest: byEither.onRequest }, async (request, reply) =>
    ok({ ...(await describeCaller(request, reply)), ...(await readSurroundings(deps, byEither.actorOf(request))) }),
  );

  const follow = streamHandler(app, deps, {
    actorOf: byEither.actorOf,
    items: (actor, _request, signal) => followWorkspace(deps, actor, signal),
    frame: eventOf,
    mediaType: 'text/event-stream',
  });
  app.get(`${url}/stream`, { schema: schemas.follow, onRequest: byEither.onRequest }, follow);

  app.delete(url, { schema: schemas.end, onRequest: byEither.onRequest }, async (request, reply) => {
    await endSession(deps, byEither.actorOf(request));
    void reply.clearCookie(sessionCookie, options);
    return ok({});
  });
}

const eventOf = (item: WorkspaceItem): string =>
  item.kind === 'note'
    ? `: ${item.text}\n\n`
    : `event: workspace\ndata: ${JSON.stringify({ frozen: item.frozen, revision: item.revision })}\n\n`;
