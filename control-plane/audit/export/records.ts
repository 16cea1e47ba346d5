// Converts items of an audit log to log records of OTLP, in the JSON encoding of the protocol: 64-bit integers as text,
// trace ids in hex. The body of an entry is its canonical JSON, from which its digest was computed. The records of a
// log are therefore sufficient to verify its chain. They contain only what the audit log contains. Pure.
import { hash } from 'node:crypto';
import { canonicalGap, canonicalOf } from '@tollgate/proto/chain';
import type { ExportedItem, ExportedLog } from '../rules/exported.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Names and numbers that OTLP defines. */
const severities = { info: [9, 'INFO'], warn: [13, 'WARN'], error: [17, 'ERROR'] } as const;

interface RecordContent {
  readonly at: string;
  readonly observedAt: string;
  readonly severity: keyof typeof severities;
  readonly eventName: string;
  readonly uid: string;
  readonly body: string;
  readonly attributes: Attributes;
  readonly trace?: Fields;
}

/**
 * Returns the log record of an item. `isBrief`: without large parts, for a collector that does not accept the full
 * record.
 */
export function recordOf(log: ExportedLog, item: ExportedItem, isBrief = false): string {
  const shown = shownOf(log, item, isBrief);
  const [number, text] = severities[shown.severity];
  const attributes = { 'log.record.uid': shown.uid, 'tollgate.workspace': log.workspace, ...shown.attributes, ...placeOf(log, item) };
  return (
    `{"timeUnixNano":"${nanosOf(shown.at)}","observedTimeUnixNano":"${nanosOf(shown.observedAt)}",` +
    `"severityNumber":${number},"severityText":"${text}","eventName":"${shown.eventName}",` +
    `"body":{"stringValue":${JSON.stringify(shown.body)}},"attributes":${attributesText(attributes)}${traceText(shown.trace ?? {})}}`
  );
}

/** Returns the body of a request with these records. */
export function requestOf(log: ExportedLog, records: readonly string[]): string {
  const resource = attributesText({ 'service.name': 'tollgate-audit', 'tollgate.workspace': log.workspace });
  return (
    `{"resourceLogs":[{"resource":{"attributes":${resource}},` +
    `"scopeLogs":[{"scope":{"name":"tollgate.audit"},"logRecords":[${records.join(',')}]}]}]}`
  );
}

function shownOf(log: ExportedLog, item: ExportedItem, isBrief: boolean): RecordContent {
  // A restored log can have another item at the same position, so the position alone does not identify an item.
  const uid = `${log.origin}/${item.position}/${item.kind === 'missing' ? item.first : item.digest.slice(0, 16)}`;
  switch (item.kind) {
    case 'entry':
      return shownEntry(item, isBrief);
    case 'gap': {
      const { gap } = item;
      const attributes = {
        'tollgate.gap.spool': gap.spoolId,
        'tollgate.gap.first': gap.firstSequence,
        'tollgate.gap.last': gap.lastSequence,
        'tollgate.gap.reason': gap.reason,
      };
      const at = gap.receivedAt;
      return { at, observedAt: at, severity: 'error', eventName: 'tollgate.audit.gap', uid, body: canonicalGap(gap), attributes };
    }
    case 'retired': {
      const body = 'an entry that went out of retention before it could be exported';
      return { at: item.ts, observedAt: item.ts, severity: 'error', eventName: 'tollgate.audit.retired', uid, body, attributes: {} };
    }
    case 'missing': {
      const body = `items ${item.first} to ${item.position} were no longer in the database when they were to be exported`;
      const attributes = { 'tollgate.missing.first': item.first, 'tollgate.missing.last': item.position };
      const at = item.noticedAt;
      return { at, observedAt: at, severity: 'error', eventName: 'tollgate.audit.missing', uid, body, attributes };
    }
  }
}

type Entry = Extract<ExportedItem, { kind: 'entry' }>;

/**
 * Maximum length of a text in the attributes; the full text is in the body. The cut can split a surrogate pair, and
 * then the remaining half is removed.
 */
const textMax = 512;
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, textMax).replace(/\p{Cs}$/u, '') : undefined;
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? { ...value } : {});

/**
 * Returns the record of an entry. Attributes have the names of OpenTelemetry where these exist, and our own names
 * otherwise.
 */
