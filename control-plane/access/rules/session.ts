// Console sessions: a token in a cookie, and values that are derived from it. Only the hash of the token is stored.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from './key.ts';

export const sessionMs = 12 * 3_600_000;
/** For each key or member. The oldest session ends when another one begins. */
export const sessionsMax = 100;

const tokenBytes = 32;
const tokenForm = /^[A-Za-z0-9_-]{43}$/;

/** 256 bits, as text that is valid in a cookie, a URL and a PKCE verifier. */
export const makeToken = (random: RandomBytes): string => Buffer.from(random(tokenBytes)).toString('base64url');

/** Whether a text has the form of a token. Texts without this form are not looked up. */
export const isToken = (text: string): boolean => tokenForm.test(text);

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** A value that our own pages know and other pages do not. It is derived, so nothing is stored. */
export const csrfOf = (token: string): string => createHash('sha256').update(`csrf ${token}`).digest('base64url');

/** Compares in constant time. */
export function isCsrfOf(token: string, said: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(said), digest(csrfOf(token)));
}
