// Selects the text of an error that a caller may read. Errors of Fastify and our own errors describe what is wrong with
// a request. Any other error is a bug, and its text is written only to the log.
import { AppError, codes } from '@tollgate/proto/contract';
import type { FastifyError } from 'fastify';

export function publicError(error: FastifyError): { readonly status: number; readonly message: string } {
  if (error instanceof AppError) return { status: codes[error.code].http, message: error.publicMessage };
  const status = error.statusCode ?? 500;
  return status < 500 ? { status, message: error.message } : { status: 500, message: 'internal error' };
}
