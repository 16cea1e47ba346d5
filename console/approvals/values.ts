// The values of an input as a list, each with its place, so that a long one takes no space from the others. Pure.

interface Value {
  /** Where it is in the input, such as `lines[0].amount`. Empty: it is the input. */
  readonly path: string;
  readonly text: string;
}

/** Values are counted to here only. */
const visitedMax = 1_000;

export interface Values {
  readonly first: readonly Value[];
  /** How many more there are, at least. */
  readonly more: number;
}

/** Returns at most `max` values: texts as they are, others as JSON. An empty list or object is a value too. */
export function valuesOf(input: unknown, max: number): Values {
  const first: Value[] = [];
  let count = 0;
  const visit = (one: unknown, path: string): void => {
    if (count >= visitedMax) return;
    const inside = insideOf(one, path);
    if (inside.length > 0) {
      for (const { value, at } of inside) visit(value, at);
      return;
    }
    count += 1;
    if (first.length < max) first.push({ path, text: typeof one === 'string' ? one : (JSON.stringify(one) ?? 'nothing') });
  };
  visit(input, '');
  return { first, more: count - first.length };
}

interface Inside {
  readonly value: unknown;
  readonly at: string;
}

function insideOf(one: unknown, path: string): readonly Inside[] {
  if (Array.isArray(one)) return one.slice(0, visitedMax).map((value: unknown, index) => ({ value, at: `${path}[${index}]` }));
  if (typeof one !== 'object' || one === null) return [];
  return Object.entries(one).map(([name, value]: readonly [string, unknown]) => ({ value, at: path === '' ? name : `${path}.${name}` }));
}
