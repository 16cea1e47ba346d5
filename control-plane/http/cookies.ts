// Defines the cookies of the console: their names, their options, and which parts of a request identify its sender.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import { sessionMs } from '../access/rules/session.ts';
import { signInMs } from '../access/rules/sign-in.ts';
import type { RequestCredentials } from '../access/operations/authenticate.ts';
import type { AppDeps } from './deps.ts';

export const signInCookie = 'tollgate_sign_in';
export const callbackPath = '/api/v1/oidc/callback';

type Options = Required<Pick<CookieSerializeOptions, 'path' | 'maxAge' | 'httpOnly' | 'sameSite' | 'secure'>>;

/** How browsers reach the control plane. */
interface Reached extends Pick<AppDeps, 'tls'> {
  readonly config: Pick<AppDeps['config'], 'publicUrl'>;
}

const isSecure = ({ tls, config: { publicUrl } }: Reached): boolean => tls !== null || (publicUrl?.startsWith('https:') ?? false);

/**
 * Returns the name of the session cookie. Over https, the prefix `__Host-` makes browsers accept the cookie only from
 * this exact host. Another host under the same domain cannot set it.
 */
export const sessionCookieOf = (reached: Reached): string => `${isSecure(reached) ? '__Host-' : ''}tollgate_session`;

/** Over https, our cookies are never sent unencrypted. */
export function cookieOptions(reached: Reached): { readonly session: Options; readonly signIn: Options } {
  const both = { httpOnly: true, secure: isSecure(reached) };
  return {
    session: { ...both, path: '/', maxAge: sessionMs / 1000, sameSite: 'strict' },
    // The browser sends this cookie on the redirect from the issuer's page. `strict` would prevent that.
    signIn: { ...both, path: callbackPath, maxAge: signInMs / 1000, sameSite: 'lax' },
  };
}

export function shownBy({ headers, cookies, method, ip }: FastifyRequest, reached: Reached): RequestCredentials {
  const csrf = headers['x-csrf-token'];
  return {
    authorization: headers.authorization,
    cookie: cookies[sessionCookieOf(reached)],
    csrf: typeof csrf === 'string' ? csrf : undefined,
    method,
    address: ip,
  };
}
