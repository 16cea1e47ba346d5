// Counts the work on texts instead of timing it: "linear" is a statement about work, which is the same on a busy
// machine.

/** Methods by which code reads a text, and the cost of one call of each: the characters that it passed over, or one. */
const looks: readonly (readonly [keyof string & string, (text: string, result: unknown, args: readonly unknown[]) => number])[] = [
  ['charAt', () => 1],
  ['charCodeAt', () => 1],
  ['codePointAt', () => 1],
  ['slice', (_text, result) => String(result).length],
  ['substring', (_text, result) => String(result).length],
  ['indexOf', (text, result, [, from = 0]) => (result === -1 ? text.length : Number(result)) - Number(from)],
  ['split', (text) => text.length],
];

/**
 * Characters read by methods of texts, and matches of regular expressions, while `work` runs. `work` must be
 * synchronous.
 */
export function workOn(work: () => unknown): number {
  let units = 0;
  const undo = looks.map(([name, cost]) =>
    watchCalls(String.prototype, name, (text, result, args) => (units += 1 + cost(String(text), result, args))),
  );
  undo.push(
    watchCalls(RegExp.prototype, 'exec', (_pattern, result) => (units += 1 + (Array.isArray(result) ? String(result[0]).length : 0))),
  );
  try {
    work();
  } finally {
    for (const step of undo) step();
  }
  return units;
}

/** Calls `heard` for each call of a method; returns a function that restores the method. */
export function watchCalls(
  prototype: object,
  name: PropertyKey,
  heard: (self: unknown, result: unknown, args: readonly unknown[]) => void,
): () => void {
  const before = Object.getOwnPropertyDescriptor(prototype, name);
  const method: unknown = before?.value;
  if (before === undefined || typeof method !== 'function') throw new Error(`there is no method ${String(name)}`);
  const counted = function (this: unknown, ...args: readonly unknown[]): unknown {
    const result: unknown = Reflect.apply(method, this, args);
    heard(this, result, args);
    return result;
  };
  Object.defineProperty(prototype, name, { ...before, value: counted });
  return () => void Object.defineProperty(prototype, name, before);
}
