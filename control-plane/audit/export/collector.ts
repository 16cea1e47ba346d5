// Sends logs to a collector over OTLP/HTTP: sends one POST and interprets the answer. Redirects are not followed,
// because the headers would be sent to the new address too. The `reason` of a failure contains nothing from our
// headers, from a body, or from the query of an address. `words` contains the collector's own message, without our
// secrets.
import { STATUS_CODES } from 'node:http';
import { Agent, type Dispatcher, request } from 'undici';
import { retryAfterMs } from '../../base/retry-after.ts';
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
  /** The collector may accept smaller requests. */
  | { readonly kind: 'too large' }
  | { readonly kind: 'failed'; readonly failure: ExportFailure };

export interface Collector {
  /** Sends one request and returns the collector's answer. Rejects if `signal` is aborted. */
  post(body: string, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

const answerBytesMax = 64 * 1024;
const connectMs = 10_000;
const wordsMax = 200;
/** A part of a header counts as a secret if it has at least this length. Shorter parts are words such as `Basic`. */
const secretMin = 7;

/** `wallTime`: ms since 1970, for dates in answers of a collector. */
export function createCollector({ endpoint, headers, answerMs }: CollectorSettings, wallTime: () => number): Collector {
  const secrets = Object.values(headers)
    .flatMap((value) => [value, ...value.split(' ')])
    .filter(({ length }) => length >= secretMin);
  // Removes our secrets from a text, because a collector can repeat the headers in its answer.
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

/** Returns the text of a body. Null: the body is longer than any answer of a collector, and was not read to its end. */
async function textOf(body: Dispatcher.ResponseData['body']): Promise<string | null> {
  // If the body is not read to its end, no other code listens for its errors, and an error would end the process.
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
      retryAfterMs: kind === 'refused' ? null : retryAfterMs(headers['retry-after'], wallTime()),
    },
  });
  if (statusCode >= 200 && statusCode < 300) {
    // An answer that is too long comes from another server and not from a collector. That server has stored nothing.
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

/**
 * Matches the message of the OpenTelemetry Collector for requests above its `max_request_body_size`. It sends this
 * message instead of 413.
 */
const tooLarge = /\brequest body too large\b/i;

/** Whether the answer is for people: a web page, or text such as `ok` of a health endpoint. */
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

/** Parses JSON. Null: the body is not JSON. */
function parse(body: string): Readonly<Record<string, unknown>> | null {
  try {
    return { ...Object(JSON.parse(body)) };
  } catch {
    return null;
  }
}
