// JSON Patch as in RFC 6902, as far as webhooks use it in answers. It does what an API server does with our answer.
type Json = unknown;

const isRow = (value: Json): value is Record<string, Json> => typeof value === 'object' && value !== null && !Array.isArray(value);

export function applyPatch(before: Json, patch: Json): Json {
  if (!Array.isArray(patch)) throw new Error('a patch is a list');
  let root = structuredClone(before);
  for (const operation of patch) {
    if (!isRow(operation) || typeof operation['path'] !== 'string') throw new Error('an operation has a path');
    const parts = operation['path'].split('/').slice(1);
    const keys = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.pop();
    if (last === undefined) {
      if (operation['op'] !== 'replace') throw new Error('only a replacement is of the whole');
      root = structuredClone(operation['value']);
    } else applyAt(keys.reduce(descend, root), last, operation);
  }
  return root;
}

function descend(value: Json, key: string): Json {
  const next = Array.isArray(value)
    ? value[indexOf(key, value.length - 1)]
    : isRow(value) && Object.hasOwn(value, key)
      ? value[key]
      : undefined;
  if (next === undefined) throw new Error(`there is no ${key}`);
  return next;
}

function applyAt(parent: Json, key: string, operation: Record<string, Json>): void {
  const { op, value } = operation;
  if (Array.isArray(parent)) {
    const at = indexOf(key, op === 'add' ? parent.length : parent.length - 1);
    if (op === 'add') parent.splice(at, 0, structuredClone(value));
    else if (op === 'remove') parent.splice(at, 1);
    else if (op === 'replace') parent[at] = structuredClone(value);
    else throw new Error(`unknown operation ${String(op)}`);
    return;
  }
  if (!isRow(parent)) throw new Error(`${key} stands in no container`);
  if (op !== 'add' && !Object.hasOwn(parent, key)) throw new Error(`there is no ${key} to ${String(op)}`);
  if (op === 'remove') delete parent[key];
  else if (op === 'add' || op === 'replace')
    // The code defines the property, because an assignment to the key `__proto__` would set the prototype.
    Object.defineProperty(parent, key, { value: structuredClone(value), configurable: true, enumerable: true, writable: true });
  else throw new Error(`unknown operation ${String(op)}`);
}

function indexOf(key: string, max: number): number {
  const at = Number(key);
  if (!/^\d+$/.test(key) || at > max) throw new Error(`${key} is no place of a list that ends at ${max}`);
  return at;
}
