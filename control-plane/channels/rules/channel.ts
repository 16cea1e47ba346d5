// Defines a channel, which receives messages about approvals at an HTTPS address, and when a message is sent again. Pure.
import { isPublicAddress, isServerName, serverNameWords, serverUrlProblem } from '@tollgate/proto/contract';
import { isIP } from 'node:net';

export const channelBounds = {
  inWorkspace: 20,
  urlLength: 2_000,
  /** How long the secret before the present one can sign too, in seconds. */
  keepSeconds: 7 * 86_400,
  /** Messages about new approvals to one channel within `windowSeconds`. What is above becomes one digest. */
  askedInWindow: 5,
  windowSeconds: 600,
  /** How long a digest collects before it is sent, at least. At most one digest is sent within `windowSeconds`. */
  digestSeconds: 30,
  /** The number of approvals that a digest names. It counts all. */
  digestNames: 20,
  /** Attempts of one workspace at the same time, in all control planes. */
  attemptsAtOnce: 4,
  /** How long a message is kept after it was sent, or after the last attempt, in days. */
  keptDays: 30,
} as const;

export const keepSecondsDefault = 86_400;

export interface Channel {
  readonly name: string;
  readonly url: string;
  /** Receives messages about approvals whose rules name no channel. */
  readonly isDefault: boolean;
  readonly createdAt: Date;
  /** When its secret was made. */
  readonly secretAt: Date;
  /** Until then the secret before it signs too. Null: it does not. */
  readonly oldSecretUntil: Date | null;
}

/** Returns why the text cannot be the name of a channel. Null: it can. */
export const channelNameProblem = (name: string): string | null => (isServerName(name) ? null : serverNameWords);

/** Returns why messages cannot be sent to the URL. `allowPrivate`: plain HTTP and addresses that are not public are allowed. */
export function channelUrlProblem(url: string, allowPrivate: boolean): string | null {
  if (url.length > channelBounds.urlLength) return `must be at most ${channelBounds.urlLength} characters`;
  // What follows the semicolon is about tool servers.
  const problem = serverUrlProblem(url, allowPrivate)?.split(';', 1)[0] ?? null;
  if (problem !== null || allowPrivate) return problem;
  const host = new URL(url).hostname.replaceAll(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !isPublicAddress(host)
    ? 'must be at a public address; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow others'
    : null;
}

/** The delays after failed attempts, in seconds. After the last one, about a day, the message has failed. */
export const retrySeconds: readonly number[] = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800];

/** The longest delay that a receiver can ask for with `Retry-After`, in seconds. */
const askedDelayMax = 3_600;

/**
 * Returns the delay until the next attempt in seconds. Null: there is none. `attempts`: made so far. `askedMs`: what the
 * receiver asked for. `chance`: from 0 to 1, spreads the attempts of many messages.
 */
export function nextDelay(attempts: number, askedMs: number | null, chance: number): number | null {
  const delay = retrySeconds[attempts - 1];
  if (delay === undefined) return null;
  return Math.max(delay * (1 + chance / 5), Math.min((askedMs ?? 0) / 1_000, askedDelayMax));
}
