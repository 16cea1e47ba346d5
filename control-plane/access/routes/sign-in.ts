// Sign-in with an OpenID Connect issuer. It takes two redirects, and at the end the browser has a session cookie. The
// routes answer 404 while no issuer is configured.
import { isSlug } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { badRequest } from '../../base/refusal.ts';
import { loggable } from '../../base/loggable.ts';
import { beginSignIn, finishSignIn } from '../operations/sign-in.ts';
import { callbackPath, cookieOptions, sessionCookieOf, signInCookie } from '../../http/cookies.ts';
import type { AppDeps } from '../../http/deps.ts';
import { describe } from '../../http/describe.ts';
import { createRateLimit } from '../../base/rate-limit.ts';
import { flag, inWorkspace, okAnd } from '../../http/shapes.ts';

/**
 * Limit for each address. It is needed because each sign-in uses a database row for ten minutes, and any client may
 * begin one without authentication.
 */
const signInsPerMinute = 30;
const tag = 'Access';
const refusals = ['not_found', 'forbidden', 'upstream_failed'] as const;
const whither = Type.Object(
  { return: Type.Optional(Type.String({ description: 'a path on this server to return to; default: /console/' })) },
  { additionalProperties: false },
);
/** The issuer may add parameters of its own; they are ignored. */
const answer = Type.Object({
  state: Type.String(),
  code: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
});

const schemas = {
  ways: describe(
    {
      id: 'readSignIn',
      tag,
      summary: 'Tells whether members can sign in with an OpenID Connect issuer here',
      answers: okAnd({ oidc: flag }),
    },
    {},
    [],
  ),
  begin: describe(
    {
      id: 'beginSignIn',
      tag,
      summary: 'Sends a browser to the OpenID Connect issuer',
      answers: { redirects: 'To the issuer' },
      refusals: [...refusals, 'rate_limited'],
    },
    { params: inWorkspace, querystring: whither },
    [],
  ),
  finish: describe(
    {
      id: 'finishSignIn',
      tag,
      summary: 'Receives the browser when the issuer sends it back',
      description:
        'Opens a session of the member whose uid is the `sub` of the token, or whose e-mail is the verified e-mail of the token. If these are two different members, the answer is 403.',
      answers: { redirects: 'To the path that was given when the sign-in started, with a session cookie' },
      refusals,
    },
    { querystring: answer },
    [],
  ),
};

export function addSignInRoutes(app: FastifyInstance, deps: AppDeps): void {
  const options = cookieOptions(deps);
  const beginnings = createRateLimit(deps.clock, signInsPerMinute, 'sign-ins a minute from each address');

  app.get('/api/v1/sign-in', { schema: schemas.ways }, async () => ({ ok: true, oidc: deps.issuer !== null }));

  app.get<{ Params: Static<typeof inWorkspace>; Querystring: Static<typeof whither> }>(
    '/:workspace/admin/session/oidc',
    { schema: schemas.begin, exposeHeadRoute: false, onRequest: async ({ ip }) => beginnings.take(ip) },
    async ({ params: { workspace }, query }, reply) => {
      if (!isSlug(workspace)) throw badRequest('this slug is not valid for a workspace');
      const { url, browser } = await beginSignIn(deps, { workspace, returnTo: query.return ?? '/console/' });
      return reply.setCookie(signInCookie, browser, options.signIn).header('Cache-Control', 'no-store').redirect(url.href, 302);
    },
  );

  app.get(callbackPath, { schema: schemas.finish, exposeHeadRoute: false }, async (request, reply) => {
    const answered = new URL(request.url, 'http://localhost').searchParams;
    const signedIn = finishSignIn(deps, answered, request.cookies[signInCookie]).catch((reason: unknown) => {
      request.log.info(loggable(reason), 'a sign-in was refused');
      throw reason;
    });
    const { token, returnTo, workspace, uid } = await signedIn;
    request.log.info({ workspace, sub: uid }, 'a member signed in');
    return reply
      .setCookie(sessionCookieOf(deps), token, options.session)
      .clearCookie(signInCookie, options.signIn)
      .header('Cache-Control', 'no-store')
      .redirect(returnTo, 302);
  });
}
