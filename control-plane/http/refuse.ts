// A refusal as an answer.
import type { AppError } from '@tollgate/proto/contract';
import type { FastifyReply } from 'fastify';
import { errorBody, httpStatus } from '../errors.ts';

export function sendRefusal(reply: FastifyReply, refusal: AppError): FastifyReply {
  if (refusal.code === 'unauthenticated') void reply.header('WWW-Authenticate', 'Bearer');
  if (refusal.retryAfterSeconds !== undefined) void reply.header('Retry-After', refusal.retryAfterSeconds);
  // A stream that failed before its first byte had another type.
  void reply.type('application/json; charset=utf-8');
  return reply.code(httpStatus(refusal.code)).send(errorBody(refusal));
}
