// Defines console sessions: a token in a cookie, and values that are derived from it. Only the hash of the token is
// stored.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from './key.ts';

export const sessionMs = 12 * 3_600_000;
/** The maximum number of sessions for each key or member. Above it, the oldest session ends when another one begins. */
export const sessionsMax = 100;

const tokenBytes = 32;
const tokenForm = /^[A-Za-z0-9_-]{43}$/;

/** Returns 256 random bits, as text that is valid in a cookie, a URL and a PKCE verifier. */
export const makeToken = (random: RandomBytes): string => Buffer.from(random(tokenBytes)).toString('base64url');

/** Whether a text has the form of a token. Texts without this form are not looked up. */
export const isToken = (text: string): boolean => tokenForm.test(text);

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/**
 * Returns a value that our own pages know and pages of other sites do not. It is derived from the token, so it need not
 * be stored.
 */
export const csrfOf = (token: string): string => createHash('sha256').update(`csrf ${token}`).digest('base64url');

/** Whether `said` is the CSRF value of the token. Compares in constant time. */
export function isCsrfOf(token: string, said: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(said), digest(csrfOf(token)));
}
