// Sends an error as an answer, and logs it when the caller did not cause it.
import type { AppError } from '@tollgate/proto/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorBody, httpStatus } from '../base/errors.ts';
import { loggable } from '../base/loggable.ts';

export function sendRefusal(reply: FastifyReply, refusal: AppError): FastifyReply {
  if (refusal.code === 'unauthenticated') void reply.header('WWW-Authenticate', 'Bearer');
  if (refusal.retryAfterSeconds !== undefined) void reply.header('Retry-After', refusal.retryAfterSeconds);
  // A stream that failed before its first byte has already set another media type.
  void reply.type('application/json; charset=utf-8');
  return reply.code(httpStatus(refusal.code)).send(errorBody(refusal));
}

export function logRefusal(request: FastifyRequest, { code, cause, publicMessage }: AppError): void {
  const line = { refusal: publicMessage, ...(cause === undefined ? {} : loggable(cause)), route: request.routeOptions.url };
  if (code === 'internal') request.log.error(line, 'a request failed because of an internal error');
  if (code === 'unavailable') request.log.warn(line, 'a request could not be served now');
  if (code === 'upstream_failed') request.log.warn(line, 'another server failed during a request');
}
