// Finds the actor of a key or of a session cookie. It queries the database for each request, so a revocation takes
// effect immediately.
import { hashKey, parseKey } from '@tollgate/proto/contract';
import type { Actor } from '../rules/actor.ts';
import { forbidden, unauthenticated } from '../../base/refusal.ts';
import { hashToken, isCsrfOf, isToken } from '../rules/session.ts';
import { findActor } from '../store/actors.ts';
import type { OperationDeps } from '../operation.ts';

type AuthenticateDeps = Pick<OperationDeps, 'pool' | 'clock'>;

/** The credentials that a request carries, each unchanged. */
export interface RequestCredentials {
  readonly authorization: string | undefined;
  /** The session's token. */
  readonly cookie: string | undefined;
  /** The value of the header `X-CSRF-Token`. */
  readonly csrf: string | undefined;
  readonly method: string;
}

const bearer = /^Bearer +(\S+) *$/i;
const changesNothing: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Authenticates by key or by cookie. A request with an Authorization header never uses its cookie. */
export async function authenticateRequest(
  deps: AuthenticateDeps,
  { authorization, cookie, csrf, method }: RequestCredentials,
): Promise<Actor> {
  if (authorization !== undefined || cookie === undefined) return authenticate(deps, authorization);
  const actor = isToken(cookie) ? await actorOf(deps, 'session', hashToken(cookie)) : null;
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
 * Authenticates by key only. `authorization` is the unchanged header. Throws `unauthenticated`, which never tells why
 * the key is not valid.
 */
export async function authenticate(deps: AuthenticateDeps, authorization: string | undefined): Promise<Actor> {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key === undefined) throw unauthenticated('a workspace API key is needed: Authorization: Bearer gsk_<workspace>_<random>');
  const actor = await actorOfKey(deps, key);
  if (actor === null) throw unauthenticated('the API key is malformed, unknown, revoked or expired');
  return actor;
}

/** Returns the actor of a key. Null if the text is not a valid key of a workspace at this moment. */
async function actorOfKey(deps: AuthenticateDeps, key: string): Promise<Actor | null> {
  const parsed = parseKey(key);
  if (parsed === null) return null;
  const actor = await actorOf(deps, 'key', hashKey(key));
  return actor?.slug === parsed.workspace ? actor : null;
}

const actorOf = ({ pool, clock }: AuthenticateDeps, kind: Actor['credential']['kind'], hash: string): Promise<Actor | null> =>
  findActor(pool, { kind, hash }, clock());

/**
 * Reads the current state of an actor that was authenticated before. Used for connections that stay open. Null if the
 * actor's credential is no longer valid.
 */
export const stillStands = ({ pool, clock }: AuthenticateDeps, { credential }: Actor): Promise<Actor | null> =>
  findActor(pool, credential, clock());

/** Throws `forbidden` if the key or session is not of the workspace that the path names. */
export function requireWorkspace({ slug, credential }: Actor, named: string): void {
  if (slug !== named) throw forbidden(`this ${credential.kind} belongs to a different workspace`);
}
