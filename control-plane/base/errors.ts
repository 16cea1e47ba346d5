// The only place of this program where an error becomes a status. Each thrown value passes through here: our own
// refusals unchanged, outages of the database and refusals of the HTTP framework by their kind, and everything else as
// a bug.
import { status } from '@grpc/grpc-js';
import { AppError, bounds, codes, type ErrorCode } from '@tollgate/proto/contract';
import { shownLines } from './refusal.ts';
import { type SchemaError, schemaWords } from './schema-words.ts';
import { isUnavailable, unavailableWords } from './unavailable.ts';

export const httpStatus = (code: ErrorCode): number => codes[code].http;

/** Returns the gRPC status that ends a stream. */
export function grpcStatusOf(reason: unknown): { readonly code: status; readonly details: string } {
  const { code, publicMessage } = refusalOf(reason);
  return { code: status[codes[code].grpc], details: publicMessage };
}

export interface ErrorBody {
  readonly error: string;
  /** Lists each problem separately if there are several. */
  readonly details?: readonly string[];
}

export const errorBody = ({ publicMessage, details }: AppError): ErrorBody => ({
  error: publicMessage,
  ...(details.length > 0 ? { details } : {}),
});

/**
 * Returns the refusal for a thrown value. `bodyBytes`: the maximum body size of the route that rejected a body as too
 * large.
 */
export function refusalOf(reason: unknown, bodyBytes: number = bounds.bodyBytes): AppError {
  if (reason instanceof AppError) return reason;
  if (isUnavailable(reason))
    return new AppError({
      code: 'unavailable',
      publicMessage: `${unavailableWords(reason)}; try again`,
      retryAfterSeconds: 1,
      cause: reason,
    });
  return frameworkRefusal(reason, bodyBytes) ?? AppError.from(reason);
}

/**
 * Returns the refusal for an error of Fastify itself, or null for another error. Fastify's errors have a status. Errors
 * of a schema also have the places of the problems.
 */
function frameworkRefusal(reason: unknown, bodyBytes: number): AppError | null {
  if (!(reason instanceof Error) || !('statusCode' in reason)) return null;
  if ('validation' in reason && Array.isArray(reason.validation)) {
    const context = 'validationContext' in reason ? String(reason.validationContext) : 'body';
    const details = shownLines([...new Set<string>(reason.validation.map((error: SchemaError) => schemaLine(context, error)))]);
    return new AppError({ code: 'bad_request', publicMessage: details.join('; '), details });
  }
  switch (reason.statusCode) {
    case 413:
      return new AppError({ code: 'too_large', publicMessage: `the body is larger than ${bodyBytes / 1_048_576} MiB` });
    case 415:
      return new AppError({ code: 'unsupported_media', publicMessage: 'the body must be application/json' });
    case 400:
    case 414:
      return new AppError({ code: 'bad_request', publicMessage: 'the request is malformed', cause: reason });
    default:
      return null;
  }
}

/** Builds a line such as `scopes[0] must be string`. */
function schemaLine(context: string, error: SchemaError): string {
  if (context !== 'querystring') return schemaWords(error, context);
  // Values in a query string are text. Several values with the same name become a list.
  const isRepeated = error.keyword === 'type' && error.message === 'must be string';
  return schemaWords(isRepeated ? { ...error, message: 'must be given once' } : error, context, 'parameter');
}
