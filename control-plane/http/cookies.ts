// The cookies of the console: what they are called, who is sent them, and what of a request says who sent it.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import { sessionMs } from '../domain/access/session.ts';
import { signInMs } from '../domain/access/sign-in.ts';
import type { Shown } from '../operations/access/authenticate.ts';

export const signInCookie = 'tollgate_sign_in';
export const callbackPath = '/api/v1/oidc/callback';

type Options = Required<Pick<CookieSerializeOptions, 'path' | 'maxAge' | 'httpOnly' | 'sameSite' | 'secure'>>;

const isSecure = (publicUrl: string | null): boolean => publicUrl?.startsWith('https:') ?? false;

/** Over https browsers take it from this very host alone: no neighbour under the same domain can plant one. */
export const sessionCookieOf = (publicUrl: string | null): string => `${isSecure(publicUrl) ? '__Host-' : ''}tollgate_session`;

/** `publicUrl`: what browsers reach. Over https no cookie of ours ever goes out in the clear. */
export function cookieOptions(publicUrl: string | null): { readonly session: Options; readonly signIn: Options } {
  const both = { httpOnly: true, secure: isSecure(publicUrl) };
  return {
    session: { ...both, path: '/', maxAge: sessionMs / 1000, sameSite: 'strict' },
    // The browser brings it from the issuer's page, which strict would not let it.
    signIn: { ...both, path: callbackPath, maxAge: signInMs / 1000, sameSite: 'lax' },
  };
}

export function shownBy({ headers, cookies, method }: FastifyRequest, publicUrl: string | null): Shown {
  const csrf = headers['x-csrf-token'];
  return {
    authorization: headers.authorization,
    cookie: cookies[sessionCookieOf(publicUrl)],
    csrf: typeof csrf === 'string' ? csrf : undefined,
    method,
  };
}
