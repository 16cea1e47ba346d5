// The cookies of the console: what they are called, who is sent them, and what of a request says who sent it.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import { sessionMs } from '../domain/access/session.ts';
import { signInMs } from '../domain/access/sign-in.ts';
import type { Shown } from '../operations/access/authenticate.ts';

export const sessionCookie = 'tollgate_session';
export const signInCookie = 'tollgate_sign_in';
export const callbackPath = '/api/v1/oidc/callback';

type Options = Required<Pick<CookieSerializeOptions, 'path' | 'maxAge' | 'httpOnly' | 'sameSite' | 'secure'>>;

/** `publicUrl`: what browsers reach. Over https no cookie of ours ever goes out in the clear. */
export function cookieOptions(publicUrl: string | null): { readonly session: Options; readonly signIn: Options } {
  const both = { httpOnly: true, secure: publicUrl?.startsWith('https:') ?? false };
  return {
    session: { ...both, path: '/', maxAge: sessionMs / 1000, sameSite: 'strict' },
    // The browser brings it from the issuer's page, which strict would not let it.
    signIn: { ...both, path: callbackPath, maxAge: signInMs / 1000, sameSite: 'lax' },
  };
}

export function shownBy({ headers, cookies, method }: FastifyRequest): Shown {
  const csrf = headers['x-csrf-token'];
  return {
    authorization: headers.authorization,
    cookie: cookies[sessionCookie],
    csrf: typeof csrf === 'string' ? csrf : undefined,
    method,
  };
}