function shownEntry({ ts, entry }: Entry, isBrief: boolean): RecordContent {
  const rule = fieldsOf(entry['rule']);
  const outcome = fieldsOf(entry['outcome']);
  const id = String(entry['id']);
  const isAfter = entry['hookEvent'] === 'PostToolUse';
  return {
    at: ts,
    observedAt: String(entry['receivedAt']),
    severity: entry['decision'] === 'allow' ? 'info' : 'warn',
    eventName: isAfter ? 'tollgate.audit.outcome' : 'tollgate.audit.decision',
    uid: id,
    body: canonicalOf(isBrief ? briefly(entry) : entry) ?? '',
    attributes: {
      'tollgate.entry.id': id,
      'tollgate.decision': text(entry['decision']),
      'tollgate.code': text(entry['code']),
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': text(entry['tool']),
      'gen_ai.agent.name': text(entry['agentName']),
      'gen_ai.agent.id': text(entry['agentId']),
      'gen_ai.conversation.id': text(entry['sessionId']),
      'user.id': text(entry['sub']),
      'tollgate.request_id': text(entry['requestId']),
      'tollgate.agent.tier': text(entry['agentTier']),
      'tollgate.role': text(entry['role']),
      'tollgate.layer': text(rule['layer']),
      'tollgate.rule': text(rule['path']),
      'tollgate.epoch': text(entry['epoch']),
      'tollgate.revision': number(entry['revision']),
      'tollgate.undecided': Array.isArray(entry['undecided']) ? entry['undecided'].length : undefined,
      'tollgate.input.digest': text(entry['inputDigest']),
      'tollgate.outcome.is_error': typeof outcome['isError'] === 'boolean' ? outcome['isError'] : undefined,
      'tollgate.outcome.duration_ms': number(outcome['durationMs']),
      'tollgate.entry.brief': isBrief ? true : undefined,
    },
    trace: entry,
  };
}

/**
 * Limits of a brief record. Longer values are replaced by their digest. The number of fields and the length of their
 * keys are limited, because sidecars can send unknown fields.
 */
const brief = { valueMax: 600, keyMax: 64, fieldsMax: 100 };
const payloads = new Set(['input', 'output', 'raw']);

/** Replaces each payload, and each other long value, by the digest of its canonical JSON. */
const briefly = (entry: Fields): Fields =>
  Object.fromEntries(
    Object.entries(entry)
      .filter(([key]) => key.length <= brief.keyMax)
      .slice(-brief.fieldsMax)
      .map(([key, value]) => {
        const canonical = canonicalOf(value) ?? '';
        const isLong = payloads.has(key) || canonical.length > brief.valueMax;
        return [key, isLong ? `sha256:${hash('sha256', canonical, 'hex')}` : value];
      }),
  );

const placeOf = ({ origin }: ExportedLog, item: ExportedItem): Attributes => ({
  'tollgate.chain.origin': origin,
  'tollgate.chain.position': item.position,
  'tollgate.chain.digest': item.kind === 'missing' || item.digest === '' ? undefined : item.digest,
  'tollgate.chain.value': item.chain,
});

// Encodes parts of a record in the JSON encoding of OTLP. Pure.

/** Null and undefined values are left out. */
type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

function attributesText(attributes: Attributes): string {
  const shown = Object.entries(attributes).flatMap(([key, value]) => {
    const written = value === undefined || value === null ? null : valueText(value);
    return written === null ? [] : [`{"key":"${key}","value":${written}}`];
  });
  return `[${shown.join(',')}]`;
}

function valueText(value: string | number | boolean): string | null {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`;
  return Number.isFinite(value) ? `{"doubleValue":${value}}` : null;
}

const nanosOf = (instant: string): string => {
  const ms = Date.parse(instant);
  return Number.isFinite(ms) && ms > 0 ? `${ms}000000` : '0';
};

/** Returns the trace of the call as JSON; empty if the entry contains no trace. */
function traceText({ traceId, spanId }: Readonly<Record<string, unknown>>): string {
  const isId = (value: unknown, digits: number): value is string =>
    typeof value === 'string' && value.length === digits && /^[0-9a-f]+$/.test(value) && !/^0+$/.test(value);
  if (!isId(traceId, 32)) return '';
  return `,"traceId":"${traceId}"${isId(spanId, 16) ? `,"spanId":"${spanId}"` : ''}`;
}
