/** Returns the error code of Node or PostgreSQL, such as ENOENT or 57P03. Called by the other files of this folder. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
