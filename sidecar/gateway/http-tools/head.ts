// The head of a request on its way to a tool: what could be read in two ways, or asks for more than one request and its
// answer, is refused before a byte of the body is read.
import type { IncomingMessage } from 'node:http';

// Of these one may stand only: two are read differently by different servers.
const single = ['authorization', 'content-encoding', 'content-length', 'content-type', 'host', 'transfer-encoding', 'expect'];
// By which some servers take a request for another.
const overrides = ['x-http-method', 'x-http-method-override', 'x-method-override', 'x-original-url', 'x-rewrite-url'];

/** A header that makes another request of this one, in words; null where there is none. */
export function overrideProblem(has: (name: string) => boolean): string | null {
  if (has('upgrade')) return 'a tool is asked by requests: no upgrade to another protocol';
  const override = overrides.find(has);
  return override === undefined ? null : `the header ${override} names another request than this one`;
}

/** What is wrong with it; null when nothing is. */
export function headProblem(raw: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'method' | 'httpVersion'>): string | null {
  const names = new Set<string>();
  for (let at = 0; at < raw.rawHeaders.length; at += 2) {
    const name = (raw.rawHeaders[at] ?? '').toLowerCase();
    if (names.has(name) && (single.includes(name) || name.startsWith('x-tollgate-'))) return `the header ${name} stands twice`;
    names.add(name);
    // Many servers read one as the other.
    if (name.includes('_')) names.add(name.replaceAll('_', '-'));
  }
  const has = (name: string): boolean => names.has(name);
  const override = overrideProblem(has);
  if (override !== null) return override;
  if (has('content-length') && has('transfer-encoding')) return 'the length of the body is told twice';
  if (has('transfer-encoding') && raw.headers['transfer-encoding']?.toLowerCase() !== 'chunked')
    return 'the only transfer encoding is chunked';
  if (has('transfer-encoding') && raw.httpVersion !== '1.1') return 'chunks are of HTTP/1.1';
  const encoding = raw.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'the body must not be encoded';
  const bodyless = raw.method === 'GET' || raw.method === 'HEAD';
  if (bodyless && (has('transfer-encoding') || (raw.headers['content-length'] ?? '0') !== '0')) return `${raw.method ?? ''} has no body`;
  return null;
}
