// Sends a page of items in as many requests as the collector needs. Requests have a maximum size, and are halved if the
// collector reports that one is too large. A single record that is too large is sent without its payloads, and is
// marked.
import type { Deliver, ExportDelivery, ExportedItem, ExportedLog } from '../rules/exported.ts';
import type { Collector } from './collector.ts';
import { recordOf, requestOf } from './records.ts';

const recordsMax = 1_000;
const bytesMaxStandard = 4 * 1_048_576;
/** The maximum size of a request is never reduced below this limit. */
const bytesMaxLeast = 64 * 1024;

interface Part {
  readonly items: readonly ExportedItem[];
  readonly records: readonly string[];
}

/**
 * Creates the function that delivers pages. It remembers the request size that the collector accepts, for the lifetime
 * of this process.
 */
export function createDelivery(collector: Pick<Collector, 'post'>): Deliver {
  let bytesMax = bytesMaxStandard;

  const send = async (log: ExportedLog, part: Part, signal: AbortSignal): Promise<ExportDelivery> => {
    const body = requestOf(log, part.records);
    const answer = await collector.post(body, signal);
    if (answer.kind !== 'too large') return answer;
    const half = Math.ceil(part.items.length / 2);
    if (part.items.length === 1) return sendBriefly(collector, log, part.items, signal);
    bytesMax = Math.max(bytesMaxLeast, Math.min(bytesMax, Math.floor(Buffer.byteLength(body) / 2)));
    const halves = [0, half].map((from) => ({
      items: part.items.slice(from, from + half),
      records: part.records.slice(from, from + half),
    }));
    return sendAll(halves, (one) => send(log, one, signal));
  };

  return (log, items, signal) => sendAll(partsOf(log, items, bytesMax), (part) => send(log, part, signal));
}

async function sendBriefly(
  collector: Pick<Collector, 'post'>,
  log: ExportedLog,
  items: readonly ExportedItem[],
  signal: AbortSignal,
): Promise<ExportDelivery> {
  const records = items.map((item) => recordOf(log, item, true));
  const answer = await collector.post(requestOf(log, records), signal);
  if (answer.kind !== 'too large') return answer;
  const reason = 'the collector answered that a single record without its payloads is too large (413, or 400 with such a message)';
  return { kind: 'failed', failure: { kind: 'refused', reason, words: '', retryAfterMs: null } };
}

/** Sends one part after the other, until one fails. */
async function sendAll(parts: readonly Part[], send: (part: Part) => Promise<ExportDelivery>): Promise<ExportDelivery> {
  let rejected = 0;
  let why = '';
  for (const part of parts) {
    const delivered = await send(part);
    if (delivered.kind === 'failed') return delivered;
    rejected += Math.min(delivered.rejected, part.items.length);
    why ||= delivered.why;
  }
  return { kind: 'taken', rejected, why };
}

function partsOf(log: ExportedLog, items: readonly ExportedItem[], bytesMax: number): readonly Part[] {
  const parts: { items: ExportedItem[]; records: string[] }[] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const record = recordOf(log, item);
    const size = Buffer.byteLength(record);
    const last = parts.at(-1);
    if (last === undefined || bytes + size > bytesMax || last.records.length === recordsMax) {
      parts.push({ items: [item], records: [record] });
      bytes = size;
    } else {
      last.items.push(item);
      last.records.push(record);
      bytes += size;
    }
  }
  return parts;
}
