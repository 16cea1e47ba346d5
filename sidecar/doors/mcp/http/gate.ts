// Checks a request before its body is read. It refuses everything that two readers could interpret differently.
import type { FastifyRequest } from 'fastify';

export interface GateRefusal {
  readonly status: 400 | 403 | 415;
  readonly problem: string;
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

export function gateRefusal({ method, raw, headers }: FastifyRequest): GateRefusal | null {
  const origin = headers.origin;
  // A page in a browser that reaches this machine by a misleading name (DNS rebinding) still sends its own origin.
  if (origin !== undefined && !isLocal(origin)) return { status: 403, problem: 'requests from this Origin are not taken' };
  if (raw.url?.startsWith('/') !== true) return { status: 400, problem: 'the request must name a path, and no address' };
  if (headers.upgrade !== undefined) return { status: 400, problem: 'this path speaks HTTP and no other protocol' };
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (method !== 'POST') return hasBody ? { status: 400, problem: `${method} has no body here` } : null;
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return { status: 415, problem: 'the body must not be encoded' };
  if ((raw.headersDistinct['content-type'] ?? []).length > 1) return { status: 400, problem: 'the header content-type is there twice' };
  return isJsonType(headers['content-type']) ? null : { status: 415, problem: 'the body must be application/json, in UTF-8' };
}

function isLocal(origin: string): boolean {
  return URL.canParse(origin) && loopback.has(new URL(origin).hostname) && /^https?:\/\//.test(origin);
}

const jsonType = /^application\/json(?:\s*;\s*charset\s*=\s*(?:utf-8|"utf-8"))?\s*;?$/i;

const isJsonType = (value: string | undefined): boolean => value !== undefined && jsonType.test(value.trim());
