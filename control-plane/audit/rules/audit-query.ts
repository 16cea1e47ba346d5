// Parses the query strings of `GET …/audit`, of its stream and of its export, and the cursor that carries the query
// from page to page.

import { instantWords, isInstant, parseInstant } from '../../base/instant.ts';
import type { Checked, Problem } from '@tollgate/proto/shape';

/** The position of an entry in the order "newest first". */
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
  /** The code of the reason. */
  readonly reason?: string;
}

export interface AuditQuery {
  readonly since: Date;
  /** The end of the range, exclusive; null: no end. */
  readonly until: Date | null;
  readonly limit: number;
  readonly filters: AuditFilters;
  /** Only entries after this position, that is, older ones. */
  readonly after: AuditPosition | null;
}

/** The filters of the live stream, and where it continues. */
export interface TailQuery {
  readonly filters: AuditFilters;
  /** The last entry that the client has; null: only entries that arrive from now on. */
  readonly after: number | null;
}

export interface ExportQuery {
  /** The start of the range; null: everything that is kept. */
  readonly since: Date | null;
  /** The end of the range, exclusive; null: no end. */
  readonly until: Date | null;
  readonly filters: AuditFilters;
}

export type Parameters = Readonly<Record<string, unknown>>;

const windowMs = 15 * 60_000;
const limits = { standard: 200, max: 1000 };
const filterNames = ['tool', 'decision', 'agent', 'sub', 'session', 'reason'] as const;
export const lastEventIdWords = 'must be the id of an event of this stream';

/**
 * Parses the query of a page. A `limit` out of range is replaced by the nearest bound. Everything else that is wrong is
 * a problem.
 */
export function parseAuditQuery(query: Parameters, now: Date): Checked<AuditQuery> {
  const reader = createReader(query, ['since', 'until', 'limit', 'cursor', ...filterNames]);
  const cursor = reader.read('cursor', parseCursor, 'must be the `next` of an earlier answer');
  const since = reader.read('since', parseInstant, instantWords) ?? cursor?.since ?? new Date(now.getTime() - windowMs);
  const until = readUntil(reader, since);
  const limit = reader.read('limit', parseLimit, 'must be an integer') ?? limits.standard;
  return reader.checked({ since, until, limit, filters: readFilters(reader), after: cursor?.position ?? null });
}

/** `lastEventId`: the value of the header `Last-Event-ID`, as the client sent it. */
export function parseTailQuery(query: Parameters, lastEventId: unknown): Checked<TailQuery> {
  const reader = createReader(query, filterNames);
  const after = reader.readRaw('Last-Event-ID', lastEventId, parseIngest, lastEventIdWords);
  return reader.checked({ filters: readFilters(reader), after });
}

export function parseExportQuery(query: Parameters): Checked<ExportQuery> {
  const reader = createReader(query, ['since', 'until', ...filterNames]);
  const since = reader.read('since', parseInstant, instantWords);
  return reader.checked({ since, until: readUntil(reader, since), filters: readFilters(reader) });
}

function readUntil(reader: Reader, since: Date | null): Date | null {
  const until = reader.read('until', parseInstant, instantWords);
  if (since !== null && until !== null && until <= since) reader.note('until', 'must be after since');
  return until;
}

export interface Reader {
  /** Returns the parameter's value. Returns null if it is absent, or if it is wrong and a problem was recorded. */
  read<T>(name: string, parse: (text: string) => T | null, message: string): T | null;
  /** Like `read`, for a value `raw` that does not come from the query string. */
  readRaw<T>(name: string, raw: unknown, parse: (text: string) => T | null, message: string): T | null;
  note(name: string, message: string): void;
  checked<T>(value: T): Checked<T>;
}

/**
 * Creates a reader for an unparsed query. Each value is a text, or a list of texts if the name was repeated. An unknown
 * name is a problem.
 */
export function createReader(query: Parameters, known: readonly string[]): Reader {
  const problems: Problem[] = [];
  const note = (path: string, message: string): void => void problems.push({ path, message });
  for (const name of Object.keys(query)) {
    if (!known.includes(name)) note(name.slice(0, 200), `is not a parameter; the parameters are ${known.join(', ')}`);
  }
  const readRaw: Reader['readRaw'] = (name, raw, parse, message) => {
    if (raw === undefined) return null;
    const value = typeof raw === 'string' ? parse(raw) : null;
    if (value === null) note(name, typeof raw === 'string' ? message : 'must be given once');
    return value;
  };
  return {
    read: (name, parse, message) => readRaw(name, query[name], parse, message),
    readRaw,
    note,
    checked: (value) => (problems.length > 0 ? { problems } : { value }),
  };
}

function readFilters(reader: Reader): AuditFilters {
  const filters: Partial<Record<(typeof filterNames)[number], string>> = {};
  for (const name of filterNames) {
    const value =
      name === 'decision'
        ? reader.read(name, decisionOf, 'must be allow or deny')
        : reader.read(name, filterText, 'must be text without NUL');
    if (value !== null) filters[name] = value;
  }
  return filters;
}

export const decisionOf = (text: string): string | null => (text === 'allow' || text === 'deny' ? text : null);

// PostgreSQL does not accept NUL.
export const filterText = (text: string): string | null => (text.includes('\0') ? null : text);

export function parseLimit(text: string): number | null {
  if (!/^[+-]?\d+$/.test(text)) return null;
  return Math.min(Math.max(Number(text), 1), limits.max);
}

/** Parses a number of the ingest sequence. 0 is before the first entry. */
const parseIngest = (text: string): number | null => (/^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : null);

interface Cursor {
  readonly position: AuditPosition;
  /**
   * The `since` of the first page. The cursor contains it, so that a default value does not change with the clock from
   * page to page.
   */
  readonly since: Date;
}

const cursorForm = /^(-?\d{1,16})\.([0-9a-f]{32})\.(\d{1,16})\.(-?\d{1,16})$/;

export const cursorOf = ({ ts, spoolId, sequence }: AuditPosition, since: Date): string =>
  Buffer.from(`${ts.getTime()}.${spoolId}.${sequence}.${since.getTime()}`).toString('base64url');

function parseCursor(text: string): Cursor | null {
  const [, ts, spoolId, sequence, since] = cursorForm.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  if (spoolId === undefined || !isDateNumber(ts) || !isDateNumber(since)) return null;
  return { position: { ts: new Date(Number(ts)), spoolId, sequence: Number(sequence) }, since: new Date(Number(since)) };
}

const isDateNumber = (text: string | undefined): boolean => text !== undefined && isInstant(Number(text));
