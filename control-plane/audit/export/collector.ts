// A collector over OTLP/HTTP: sends one POST and interprets the answer. Redirects are not followed, because the headers
// would be sent along. Messages about failures contain nothing from the headers, from a body, or from the query of an
// address.
import { STATUS_CODES } from 'node:http';
import { Agent, type Dispatcher, request } from 'undici';
import type { ExportFailure } from '../rules/exported.ts';

export interface CollectorSettings {
  /** The URL to which logs are posted. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Timeout for a whole answer. */
  readonly answerMs: number;
}

type Answer =
  | { readonly kind: 'taken'; readonly rejected: number; readonly why: string }
  /** Smaller requests may be accepted. */
  | { readonly kind: 'too large' }
  | { readonly kind: 'failed'; readonly failure: ExportFailure };

export interface Collector {
  /** Rejects if it is aborted. */
  post(body: string, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

const answerBytesMax = 64 * 1024;
const connectMs = 10_000;
const wordsMax = 200;
/** Shorter texts are words such as `Basic`. */
const secretMin = 7;

/** `wallTime`: ms since 1970, for dates in answers of a collector. */
export function createCollector({ endpoint, headers, answerMs }: CollectorSettings, wallTime: () => number): Collector {
  const secrets = Object.values(headers)
    .flatMap((value) => [value, ...value.split(' ')])
    .filter(({ length }) => length >= secretMin);
  // A collector can repeat the headers in its answer.
  const withoutSecrets = (text: string): string => secrets.reduce((left, secret) => left.replaceAll(secret, '***'), text);
  const agent = new Agent({ connect: { timeout: Math.min(connectMs, answerMs) } });
  return {
    post: async (body, signal) => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), answerMs);
      const cut = (): void => late.abort();
      signal.addEventListener('abort', cut, { once: true });
      try {
        signal.throwIfAborted();
        const answer = await request(endpoint, {
          method: 'POST',
          dispatcher: agent,
          signal: late.signal,
          headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
          body,
        });
        const text = await textOf(answer.body);
        return answerFrom(answer, text === null ? null : withoutSecrets(text), wallTime);
      } catch (error) {
        signal.throwIfAborted();
        return { kind: 'failed', failure: failureFrom(error, late.signal.aborted ? answerMs : null) };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', cut);
      }
    },
    close: () => agent.destroy(),
  };
}

function failureFrom(error: unknown, lateMs: number | null): ExportFailure {
  const nothing = { words: '', retryAfterMs: null };
  if (lateMs !== null) return { kind: 'timeout', reason: `the collector did not answer within ${lateMs} ms`, ...nothing };
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no answer';
  return { kind: 'unreachable', reason: `the collector could not be reached (${code})`, ...nothing };
}

/** Null: the body is longer than the answer of a collector, and was not read to its end. */
async function textOf(body: Dispatcher.ResponseData['body']): Promise<string | null> {
  // If the body is abandoned before its end, no other listener receives its error.
  body.on('error', () => undefined);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > answerBytesMax) return null;
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString();
}

type CollectorAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>;

function answerFrom({ statusCode, headers }: CollectorAnswer, body: string | null, wallTime: () => number): Answer {
  const failed = (kind: ExportFailure['kind'], more = ''): Answer => ({
    kind: 'failed',
    failure: {
      kind,
      reason: `the collector answered ${statusCode} ${STATUS_CODES[statusCode] ?? ''}`.trim() + more,
      words: wordsIn(body ?? ''),
      retryAfterMs: kind === 'refused' ? null : retryAfterIn(headers['retry-after'], wallTime),
    },
  });
  if (statusCode >= 200 && statusCode < 300) {
    // Such an answer does not come from a collector but from another server, which has stored nothing.
    if (body === null) return failed('refused', `, with more than ${answerBytesMax / 1024} KiB; a collector does not answer like this`);
    const type = String(headers['content-type'] ?? '');
    return isForPeople(type, body)
      ? failed('refused', `, with ${type.slice(0, wordsMax)}; a collector does not answer like this`)
      : { kind: 'taken', ...partIn(body) };
  }
  if (statusCode === 413 || (statusCode === 400 && tooLarge.test(wordsIn(body ?? '')))) return { kind: 'too large' };
  if (statusCode === 429) return failed('throttled');
  return failed(statusCode >= 502 && statusCode <= 504 ? 'unavailable' : 'refused');
}

/** The message of the OpenTelemetry Collector for requests above its `max_request_body_size`, instead of 413. */
const tooLarge = /\brequest body too large\b/i;

/** A web page, or text such as `ok` of a health endpoint. */
const isForPeople = (type: string, body: string): boolean =>
  /^text\/html\b/i.test(type) || (/^text\//i.test(type) && body.trim() !== '' && parse(body) === null);

function partIn(body: string): { readonly rejected: number; readonly why: string } {
  const { partialSuccess } = parse(body) ?? {};
  const { rejectedLogRecords, errorMessage } = { ...Object(partialSuccess) };
  const rejected = Number(rejectedLogRecords ?? 0);
  return { rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0, why: shortened(errorMessage) };
}

const wordsIn = (body: string): string => shortened(parse(body)?.['message']);

const shortened = (value: unknown): string => (typeof value === 'string' ? value.replaceAll(/[^\x21-\x7e]+/g, ' ').slice(0, wordsMax) : '');

/** Null: the body is not JSON. */
function parse(body: string): Readonly<Record<string, unknown>> | null {
  try {
    return { ...Object(JSON.parse(body)) };
  } catch {
    return null;
  }
}

/** The header is a number of seconds, or a date. */
function retryAfterIn(header: string | string[] | undefined, wallTime: () => number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isFinite(at) ? Math.max(0, at - wallTime()) : null;
}
