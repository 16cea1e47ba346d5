// Whom a bearer key stands for. Asked anew for every request, so that a revoked key is dead at once.
import { timingSafeEqual } from 'node:crypto';
import { hashKey, parseKey } from '@tollgate/proto/contract';
import type { Actor } from '../domain/actor.ts';
import { forbidden, unauthenticated } from '../domain/refusal.ts';
import { findCredential } from '../store/keys.ts';
import type { Deps } from './operation.ts';

const bearer = /^Bearer +(\S+) *$/i;

/** `authorization`: the header as it came. Throws `unauthenticated`, never saying which of the reasons it was. */
export async function authenticate({ pool, clock }: Pick<Deps, 'pool' | 'clock'>, authorization: string | undefined): Promise<Actor> {
  const key = bearer.exec(authorization ?? '')?.[1];
  if (key === undefined) throw unauthenticated('a workspace API key is needed: Authorization: Bearer gsk_<workspace>_<random>');
  const actor = await actorOfKey({ pool, clock }, key);
  if (actor === null) throw unauthenticated('the API key is malformed, unknown, revoked or expired');
  return actor;
}

/** Null for whatever is not a key of a workspace at this moment. */
async function actorOfKey({ pool, clock }: Pick<Deps, 'pool' | 'clock'>, key: string): Promise<Actor | null> {
  const parsed = parseKey(key);
  if (parsed === null) return null;
  const hash = hashKey(key);
  const found = await findCredential(pool, hash, clock());
  if (found === null || found.actor.slug !== parsed.workspace) return null;
  return timingSafeEqual(Buffer.from(found.hash), Buffer.from(hash)) ? found.actor : null;
}

/** The slug in a path must be the key's. */
export function requireWorkspace(actor: Actor, slug: string): void {
  if (actor.slug !== slug) throw forbidden('this key is not of that workspace');
}
