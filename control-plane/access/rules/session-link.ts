// One-time links: the person who starts the control plane on a terminal opens the console with one, without a key. A link is
// valid for a minute and for one use. Only the hash of its token is kept, in memory.
//
// States of a link: open, and then used or expired. Both are final.
import { hashToken } from './session.ts';

const linkMs = 60_000;

export interface SessionLink {
  readonly hash: string;
  readonly expiresAt: number;
  readonly isUsed: boolean;
}

export type LinkUse = 'opened' | 'unknown' | 'used' | 'expired';

/** Returns a link for a token. `now`: in ms since 1970. */
export const linkOf = (token: string, now: number): SessionLink => ({ hash: hashToken(token), expiresAt: now + linkMs, isUsed: false });

/** Returns what a use of the link with this token does. The texts that are compared are hashes, so the time says nothing. */
export function useOf(link: SessionLink | null, token: string, now: number): LinkUse {
  if (link === null || link.hash !== hashToken(token)) return 'unknown';
  if (link.isUsed) return 'used';
  return now >= link.expiresAt ? 'expired' : 'opened';
}

export const usedLink = (link: SessionLink): SessionLink => ({ ...link, isUsed: true });
