// Console sessions: a token in a cookie, and what is derived from it. Only its hash is stored.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from './key.ts';

export const sessionMs = 12 * 3_600_000;
/** Of one key, or of one member; the oldest ends when another begins. */
export const sessionsMax = 100;

const tokenBytes = 32;
const tokenForm = /^[A-Za-z0-9_-]{43}$/;

/** 256 bits, as text that a cookie, a URL and a PKCE verifier may hold. */
export const makeToken = (random: RandomBytes): string => Buffer.from(random(tokenBytes)).toString('base64url');

/** Whether a text may be a token of ours at all: what may not is not looked for. */
export const isToken = (text: string): boolean => tokenForm.test(text);

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** What a page of ours knows and a page of somebody else's does not: derived, so that there is nothing to store. */
export const csrfOf = (token: string): string => createHash('sha256').update(`csrf ${token}`).digest('base64url');

/** In a time that does not tell how much was right. */
export function isCsrfOf(token: string, said: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(said), digest(csrfOf(token)));
}
