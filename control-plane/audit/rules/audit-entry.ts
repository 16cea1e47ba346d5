// Converts a record that a sidecar ships into an entry. Every record becomes an entry that can be stored. Wrong parts
// are repaired and named in `mended`, so that one bad record never blocks its batch. Pure.
import { isUtf8 } from 'node:buffer';
import { bounds, tiers } from '@tollgate/proto/contract';
import { canonicalOf, digestOf, writeTwice } from '@tollgate/proto/chain';
import { cleanJson, cleanText, depthMax, isCleanText } from '../../base/clean-json.ts';
import { isObject } from '@tollgate/proto/shape';

/** An entry as it is stored: searchable values in separate fields, all others in `rest`. */
export interface StoredEntry {
  /** ISO 8601 with milliseconds, UTC. */
  readonly ts: string;
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly agentName: string;
  readonly sub: string;
  readonly sessionId: string;
  /** JSON text of an object, without NUL and unpaired surrogates. */
  readonly rest: string;
  /** The parsed fields of the entry. Those that are not in `rest` are not necessarily valid here. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The digest of the whole entry, in the form in which answers show the entry. */
  readonly digest: string;
}

/** The values that the control plane adds to a record. */
export interface Arrival {
  /** The number of the record in the log. */
  readonly ingest: number;
  readonly receivedAt: string;
  readonly id: string;
  /** The key with which the record's spool was begun; null: unknown. */
  readonly recordedBy: string | null;
  /** The key that delivered the record. */
  readonly deliveredBy: string;
  /** The only subject that the record can name; null: any. */
  readonly onlySub: string | null;
}

/** The maximum number of characters of a text in a separate field. An index accepts at most 2,700 bytes. */
const textMax = 512;
/**
 * The maximum age of an entry. If its time is older, the sidecar's clock was never set: no sidecar is away for so long.
 */
const entryPastMs = 366 * 24 * 3_600_000;
const rawMax = 4096;

const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

type Fields = Map<string, unknown>;

/**
 * Fields whose type the API guarantees: the name, the check, and the value that replaces a wrong value. `repairedEntry`
 * repairs the separate fields of `StoredEntry`.
 */
const promised: readonly (readonly [string, (value: unknown) => boolean, unknown])[] = [
  ['hookEvent', (value) => value === 'PreToolUse' || value === 'PostToolUse', 'PreToolUse'],
  ['decisionReason', (value) => typeof value === 'string', ''],
  ['agentTier', (value) => (tiers as readonly unknown[]).includes(value), 'api'],
  ['userEmail', (value) => typeof value === 'string', ''],
  ['requestId', (value) => typeof value === 'string', ''],
  ['client', (value) => isObject(value) && typeof value['name'] === 'string', { name: '' }],
  ['depth', Number.isInteger, 0],
];

/** Fields that an entry may lack: the name and the check. A wrong value is removed. */
const optional: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ['undecided', isUndecidedList],
  ['peerUid', (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 32],
];

/**
 * The bounds of the undecided cases of an entry. A sidecar names 16 cases at most. Names of documents and paths have the
 * length of names in policy, and a sidecar cuts the part of a condition at 100 characters.
 */
const undecidedMax = { cases: 16, document: 1_024, path: 1_024, reason: 32, at: 256, bytes: 32 * 1_024 } as const;

function isUndecidedList(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > undecidedMax.cases) return false;
  const areCases = value.every(
    (one) =>
      isObject(one) &&
      (['document', 'path', 'reason', 'at'] as const).every((key) => isTextUpTo(one[key], undecidedMax[key])) &&
      // A later version may name more, in texts.
      Object.values(one).every((text) => isTextUpTo(text, undecidedMax.path)),
  );
  return areCases && Buffer.byteLength(JSON.stringify(value)) <= undecidedMax.bytes;
}

const isTextUpTo = (value: unknown, max: number): boolean => typeof value === 'string' && value.length <= max;

/** Fields that only the control plane sets, never a sidecar. */
const ours = ['id', 'receivedAt', 'mended', 'recordedBy', 'deliveredBy', 'subClaimed'] as const;
/** Fields that are not in `rest`. */
const apart = new Set(['id', 'receivedAt', 'ts', 'tool', 'decision', 'agentName', 'sub', 'sessionId']);

