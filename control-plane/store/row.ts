// Rows become domain values once, totally. A row that does not is a bug or a database that somebody else wrote to.

/** `value` as what `is` says it is. */
export function rowIs<T>(is: (value: unknown) => value is T, value: unknown): T {
  if (!is(value)) throw new Error(`the database holds a value that is none of ours: ${JSON.stringify(value)}`);
  return value;
}

/** SQL: the column is one of the texts of a parameter, or that is null. */
export const among = (column: string, parameter: string): string => `(${parameter}::text[] is null or ${column} = any(${parameter}))`;
