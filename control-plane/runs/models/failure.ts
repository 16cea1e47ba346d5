// Describes a failed request to a provider in our own words. The original errors are not passed on, because an error of
// the SDK contains the request, and a provider's answer may contain the key.
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
  /** A `ProviderFailed`, or another error if the failure is a bug. */
  readonly error: unknown;
  /** True: a retry can be successful, and the failed attempt is not billed. */
  readonly passing: boolean;
  /** The pause in ms that the provider asks for; null: it does not ask for one. */
  readonly retryAfterMs: number | null;
}

/** The error codes of attempts that made no connection, so nothing was sent. */
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
  // A request that was answered with an error is not billed.
  if (APICallError.isInstance(error) && status !== null && (status < 200 || status >= 300)) return answered(provider, error, status, now);
  const code = codesOf(error).find((one) => unreached.has(one));
  if (code !== undefined)
    return { error: new ProviderFailed(`${provider} cannot be reached (${code})`, null), passing: true, retryAfterMs: null };
  if (!isOfProvider(error)) return { error: ownFailing(provider, error), passing: false, retryAfterMs: null };
  // The provider may have received the request and may be working on it. A second request could be billed in addition.
  return { error: brokenOff(provider), passing: false, retryAfterMs: null };
}

/**
 * Whether the error is a failure of the network or the provider. The SDK has other error classes for wrong use of the
 * SDK, which is a bug of ours.
 */
const isOfProvider = (error: unknown): boolean =>
  [APICallError, EmptyResponseBodyError, InvalidResponseDataError, JSONParseError, NoContentGeneratedError, TypeValidationError].some(
    (kind) => kind.isInstance(error),
  );

/** Returns an error without the request. The SDK's own errors contain the request, also in their messages. */
const ownFailing = (provider: string, error: unknown): unknown =>
  AISDKError.isInstance(error) ? new Error(`the SDK does not accept the request to ${provider}: ${error.name}`) : error;

export const brokenOff = (provider: string): ProviderFailed => new ProviderFailed(`${provider} did not complete its reply`, null, true);

function answered(provider: string, error: APICallError, status: number, now: number): Failure {
  const kind = kindOf(error.data);
  return {
    error: new ProviderFailed(`${provider} answered with status ${status}${kind === null ? '' : ` (${kind})`}`, status),
    passing: status === 408 || status === 429 || status >= 500,
    retryAfterMs: retryAfter(error.responseHeaders ?? {}, now),
  };
}

/**
 * Returns the provider's name for the kind of error, for example `rate_limit_error`; null: there is none. A text of
 * this form cannot be a key or a part of the request.
 */
function kindOf(data: unknown): string | null {
  const error = fieldOf(data, 'error');
  const found = [fieldOf(error, 'code'), fieldOf(error, 'type')].find(
    (one) => typeof one === 'string' && /^[a-z]+(?:_[a-z]+){0,5}$/.test(one),
  );
  return typeof found === 'string' && found.length <= 60 ? found : null;
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;

/** Returns the codes of the error and its causes. */
function codesOf(error: unknown, depth = 0): readonly string[] {
  if (depth > 5 || error === undefined || error === null) return [];
  const code = fieldOf(error, 'code');
  const several = error instanceof AggregateError ? error.errors.flatMap((one: unknown) => codesOf(one, depth + 1)) : [];
  return [...(typeof code === 'string' ? [code] : []), ...several, ...codesOf(fieldOf(error, 'cause'), depth + 1)];
}

/**
 * Returns the pause that the headers ask for, in ms; null: they ask for none. RFC 9110 allows seconds or a date. Some
 * providers also send milliseconds.
 */
function retryAfter(headers: Readonly<Record<string, string>>, now: number): number | null {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (ms >= 0) return ms;
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const at = /^\d+(?:\.\d+)?$/.test(text) ? now + Number(text) * 1000 : Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
