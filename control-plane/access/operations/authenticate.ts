// Finds the actor of a key or of a session cookie. It queries the database for each request of a valid key, so a
// revocation takes effect immediately. What keys cost that are not valid is bounded in `key-lookups.ts`.
import { AppError } from '@tollgate/proto/contract';
import type { Actor } from '../rules/actor.ts';
import { forbidden, unauthenticated } from '../../base/refusal.ts';
import { hashToken, isCsrfOf, isToken } from '../rules/session.ts';
import { findActor } from '../store/actors.ts';
import type { OperationDeps } from '../operation.ts';

type StandingDeps = Pick<OperationDeps, 'pool' | 'clock'>;
type AuthenticateDeps = StandingDeps & Pick<OperationDeps, 'keyLookups'>;

/** The credentials that a request carries, each unchanged. */
export interface RequestCredentials {
  readonly authorization: string | undefined;
  /** The session's token. */
  readonly cookie: string | undefined;
  /** The value of the header `X-CSRF-Token`. */
  readonly csrf: string | undefined;
  readonly method: string;
  /** Where the request comes from, in the format of a socket. */
  readonly address: string;
}

const bearer = /^Bearer +(\S+) *$/i;
const changesNothing: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Authenticates by key or by cookie. A request with an Authorization header never uses its cookie. */
export async function authenticateRequest(
  deps: AuthenticateDeps,
  { authorization, cookie, csrf, method, address }: RequestCredentials,
): Promise<Actor> {
  if (authorization !== undefined || cookie === undefined) return authenticate(deps, authorization, address);
  const actor = isToken(cookie) ? await findActor(deps.pool, { kind: 'session', hash: hashToken(cookie) }, deps.clock()) : null;
  if (actor === null) throw unauthenticated('the session is unknown or has ended; sign in again');
  // A browser also sends the cookie with requests that pages of other sites cause. Only our own pages can read the
  // value that the header `X-CSRF-Token` must have.
  if (!changesNothing.has(method) && !isCsrfOf(cookie, csrf ?? ''))
    throw forbidden(
      'a change with a session cookie needs the header X-CSRF-Token; the value of the header is the field `csrf` in the answer of GET /{workspace}/admin/session',
    );
  return actor;
}

/**
 * Authenticates by key only. `authorization` is the unchanged header, `address` is where it comes from. Throws
 * `unauthenticated`, which never tells why the key is not valid, or `rate_limited` if too many keys of that network were
 * not valid.
 */
export async function authenticate(
  { keyLookups }: Pick<AuthenticateDeps, 'keyLookups'>,
  authorization: string | undefined,
  address = '',
): Promise<Actor> {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key === undefined) throw unauthenticated('a workspace API key is needed: Authorization: Bearer gsk_<workspace>_<random>');
  const actor = await keyLookups.find(key, address);
  if (actor === null) throw unauthenticated('the API key is malformed, unknown, revoked or expired');
  return actor;
}

/**
 * Authenticates a sidecar. It never throws `rate_limited`: a sidecar that is told so tries again and decides meanwhile by
 * the policy it holds, and a sidecar whose key was revoked must stop. Otherwise another client of its network could keep
 * it deciding, by sending keys that are not valid.
 */
export const authenticateSidecar = (...asked: Parameters<typeof authenticate>): Promise<Actor> =>
  authenticate(...asked).catch((reason: unknown) => {
    throw reason instanceof AppError && reason.code === 'rate_limited' ? unauthenticated(reason.publicMessage) : reason;
  });

/**
 * Reads the current state of an actor that was authenticated before. Used for connections that stay open. Null if the
 * actor's credential is no longer valid.
 */
export const stillStands = ({ pool, clock }: StandingDeps, { credential }: Actor): Promise<Actor | null> =>
  findActor(pool, credential, clock());

/** Throws `forbidden` if the key or session is not of the workspace that the path names. */
export function requireWorkspace({ slug, credential }: Actor, named: string): void {
  if (slug !== named) throw forbidden(`this ${credential.kind} belongs to a different workspace`);
}
