// What becomes of a record that a sidecar ships. Every record becomes an entry that the store can take: what is wrong
// with it is mended and named in `mended`, so that one bad record never holds up its batch. Pure.
import { bounds, tiers } from '@tollgate/proto/contract';
import { cleanJson, cleanText, isClean } from '../clean-json.ts';
import { isObject } from '../shape.ts';

/** An entry as the store keeps it: what is queried in fields of its own, all else in `rest`. */
export interface StoredEntry {
  readonly ts: Date;
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly agentName: string;
  readonly sub: string;
  readonly sessionId: string;
  /** JSON text of an object, free of NUL and unpaired surrogates. */
  readonly rest: string;
}

/** Longest text in a field of its own; an index takes no more than 2,700 bytes. */
const textMax = 512;
/** Older than this is a clock that was never set, not a sidecar that was away. */
const entryPastMs = 366 * 24 * 3_600_000;
const rawMax = 4096;

const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

type Fields = Map<string, unknown>;

/** Fields that the API promises a type for, with what stands in where it is wrong. Those of `StoredEntry` see below. */
const promised: readonly (readonly [string, (value: unknown) => boolean, unknown])[] = [
  ['hookEvent', (value) => value === 'PreToolUse' || value === 'PostToolUse', 'PreToolUse'],
  ['decisionReason', (value) => typeof value === 'string', ''],
  ['agentTier', (value) => (tiers as readonly unknown[]).includes(value), 'api'],
  ['userEmail', (value) => typeof value === 'string', ''],
  ['requestId', (value) => typeof value === 'string', ''],
  ['client', (value) => isObject(value) && typeof value['name'] === 'string', { name: '' }],
  ['depth', Number.isInteger, 0],
];

/** Ours to say, not a sidecar's. */
const ours = ['id', 'receivedAt', 'mended'] as const;

export function entryFromRecord(bytes: Uint8Array, now: Date): StoredEntry {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const value = parse(text);
  return soundEntry(text, value, now) ?? mendedEntry(text, value, now);
}

/** An entry that needs no mending, as nearly all are, with as little work as that takes; null for any other. */
function soundEntry(text: string, value: unknown, now: Date): StoredEntry | null {
  if (!isObject(value) || !isClean(text, value)) return null;
  const { ts: stamp, tool, decision, agentName, sub, sessionId, ...others } = value;
  const ts = timeOf(stamp, now);
  if (ts === null || !isShortText(tool) || !isDecision(decision) || !isShortText(agentName) || !isShortText(sub) || !isShortText(sessionId))
    return null;
  if (ours.some((key) => Object.hasOwn(others, key)) || !promised.every(([key, holds]) => holds(others[key]))) return null;
  const rest = JSON.stringify(others);
  return fitsEntry(rest) ? { ts, tool, decision, agentName, sub, sessionId, rest } : null;
}

function mendedEntry(text: string, value: unknown, now: Date): StoredEntry {
  const mended = new Set<string>();
  const fields = fieldsOf(text, value, mended);
  for (const key of ours) fields.delete(key);
  const taken = {
    ts: takeTime(fields, now, mended),
    tool: takeText(fields, 'tool', mended),
    decision: takeDecision(fields, mended),
    agentName: takeText(fields, 'agentName', mended),
    sub: takeText(fields, 'sub', mended),
    sessionId: takeText(fields, 'sessionId', mended),
  };
  for (const [key, holds, fallback] of promised) {
    if (holds(fields.get(key))) continue;
    fields.set(key, fallback);
    mended.add(key);
  }
  return { ...taken, rest: restOf(fields, mended) };
}

/** The entry's own fields; of what is no entry, what could be read of it. */
function fieldsOf(text: string, value: unknown, mended: Set<string>): Fields {
  const clean = cleanJson(value, mended);
  if (isObject(clean)) return new Map(Object.entries(clean));
  mended.add('json');
  const raw = cleanText(text.slice(0, rawMax), new Set());
  return new Map<string, unknown>([
    ['decisionReason', 'internal_error: the record held no entry that can be read'],
    ['code', 'internal_error'],
    ['raw', raw],
  ]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isShortText = (value: unknown): value is string => typeof value === 'string' && value.length <= textMax;
const isDecision = (value: unknown): value is 'allow' | 'deny' => value === 'allow' || value === 'deny';

/** Null for a time that cannot be right. */
function timeOf(value: unknown, now: Date): Date | null {
  const time = typeof value === 'string' && isTime.test(value) ? Date.parse(value) : Number.NaN;
  return time >= now.getTime() - entryPastMs && time <= now.getTime() + bounds.auditFutureMs ? new Date(time) : null;
}

function takeText(fields: Fields, key: string, mended: Set<string>): string {
  const value = fields.get(key);
  fields.delete(key);
  if (isShortText(value)) return value;
  mended.add(key);
  // A cut may fall between the two halves of a character.
  return typeof value === 'string' ? value.slice(0, textMax).replace(/\p{Cs}$/u, '') : '';
}

function takeDecision(fields: Fields, mended: Set<string>): 'allow' | 'deny' {
  const value = fields.get('decision');
  fields.delete('decision');
  if (isDecision(value)) return value;
  mended.add('decision');
  return 'deny';
}

/** A time that cannot be right becomes the time of arrival, and stays readable as `tsClaimed`. */
function takeTime(fields: Fields, now: Date, mended: Set<string>): Date {
  const value = fields.get('ts');
  fields.delete('ts');
  const time = timeOf(value, now);
  if (time !== null) return time;
  mended.add('ts');
  if (typeof value === 'string') fields.set('tsClaimed', value.slice(0, 64).replace(/\p{Cs}$/u, ''));
  return now;
}

/** JSON of what is left. Too large: without the input, then without everything that the API makes no promise of. */
function restOf(fields: Fields, mended: Set<string>): string {
  const write = (): string => JSON.stringify({ ...Object.fromEntries(fields), ...(mended.size > 0 ? { mended: [...mended].sort() } : {}) });
  const whole = write();
  if (fitsEntry(whole)) return whole;
  mended.add('oversize');
  if (fields.delete('input')) fields.set('inputCut', true);
  const withoutInput = write();
  if (fitsEntry(withoutInput)) return withoutInput;
  const kept = promised.map(([key]) => [key, shorten(fields.get(key))] as const);
  fields.clear();
  for (const [key, value] of kept) fields.set(key, value);
  return write();
}

// No character takes more than three bytes.
const fitsEntry = (text: string): boolean => text.length * 3 <= bounds.auditEntryBytes || Buffer.byteLength(text) <= bounds.auditEntryBytes;

function shorten(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, textMax).replace(/\p{Cs}$/u, '');
  if (isObject(value)) return { name: shorten(value['name']) };
  return value;
}
