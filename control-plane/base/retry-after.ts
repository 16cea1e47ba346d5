// Reads the header `Retry-After`, with which servers that we call ask for a pause.

/** Returns the time to wait, in ms. The header is a number of seconds, or a date. Null: there is no valid header. `now`: in ms since 1970. */
export function retryAfterMs(header: unknown, now: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isFinite(at) ? Math.max(0, at - now) : null;
}
