// What becomes of a record that a sidecar ships. Every record becomes an entry that the store can take: what is wrong
// with it is mended and named in `mended`, so that one bad record never holds up its batch. Pure.
import { isUtf8 } from 'node:buffer';
import { bounds, tiers } from '@tollgate/proto/contract';
import { canonicalOf, writeTwice } from '../../chain/canonical.ts';
import { digestOf } from '../../chain/link.ts';
import { cleanJson, cleanText, depthMax, isCleanText } from '../clean-json.ts';
import { isObject } from '../shape.ts';

/** An entry as the store keeps it: what is queried in fields of its own, all else in `rest`. */
export interface StoredEntry {
  /** ISO 8601 with milliseconds, UTC. */
  readonly ts: string;
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly agentName: string;
  readonly sub: string;
  readonly sessionId: string;
  /** JSON text of an object, free of NUL and unpaired surrogates. */
  readonly rest: string;
  /** Of the whole entry, as every answer shows it. */
  readonly digest: string;
}

/** What we say of a record. */
export interface Arrival {
  /** Its place in the log. */
  readonly ingest: number;
  readonly receivedAt: string;
  readonly id: string;
  /** The key that its spool was begun with; null: not known. */
  readonly recordedBy: string | null;
  /** The key that it came with. */
  readonly deliveredBy: string;
  /** The only subject that it may name; null: any. */
  readonly onlySub: string | null;
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
const ours = ['id', 'receivedAt', 'mended', 'recordedBy', 'deliveredBy', 'subClaimed'] as const;
/** What is not in `rest`. */
const apart = new Set(['id', 'receivedAt', 'ts', 'tool', 'decision', 'agentName', 'sub', 'sessionId']);

/** A record as far as it takes to know on which day its entry lies. */
export interface OpenedRecord {
  readonly text: string;
  /** What of the bytes was no UTF-8 is U+FFFD in the text. */
  readonly isUtf8: boolean;
  /** Undefined: it is no JSON. */
  readonly value: unknown;
  /** A time that cannot be right is the time of arrival. */
  readonly time: Date;
  readonly isTimeRight: boolean;
}

export function openRecord(bytes: Uint8Array, now: Date): OpenedRecord {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const value = parse(text);
  const time = isObject(value) ? timeOf(value['ts'], now) : null;
  return { text, isUtf8: isUtf8(bytes), value, time: time ?? now, isTimeRight: time !== null };
}

export const entryFromRecord = (opened: OpenedRecord, arrival: Arrival): StoredEntry =>
  soundEntry(opened, arrival) ?? mendedEntry(opened, arrival);

/** An entry that needs no mending, as nearly all are, with as little work as that takes; null for any other. */
function soundEntry({ text, isUtf8, value, time, isTimeRight }: OpenedRecord, arrival: Arrival): StoredEntry | null {
  const { ingest, id, receivedAt, recordedBy, deliveredBy, onlySub } = arrival;
  if (!isUtf8 || !isTimeRight || !isObject(value) || !isCleanText(text)) return null;
  const { tool, decision, agentName, sub, sessionId } = value;
  if (!isShortText(tool) || !isDecision(decision)) return null;
  if (!isShortText(agentName) || !isShortText(sub) || !isShortText(sessionId)) return null;
  if (onlySub !== null && !speaksFor(onlySub, sub, value['originSub'])) return null;
  for (const key of ours) if (Object.hasOwn(value, key)) return null;
  for (const [key, holds] of promised) if (!holds(value[key])) return null;
  const ts = time.toISOString();
  const stated = new Map([
    ['id', `"${id}"`],
    ['receivedAt', `"${receivedAt}"`],
    ['ts', `"${ts}"`],
    ['recordedBy', JSON.stringify(recordedBy)],
    ['deliveredBy', JSON.stringify(deliveredBy)],
  ]);
  const written = writeTwice(value, { stated, apart }, depthMax);
  if (written === null || !fitsEntry(written.kept)) return null;
  return { ts, tool, decision, agentName, sub, sessionId, rest: written.kept, digest: digestOf(ingest, written.all) };
}

function mendedEntry({ text, isUtf8, value, time, isTimeRight }: OpenedRecord, arrival: Arrival): StoredEntry {
  const { ingest, id, receivedAt, recordedBy, deliveredBy, onlySub } = arrival;
  const mended = new Set<string>(isUtf8 ? [] : ['utf8']);
  const fields = fieldsOf(text, value, mended);
  for (const key of ours) fields.delete(key);
  if (!isTimeRight) markTime(fields, mended);
  fields.delete('ts');
  const taken = {
    ts: time.toISOString(),
    tool: takeText(fields, 'tool', mended),
    decision: takeDecision(fields, mended),
    agentName: takeText(fields, 'agentName', mended),
    sub: boundSub(fields, onlySub, mended),
    sessionId: takeText(fields, 'sessionId', mended),
  };
  for (const [key, holds, fallback] of promised) {
    if (holds(fields.get(key))) continue;
    fields.set(key, fallback);
    mended.add(key);
  }
  const rest = restOf(fields, mended, { recordedBy, deliveredBy });
  const shown = { ...Object(JSON.parse(rest)), ...taken, id, receivedAt };
  return { ...taken, rest, digest: digestOf(ingest, canonicalOf(shown) ?? '') };
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

/** Of a call that was handed on, the subject is an agent, and who it is for stands beside it. */
const isAgent = (sub: string): boolean => sub.startsWith('agent:');

const speaksFor = (onlySub: string, sub: string, originSub: unknown): boolean =>
  originSub === undefined ? sub === onlySub : originSub === onlySub && (sub === onlySub || isAgent(sub));

/** Whom the spool's key may not name stays readable as `subClaimed`. */
function boundSub(fields: Fields, onlySub: string | null, mended: Set<string>): string {
  const sub = takeText(fields, 'sub', mended);
  const origin = fields.get('originSub');
  if (onlySub === null || speaksFor(onlySub, sub, origin)) return sub;
  mended.add('sub');
  fields.set('subClaimed', typeof origin === 'string' ? origin.slice(0, textMax).replace(/\p{Cs}$/u, '') : sub);
  if (origin !== undefined) fields.set('originSub', onlySub);
  return origin !== undefined && isAgent(sub) ? sub : onlySub;
}

function takeDecision(fields: Fields, mended: Set<string>): 'allow' | 'deny' {
  const value = fields.get('decision');
  fields.delete('decision');
  if (isDecision(value)) return value;
  mended.add('decision');
  return 'deny';
}

/** A time that cannot be right stays readable as `tsClaimed`. */
function markTime(fields: Fields, mended: Set<string>): void {
  mended.add('ts');
  const claimed = fields.get('ts');
  if (typeof claimed === 'string') fields.set('tsClaimed', claimed.slice(0, 64).replace(/\p{Cs}$/u, ''));
}

/** JSON of what is left. Too large: without the input, then without everything that the API makes no promise of. */
function restOf(fields: Fields, mended: Set<string>, keys: Pick<Arrival, 'recordedBy' | 'deliveredBy'>): string {
  const write = (): string =>
    JSON.stringify({ ...Object.fromEntries(fields), ...keys, ...(mended.size > 0 ? { mended: [...mended].sort() } : {}) });
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
const fitsEntry = (text: string): boolean =>
  (text.length * 3 <= bounds.auditEntryBytes || Buffer.byteLength(text) <= bounds.auditEntryBytes) && digitsIn(text) <= digitsMax;

/** Four times what an entry may be, which no numbers of real data reach. */
const digitsMax = 4 * bounds.auditEntryBytes;

/** PostgreSQL keeps 1e+308 in a few bytes, and gives it back with all its zeros. */
function digitsIn(text: string): number {
  // 324 digits take seven characters at least.
  if (text.length * 50 <= digitsMax) return 0;
  let digits = 0;
  for (const [, exponent] of text.matchAll(/\de[+-](\d{1,3})/g)) digits += Number(exponent);
  return digits;
}

function shorten(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, textMax).replace(/\p{Cs}$/u, '');
  if (isObject(value)) return { name: shorten(value['name']) };
  return value;
}
