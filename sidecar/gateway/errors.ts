// What of an error a caller may read. Fastify's own refusals and ours say what is wrong with a request; anything else is
// a bug, and its text stays in the log.
import { AppError, codes } from '@tollgate/proto/contract';
import type { FastifyError } from 'fastify';

export function publicError(error: FastifyError): { readonly status: number; readonly message: string } {
  if (error instanceof AppError) return { status: codes[error.code].http, message: error.publicMessage };
  const status = error.statusCode ?? 500;
  return status < 500 ? { status, message: error.message } : { status: 500, message: 'internal error' };
}
