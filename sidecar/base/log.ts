/** Receives messages of a sidecar for the operator. Loggers of pino implement it. */
export interface Log {
  info(fields: object, message: string): void;
  /** Reports a problem, such as damaged data, or files that could not be removed. */
  warn(fields: object, message: string): void;
}