/** A record, parsed only as far as is needed to know the day of its entry. */
export interface OpenedRecord {
  readonly text: string;
  /** False: the record contains bytes that are not valid UTF-8. They are replaced by U+FFFD in `text`. */
  readonly isUtf8: boolean;
  /** Undefined: the text is not JSON. */
  readonly value: unknown;
  /** The time of the entry. An impossible time is replaced by the time of arrival. */
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
  soundEntry(opened, arrival) ?? repairedEntry(opened, arrival);

/** Converts an entry that needs no repair, which is nearly every entry, with minimal work. Null for any other entry. */
function soundEntry({ text, isUtf8, value, time, isTimeRight }: OpenedRecord, arrival: Arrival): StoredEntry | null {
  const { ingest, id, receivedAt, recordedBy, deliveredBy, onlySub } = arrival;
  if (!isUtf8 || !isTimeRight || !isObject(value) || !isCleanText(text)) return null;
  const { tool, decision, agentName, sub, sessionId } = value;
  if (!isShortText(tool) || !isDecision(decision)) return null;
  if (!isShortText(agentName) || !isShortText(sub) || !isShortText(sessionId)) return null;
  if (onlySub !== null && !speaksFor(onlySub, sub, value['originSub'])) return null;
  for (const key of ours) if (Object.hasOwn(value, key)) return null;
  for (const [key, holds] of promised) if (!holds(value[key])) return null;
  for (const [key, holds] of optional) if (Object.hasOwn(value, key) && !holds(value[key])) return null;
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
  return { ts, tool, decision, agentName, sub, sessionId, rest: written.kept, fields: value, digest: digestOf(ingest, written.all) };
}

function repairedEntry({ text, isUtf8, value, time, isTimeRight }: OpenedRecord, arrival: Arrival): StoredEntry {
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
  for (const [key, holds] of optional) {
    if (!fields.has(key) || holds(fields.get(key))) continue;
    fields.delete(key);
    mended.add(key);
  }
  const rest = restOf(fields, mended, { recordedBy, deliveredBy });
  const shown = { ...Object(JSON.parse(rest)), ...taken, id, receivedAt };
  return { ...taken, rest, fields: shown, digest: digestOf(ingest, canonicalOf(shown) ?? '') };
}

/** Returns the entry's own fields. If the record is not an entry, returns what could be read of it. */
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

/** Returns null for an impossible time. */
function timeOf(value: unknown, now: Date): Date | null {
  const time = typeof value === 'string' && isTime.test(value) ? Date.parse(value) : Number.NaN;
  return time >= now.getTime() - entryPastMs && time <= now.getTime() + bounds.auditFutureMs ? new Date(time) : null;
}

function takeText(fields: Fields, key: string, mended: Set<string>): string {
  const value = fields.get(key);
  fields.delete(key);
  if (isShortText(value)) return value;
  mended.add(key);
  // The cut can split a surrogate pair. In this case, its first half is removed.
  return typeof value === 'string' ? value.slice(0, textMax).replace(/\p{Cs}$/u, '') : '';
}

/** For a delegated call, the subject is an agent, and `originSub` names for whom it acts. */
const isAgent = (sub: string): boolean => sub.startsWith('agent:');

const speaksFor = (onlySub: string, sub: string, originSub: unknown): boolean =>
  originSub === undefined ? sub === onlySub : originSub === onlySub && (sub === onlySub || isAgent(sub));

/**
 * Returns the subject of the entry. A subject that the spool's key must not name is replaced, and kept in `subClaimed`.
 */
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

/** Marks the time as repaired, and keeps the impossible time in `tsClaimed`. */
function markTime(fields: Fields, mended: Set<string>): void {
  mended.add('ts');
  const claimed = fields.get('ts');
  if (typeof claimed === 'string') fields.set('tsClaimed', claimed.slice(0, 64).replace(/\p{Cs}$/u, ''));
}

/**
 * Returns the JSON of the remaining fields. If it is too large, first the input is removed, and then everything except
 * the fields that the API guarantees.
 */
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

// No UTF-16 code unit needs more than three bytes in UTF-8, so the bytes of a short text need not be counted.
const fitsEntry = (text: string): boolean =>
  (text.length * 3 <= bounds.auditEntryBytes || Buffer.byteLength(text) <= bounds.auditEntryBytes) && digitsIn(text) <= digitsMax;

/** The maximum number of digits: four times the maximum size of an entry. Numbers of real data never reach it. */
const digitsMax = 4 * bounds.auditEntryBytes;

/** Counts digits in expanded form: PostgreSQL stores 1e+308 in a few bytes, and returns it with all its zeros. */
function digitsIn(text: string): number {
  // A number of 324 digits needs at least seven characters, so there are fewer than 50 digits for each character of the
  // text. If the text is short, its digits need therefore not be counted.
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
