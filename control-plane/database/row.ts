// Converts rows to domain values, with a check of each value. A row that fails is a bug, or another program wrote to
// the database.

/** Returns `value` with the type that `is` checks. */
export function rowIs<T>(is: (value: unknown) => value is T, value: unknown): T {
  if (!is(value)) throw new Error(`the database contains a value that this version does not know: ${JSON.stringify(value)}`);
  return value;
}

/** Returns SQL: the column is one of the texts of a parameter, or the parameter is null. */
export const among = (column: string, parameter: string): string => `(${parameter}::text[] is null or ${column} = any(${parameter}))`;
