// What went wrong with a request to a provider, in words of ours: what the SDK throws holds the request, and what a provider answers may
// hold the key.
import {
  AISDKError,
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  NoContentGeneratedError,
  TypeValidationError,
} from '@ai-sdk/provider';
import { ProviderFailed } from '../model.ts';

export interface Failure {
  /** A `ProviderFailed`, or the bug itself. */
  readonly error: unknown;
  /** Another attempt may do better, and this one is not billed. */
  readonly passing: boolean;
  /** How long the provider asks to be left alone; null: it does not say. */
  readonly retryAfterMs: number | null;
}

/** The connection was never there, so that nothing was sent. */
const unreached = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export function failureOf(provider: string, error: unknown, now: number): Failure {
  const status = APICallError.isInstance(error) ? (error.statusCode ?? null) : null;
  // An answer that is an error is not billed.
  if (APICallError.isInstance(error) && status !== null && (status < 200 || status >= 300)) return answered(provider, error, status, now);
  const code = codesOf(error).find((one) => unreached.has(one));
  if (code !== undefined)
    return { error: new ProviderFailed(`${provider} cannot be reached (${code})`, null), passing: true, retryAfterMs: null };
  if (!isOfProvider(error)) return { error: ownFailing(provider, error), passing: false, retryAfterMs: null };
  // It may have the request, and work on it: a second one could be billed besides.
  return { error: brokenOff(provider), passing: false, retryAfterMs: null };
}

/** The SDK has errors of its own for whatever a network or a provider does, and others for how it is used: those are bugs of ours. */
const isOfProvider = (error: unknown): boolean =>
  [APICallError, EmptyResponseBodyError, InvalidResponseDataError, JSONParseError, NoContentGeneratedError, TypeValidationError].some(
    (kind) => kind.isInstance(error),
  );

/** The SDK's errors hold what was sent, also in their words. */
const ownFailing = (provider: string, error: unknown): unknown =>
  AISDKError.isInstance(error) ? new Error(`the SDK takes no such request to ${provider}: ${error.name}`) : error;

export const brokenOff = (provider: string): ProviderFailed => new ProviderFailed(`${provider} broke off its answer`, null, true);

function answered(provider: string, error: APICallError, status: number, now: number): Failure {
  const kind = kindOf(error.data);
  return {
    error: new ProviderFailed(`${provider} answered with status ${status}${kind === null ? '' : ` (${kind})`}`, status),
    passing: status === 408 || status === 429 || status >= 500,
    retryAfterMs: retryAfter(error.responseHeaders ?? {}, now),
  };
}

/** `rate_limit_error` and the like. Of this form it is no key, and nothing that was sent. */
function kindOf(data: unknown): string | null {
  const error = fieldOf(data, 'error');
  const found = [fieldOf(error, 'code'), fieldOf(error, 'type')].find(
    (one) => typeof one === 'string' && /^[a-z]+(?:_[a-z]+){0,5}$/.test(one),
  );
  return typeof found === 'string' && found.length <= 60 ? found : null;
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;

/** Of the error and what caused it. */
function codesOf(error: unknown, depth = 0): readonly string[] {
  if (depth > 5 || error === undefined || error === null) return [];
  const code = fieldOf(error, 'code');
  const several = error instanceof AggregateError ? error.errors.flatMap((one: unknown) => codesOf(one, depth + 1)) : [];
  return [...(typeof code === 'string' ? [code] : []), ...several, ...codesOf(fieldOf(error, 'cause'), depth + 1)];
}

/** In seconds or as a date, by RFC 9110; some say it in milliseconds besides. */
function retryAfter(headers: Readonly<Record<string, string>>, now: number): number | null {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (ms >= 0) return ms;
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const at = /^\d+(?:\.\d+)?$/.test(text) ? now + Number(text) * 1000 : Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
