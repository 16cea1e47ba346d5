// Defines when one outcome is at least as strict as another.
import type { LimitSeen, Outcome } from './world.ts';

const sameLimit = (a: LimitSeen, b: LimitSeen): boolean => a.layer === b.layer && a.part === b.part && a.path === b.path;

/** Returns why `strict` is looser than `loose`. Null when it is not. */
export function looserThan(strict: Outcome, loose: Outcome): string | null {
  const isAsked = (outcome: Outcome): boolean => outcome.code === 'approval_pending';
  if (strict.decision === 'deny' && !isAsked(strict)) return null;
  if (isAsked(strict)) {
    if (loose.decision === 'deny' && !isAsked(loose)) return `denied (${loose.code}) became asked for`;
    const gone = loose.asks.find((one) => !strict.asks.includes(one));
    if (gone !== undefined) return `${gone} asks no longer`;
    return loose.transform === 'redact' && strict.transform === 'log' ? 'redact became log' : null;
  }
  if (isAsked(loose)) return 'asked for became allowed';
  if (loose.decision === 'deny') return `denied (${loose.code}) became allowed`;
  if (loose.transform === 'redact' && strict.transform === 'log') return 'redact became log';
  for (const limit of loose.limits) {
    const now = strict.limits.filter((other) => sameLimit(other, limit));
    if (now.length === 0) return `the limit at ${limit.layer} ${limit.path} is gone`;
    if (now.every(({ max }) => max > limit.max)) return `the limit at ${limit.layer} ${limit.path} was raised`;
  }
  return null;
}
