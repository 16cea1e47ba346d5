/** Where the audit parts say what an operator should know; the same shape as the sync parts take. */
export type Log = (event: string, fields: Readonly<Record<string, unknown>>) => void;
