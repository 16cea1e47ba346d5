/** Receives messages of a sidecar for the operator. Loggers of pino implement it. */
export interface Log {
  info(fields: object, message: string): void;
  /** For damage, and for remains that were not removed. */
  warn(fields: object, message: string): void;
}
