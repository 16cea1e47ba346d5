// Whom a key or a session's cookie stands for. Asked anew for every request, so that what was revoked is dead at once.
import { hashKey, parseKey } from '@tollgate/proto/contract';
import type { Actor } from '../../domain/access/actor.ts';
import { forbidden, unauthenticated } from '../../domain/refusal.ts';
import { hashToken, isCsrfOf, isToken } from '../../domain/access/session.ts';
import { findActor } from '../../store/actors.ts';
import type { Deps } from '../operation.ts';

type Asking = Pick<Deps, 'pool' | 'clock'>;

/** What a request shows of who sent it, each as it came. */
export interface Shown {
  readonly authorization: string | undefined;
  /** The session's token. */
  readonly cookie: string | undefined;
  /** Of the header `X-CSRF-Token`. */
  readonly csrf: string | undefined;
  readonly method: string;
}

const bearer = /^Bearer +(\S+) *$/i;
const changesNothing: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** By key or by cookie; a request with an Authorization header never stands on its cookie. */
export async function authenticateRequest(deps: Asking, { authorization, cookie, csrf, method }: Shown): Promise<Actor> {
  if (authorization !== undefined || cookie === undefined) return authenticate(deps, authorization);
  const actor = isToken(cookie) ? await actorOf(deps, 'session', hashToken(cookie)) : null;
  if (actor === null) throw unauthenticated('the session is unknown or has ended; sign in again');
  // A browser sends the cookie for any page; only one of ours can read what belongs into the header.
  if (!changesNothing.has(method) && !isCsrfOf(cookie, csrf ?? ''))
    throw forbidden('a change by cookie needs the header X-CSRF-Token: `csrf` of GET /{workspace}/admin/session');
  return actor;
}

/** By key only. `authorization`: the header as it came. Throws `unauthenticated`, never saying which of the reasons it was. */
export async function authenticate(deps: Asking, authorization: string | undefined): Promise<Actor> {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key === undefined) throw unauthenticated('a workspace API key is needed: Authorization: Bearer gsk_<workspace>_<random>');
  const actor = await actorOfKey(deps, key);
  if (actor === null) throw unauthenticated('the API key is malformed, unknown, revoked or expired');
  return actor;
}

/** Null for whatever is not a key of a workspace at this moment. */
async function actorOfKey(deps: Asking, key: string): Promise<Actor | null> {
  const parsed = parseKey(key);
  if (parsed === null) return null;
  const actor = await actorOf(deps, 'key', hashKey(key));
  return actor?.slug === parsed.workspace ? actor : null;
}

const actorOf = ({ pool, clock }: Asking, kind: Actor['credential']['kind'], hash: string): Promise<Actor | null> =>
  findActor(pool, { kind, hash }, clock());

/** Who was recognised before, as they are now: for what stays open. Null where what they showed stands no more. */
export const stillStands = ({ pool, clock }: Asking, { credential }: Actor): Promise<Actor | null> => findActor(pool, credential, clock());

/** The slug in a path must be that of the key or session. */
export function requireWorkspace({ slug, credential }: Actor, named: string): void {
  if (slug !== named) throw forbidden(`this ${credential.kind} is not of that workspace`);
}
