// Parses the settings of the export of audit entries from the environment. Pure.
import { isLoopback } from '@tollgate/proto/contract';
import type { CollectorSettings } from './collector.ts';

/** Headers that must not be configured: the protocol sets them, or they would break a request. */
const taken = new Set(['content-type', 'content-length', 'content-encoding', 'transfer-encoding', 'host', 'connection', 'accept']);
const answerMs = 30_000;

export function endpointProblem(value: string): string | null {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'must be the whole URL of a collector, as https://collector:4318/v1/logs';
  return url.username === '' && url.password === ''
    ? null
    : 'must not contain a user or a password; put them into TOLLGATE_AUDIT_EXPORT_HEADERS';
}

export const isPlaintextBeyond = (endpoint: string): boolean => {
  const { protocol, hostname } = new URL(endpoint);
  return protocol === 'http:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''));
};

/**
 * Returns why the headers are not valid; null: they are valid. Their form is `name=value` pairs separated by commas,
 * with percent-encoded values, as in `OTEL_EXPORTER_OTLP_HEADERS`.
 */
export function headersProblem(value: string): string | null {
  const parsed = parsePairs(value);
  if (parsed === null)
    return 'must be name=value pairs separated by commas, with values percent-encoded where they hold commas or blanks at an end';
  const barred = parsed.map(([name]) => name).find((name) => taken.has(name));
  return barred === undefined ? null : `must not set ${barred}`;
}

export const collectorFrom = (endpoint: string, headers: string | null): CollectorSettings => {
  const url = new URL(endpoint);
  // A base address gets the standard path for logs, as in other exporters.
  if (url.pathname === '/') url.pathname = '/v1/logs';
  return { endpoint: url.href, headers: Object.fromEntries(parsePairs(headers ?? '') ?? []), answerMs };
};

function parsePairs(text: string): readonly (readonly [string, string])[] | null {
  const pairs: [string, string][] = [];
  for (const part of text.split(',').filter((one) => one.trim() !== '')) {
    const [, name, encoded] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(.*?)\s*$/s.exec(part) ?? [];
    if (name === undefined || encoded === undefined) return null;
    const value = decoded(encoded);
    if (value === null || !/^[\t\x20-\x7e]*$/.test(value)) return null;
    pairs.push([name.toLowerCase(), value]);
  }
  return pairs;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
