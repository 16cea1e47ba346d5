// Exchanges the token of a one-time link for a session. It needs no credential: the token is one, and it is only on the
// terminal where the control plane was started.
import { isLoopback } from '@tollgate/proto/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { cookieOptions, sessionCookieOf } from '../../http/cookies.ts';
import type { AppDeps } from '../../http/deps.ts';
import { describe } from '../../http/describe.ts';
import { ok } from '../../http/route.ts';
import { dateTime, okAnd, text } from '../../http/shapes.ts';
import { openLinkedSession } from '../operations/session-link.ts';

const body = Type.Object({ token: Type.String({ maxLength: 200 }) }, { additionalProperties: false });

const schema = describe(
  {
    id: 'openLinkedSession',
    method: 'POST',
    tag: 'Access',
    summary: 'Opens a session of the console with the link that the start has printed',
    description:
      'The link is printed where the control plane is started on a terminal. It works for 60 s, once, and only from the same machine. The session is that of the owner of the first workspace.',
    answers: okAnd({
      csrf: { ...text, description: 'value of the header X-CSRF-Token for requests that change something' },
      expiresAt: dateTime,
      workspace: text,
      sub: text,
    }),
    refusals: ['forbidden'],
  },
  { body },
  [],
);

export function addSessionLinkRoute(app: FastifyInstance, deps: AppDeps): void {
  app.post<{ Body: Static<typeof body> }>('/api/v1/session/link', { schema }, async (request, reply) => {
    const { token, csrf, expiresAt, workspace, uid } = await openLinkedSession(deps, {
      token: request.body.token,
      isLocal: isLocal(request),
    });
    request.log.info({ workspace, sub: uid }, 'a session was opened with the link of the start');
    void reply.setCookie(sessionCookieOf(deps), token, cookieOptions(deps).session).header('Cache-Control', 'no-store');
    return ok({ csrf, expiresAt: expiresAt.toISOString(), workspace, sub: uid });
  });
}

/** A proxy on the same machine connects from loopback too, but for others: it says so in these headers. */
const forwarding = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const;

/** On a dual-stack socket, IPv4 addresses begin with `::ffff:`. */
const isLocal = ({ raw, headers }: FastifyRequest): boolean =>
  isLoopback((raw.socket.remoteAddress ?? '').replace(/^::ffff:/i, '')) && forwarding.every((name) => headers[name] === undefined);
