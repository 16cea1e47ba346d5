// The one place where a refusal of ours becomes a gRPC status.
import { status } from '@grpc/grpc-js';
import { AppError, codes } from '@tollgate/proto/contract';
import { isUnavailable } from '../store/unavailable.ts';

export function statusOf(reason: unknown): { readonly code: status; readonly details: string } {
  if (isUnavailable(reason)) return { code: status.UNAVAILABLE, details: 'the database is not reachable now' };
  const error = AppError.from(reason);
  return { code: status[codes[error.code].grpc], details: error.publicMessage };
}
