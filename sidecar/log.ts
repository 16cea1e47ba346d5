/** Where a sidecar says what an operator should know; pino's loggers are such. */
export interface Log {
  info(fields: object, message: string): void;
  /** What is damaged, or left behind. */
  warn(fields: object, message: string): void;
}
