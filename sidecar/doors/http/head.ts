// Checks the head of a request to a tool, before a byte of the body is read. A head is refused in three cases: it is
// ambiguous, it can turn the request into another one, or it asks for another protocol.
import type { IncomingMessage } from 'node:http';

// These headers must occur only once, because servers read duplicates differently.
const single = ['authorization', 'content-encoding', 'content-length', 'content-type', 'host', 'transfer-encoding', 'expect'];
// Some servers take the method or the path from these headers, and not from the request line.
const overrides = ['x-http-method', 'x-http-method-override', 'x-method-override', 'x-original-url', 'x-rewrite-url'];

/** Returns the problem of a header that changes the request into another one. Null: there is no such header. */
export function overrideProblem(has: (name: string) => boolean): string | null {
  if (has('upgrade')) return 'an upgrade to another protocol is not supported for tools';
  const override = overrides.find(has);
  return override === undefined ? null : `the header ${override} is not allowed: it can turn this request into another one`;
}

/** Returns the problem of the head. Null: it has none. */
export function headProblem(raw: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'method' | 'httpVersion'>): string | null {
  const names = new Set<string>();
  for (let at = 0; at < raw.rawHeaders.length; at += 2) {
    const name = (raw.rawHeaders[at] ?? '').toLowerCase();
    if (names.has(name) && (single.includes(name) || name.startsWith('x-tollgate-'))) return `the header ${name} appears twice`;
    names.add(name);
    // Many servers read `_` in a header name as `-`.
    if (name.includes('_')) names.add(name.replaceAll('_', '-'));
  }
  const has = (name: string): boolean => names.has(name);
  const override = overrideProblem(has);
  if (override !== null) return override;
  if (has('content-length') && has('transfer-encoding')) return 'the request must not have both content-length and transfer-encoding';
  if (has('transfer-encoding') && raw.headers['transfer-encoding']?.toLowerCase() !== 'chunked')
    return 'the transfer encoding must be chunked';
  if (has('transfer-encoding') && raw.httpVersion !== '1.1') return 'the transfer encoding chunked needs HTTP/1.1';
  const encoding = raw.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'the body must not be encoded';
  const bodyless = raw.method === 'GET' || raw.method === 'HEAD';
  if (bodyless && (has('transfer-encoding') || (raw.headers['content-length'] ?? '0') !== '0')) return `${raw.method ?? ''} has no body`;
  return null;
}
