export const expected: { cells: Record<string, Record<string, string>> } = { cells: {} };
