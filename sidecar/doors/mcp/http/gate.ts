// The folder http/ handles HTTP itself and parses no message. Begin here: this file checks a request before its body is
// read. It refuses everything that two readers could interpret differently, and it answers each refusal and error as
// JSON-RPC. `callers.ts` tracks and limits the open requests of callers, and `writer.ts` writes the events of a stream.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { UpstreamDown } from '../../../upstream/upstream.ts';
import { errorText, RpcRefusal, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { retryHeader } from '../../denial-body.ts';
import type { EntranceRefusal } from '../../entrance/key.ts';
import { publicError } from '../../errors.ts';

interface GateRefusal {
  readonly status: 400 | 403 | 415;
  readonly problem: string;
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

export function gateRefusal({ method, raw, headers }: FastifyRequest): GateRefusal | null {
  const origin = headers.origin;
  // A web page can reach this machine under a misleading name (DNS rebinding), but the browser still sends the page's
  // own origin.
  if (origin !== undefined && !isLocal(origin)) return { status: 403, problem: 'requests from this Origin are not allowed' };
  if (raw.url?.startsWith('/') !== true) return { status: 400, problem: 'the request target must be a path, not an address' };
  if (headers.upgrade !== undefined) return { status: 400, problem: 'an upgrade to another protocol is not supported on this path' };
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (method !== 'POST') return hasBody ? { status: 400, problem: `a ${method} must have no body here` } : null;
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return { status: 415, problem: 'the body must not be encoded' };
  if ((raw.headersDistinct['content-type'] ?? []).length > 1) return { status: 400, problem: 'the header content-type appears twice' };
  return isJsonType(headers['content-type']) ? null : { status: 415, problem: 'the body must be application/json, in UTF-8' };
}

function isLocal(origin: string): boolean {
  return URL.canParse(origin) && loopback.has(new URL(origin).hostname) && /^https?:\/\//.test(origin);
}

const jsonType = /^application\/json(?:\s*;\s*charset\s*=\s*(?:utf-8|"utf-8"))?\s*;?$/i;

const isJsonType = (value: string | undefined): boolean => value !== undefined && jsonType.test(value.trim());

const barredHeaders = ({ status, retryAfterMs }: EntranceRefusal): Readonly<Record<string, string>> =>
  status === 401 || status === 403 ? { 'www-authenticate': 'Bearer' } : retryHeader(retryAfterMs);

export const refuse = (reply: FastifyReply, status: number, problem: string): FastifyReply =>
  reply
    .code(status)
    .type('application/json')
    .send(errorText(null, rpcErrors.request, problem));

export const refuseBarred = (reply: FastifyReply, barred: EntranceRefusal): FastifyReply =>
  refuse(reply.headers(barredHeaders(barred)), barred.status, `${barred.code}: ${barred.error}`);

export function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof RpcRefusal) return void reply.code(error.status).type('application/json').send(error.text);
  if (error instanceof UpstreamDown) return void refuse(reply, 502, error.message);
  const { status, message } = publicError(error);
  if (status >= 500) request.log.error({ err: error }, 'an MCP request failed with an error of the sidecar');
  void refuse(reply, status, message);
}
