// Defines every refusal of Tollgate that is not a decision about a tool call, with its status in each protocol. Only
// errors.ts of each program applies this table.
interface CodeRow {
  readonly http: number;
  /** Name of the gRPC status. */
  readonly grpc:
    | 'INVALID_ARGUMENT'
    | 'UNAUTHENTICATED'
    | 'PERMISSION_DENIED'
    | 'NOT_FOUND'
    | 'ALREADY_EXISTS'
    | 'FAILED_PRECONDITION'
    | 'RESOURCE_EXHAUSTED'
    | 'INTERNAL'
    | 'UNAVAILABLE';
  /** Whether the same request may succeed later without a change. */
  readonly retryable: boolean;
}

export const codes = {
  bad_request: { http: 400, grpc: 'INVALID_ARGUMENT', retryable: false },
  unauthenticated: { http: 401, grpc: 'UNAUTHENTICATED', retryable: false },
  forbidden: { http: 403, grpc: 'PERMISSION_DENIED', retryable: false },
  not_found: { http: 404, grpc: 'NOT_FOUND', retryable: false },
  conflict: { http: 409, grpc: 'ALREADY_EXISTS', retryable: false },
  stale_revision: { http: 412, grpc: 'FAILED_PRECONDITION', retryable: false },
  too_large: { http: 413, grpc: 'INVALID_ARGUMENT', retryable: false },
  unsupported_media: { http: 415, grpc: 'INVALID_ARGUMENT', retryable: false },
  rate_limited: { http: 429, grpc: 'RESOURCE_EXHAUSTED', retryable: true },
  internal: { http: 500, grpc: 'INTERNAL', retryable: false },
  upstream_failed: { http: 502, grpc: 'UNAVAILABLE', retryable: true },
  unavailable: { http: 503, grpc: 'UNAVAILABLE', retryable: true },
} as const satisfies Record<string, CodeRow>;

export type ErrorCode = keyof typeof codes;

interface AppErrorFields {
  readonly code: ErrorCode;
  /**
   * The text that a caller may read. It never contains a secret, a stack trace, or a value that the caller sent. It may
   * contain the place of such a value.
   */
  readonly publicMessage: string;
  /** The place of each problem, one line each, if there are several problems. */
  readonly details?: readonly string[];
  /** Seconds until a retry makes sense. */
  readonly retryAfterSeconds?: number;
  /** For the log only. */
  readonly cause?: unknown;
}

/** A refusal. Any other thrown error is a bug; `AppError.from` converts it. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly publicMessage: string;
  readonly details: readonly string[];
  readonly retryAfterSeconds: number | undefined;

  constructor(fields: AppErrorFields) {
    super(fields.publicMessage, { cause: fields.cause });
    this.code = fields.code;
    this.publicMessage = fields.publicMessage;
    this.details = fields.details ?? [];
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }

  static from(reason: unknown): AppError {
    if (reason instanceof AppError) return reason;
    return new AppError({ code: 'internal', publicMessage: 'internal error', cause: reason });
  }
}
