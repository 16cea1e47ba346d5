// The question of `GET …/audit`, read from its query string, and the cursor that carries it from page to page.
import { parseInstant } from './instant.ts';
import type { Problem } from './policy.ts';
import type { Checked } from './refusal.ts';

/** The position of an entry in "newest first". */
export interface AuditPosition {
  readonly ts: Date;
  readonly spoolId: string;
  readonly sequence: number;
}

export interface AuditFilters {
  readonly tool?: string;
  readonly decision?: string;
  readonly agent?: string;
  readonly sub?: string;
  readonly session?: string;
}

export interface AuditQuery {
  readonly since: Date;
  readonly limit: number;
  readonly filters: AuditFilters;
  /** Only entries after this one, that is, older. */
  readonly after: AuditPosition | null;
}

const windowMs = 15 * 60_000;
const limits = { standard: 200, max: 1000 };
const filterNames = ['tool', 'decision', 'agent', 'sub', 'session'] as const;
const known: readonly string[] = ['since', 'limit', 'cursor', ...filterNames];

/** A number out of range is clamped; anything else that is wrong is a problem. */
export function parseAuditQuery(query: Readonly<Record<string, unknown>>, now: Date): Checked<AuditQuery> {
  const problems: Problem[] = [];
  const read = <T>(name: string, fallback: T, parse: (text: string) => T | null, message: string): T => {
    const raw = query[name];
    if (raw === undefined) return fallback;
    const value = typeof raw === 'string' ? parse(raw) : null;
    if (value === null) problems.push({ path: name, message });
    return value ?? fallback;
  };
  for (const name of Object.keys(query)) {
    if (!known.includes(name)) problems.push({ path: name.slice(0, 200), message: `is not a parameter; there are ${known.join(', ')}` });
  }
  const cursor = read<Cursor | null>('cursor', null, parseCursor, 'must be the `next` of an earlier answer');
  const since = read('since', cursor?.since ?? new Date(now.getTime() - windowMs), parseInstant, 'must be an ISO 8601 date-time');
  const limit = read('limit', limits.standard, parseLimit, 'must be an integer');
  const decision = read('decision', null, (text) => (text === 'allow' || text === 'deny' ? text : null), 'must be allow or deny');
  const filters: Record<string, string> = decision === null ? {} : { decision };
  for (const name of filterNames) {
    const value = name === 'decision' ? null : read(name, null, filterText, 'must be given once, as text without NUL');
    if (value !== null) filters[name] = value;
  }
  return problems.length > 0 ? { problems } : { value: { since, limit, filters, after: cursor?.position ?? null } };
}

// PostgreSQL takes no NUL.
const filterText = (text: string): string | null => (text.includes('\0') ? null : text);

export function parseLimit(text: string): number | null {
  if (!/^[+-]?\d+$/.test(text)) return null;
  return Math.min(Math.max(Number(text), 1), limits.max);
}

interface Cursor {
  readonly position: AuditPosition;
  /** The `since` of the first page, so that a default one does not move along with the clock. */
  readonly since: Date;
}

const cursorForm = /^(\d{1,16})\.([0-9a-f]{32})\.(\d{1,16})\.(-?\d{1,16})$/;

export const cursorOf = ({ ts, spoolId, sequence }: AuditPosition, since: Date): string =>
  Buffer.from(`${ts.getTime()}.${spoolId}.${sequence}.${since.getTime()}`).toString('base64url');

function parseCursor(text: string): Cursor | null {
  const [, ts, spoolId, sequence, since] = cursorForm.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  if (spoolId === undefined || !isDateNumber(ts) || !isDateNumber(since)) return null;
  return { position: { ts: new Date(Number(ts)), spoolId, sequence: Number(sequence) }, since: new Date(Number(since)) };
}

/** 8.64 × 10¹⁵ is the end of time for `Date`, and year 9999 for ISO 8601 and for us. */
const isDateNumber = (text: string | undefined): boolean => text !== undefined && Math.abs(Number(text)) <= Date.UTC(9999, 11, 31);
