// The one place of this program where a refusal becomes a status. Whatever is thrown enters here: ours as it is, the
// database's outages and the HTTP framework's refusals by their kind, and everything else as a bug.
import { status } from '@grpc/grpc-js';
import { AppError, bounds, codes, type ErrorCode } from '@tollgate/proto/contract';
import { shownLines } from './domain/refusal.ts';
import { isUnavailable, unavailableWords } from './store/unavailable.ts';

export const httpStatus = (code: ErrorCode): number => codes[code].http;

/** The gRPC status that ends a stream. */
export function grpcStatusOf(reason: unknown): { readonly code: status; readonly details: string } {
  const { code, publicMessage } = refusalOf(reason);
  return { code: status[codes[code].grpc], details: publicMessage };
}

export interface ErrorBody {
  readonly error: string;
  /** Each problem by itself, where there are several. */
  readonly details?: readonly string[];
}

export const errorBody = ({ publicMessage, details }: AppError): ErrorBody => ({
  error: publicMessage,
  ...(details.length > 0 ? { details } : {}),
});

/** `bodyBytes`: what the route takes that refused a body as too large. */
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

interface SchemaProblem {
  readonly instancePath?: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Fastify's own errors carry a status, and those of a schema also the places. */
function frameworkRefusal(reason: unknown, bodyBytes: number): AppError | null {
  if (!(reason instanceof Error) || !('statusCode' in reason)) return null;
  if ('validation' in reason && Array.isArray(reason.validation)) {
    const context = 'validationContext' in reason ? String(reason.validationContext) : 'body';
    const details = shownLines([
      ...new Set<string>(reason.validation.map((problem: SchemaProblem) => schemaProblemLine(context, problem))),
    ]);
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

/** `scopes[0] must be string`, from JSON pointer and message. */
function schemaProblemLine(context: string, { instancePath = '', message = 'is invalid', params = {} }: SchemaProblem): string {
  const path = instancePath
    .slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.');
  const extra = params['additionalProperty'];
  const asked = context === 'querystring';
  if (typeof extra === 'string')
    return `${path === '' ? '' : `${path}.`}${extra.slice(0, 200)} is not a ${asked ? 'parameter' : 'field'} here`;
  // What stands in a query string is text; several of one name are a list.
  if (asked && params['type'] === 'string') return `${path} must be given once`;
  const choices = params['allowedValues'];
  const said = Array.isArray(choices) ? `must be one of ${choices.join(', ')}` : message;
  return `${path === '' ? context : path} ${said}`;
}
