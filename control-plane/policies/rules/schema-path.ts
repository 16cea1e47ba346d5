// Finds a path in the JSON Schema of a tool's input. A schema that permits names which it does not list has every name.
import { isObject, type JsonSchema } from '@tollgate/proto/shape';
import type { ReadPath } from '@tollgate/sidecar/engine/compile';

export interface MissingName {
  /** The path up to the name that the schema does not have. */
  readonly path: ReadPath;
  /** The names that the schema has at that place, sorted. */
  readonly known: readonly string[];
}

/** The schemas that one value may have to satisfy: of `allOf`, `anyOf`, `$ref` and so on. */
interface Schemas {
  readonly all: readonly JsonSchema[];
  /** One of them may permit anything. */
  readonly isOpen: boolean;
}

/** Returns the first name of the path that the schema does not have. Null: it has all names, or does not say. */
export function missingName(schema: JsonSchema, path: ReadPath): MissingName | null {
  let here = schemasOf(schema, [schema]);
  for (const [at, step] of path.entries()) {
    const inner = step === null ? elementsOf(here) : fieldsOf(here, step);
    if (inner.length === 0) {
      const isListed = here.all.some((one) => isObject(one['properties']) || one['additionalProperties'] === false);
      if (step === null || here.isOpen || !isListed) return null;
      return { path: path.slice(0, at + 1), known: namesOf(here) };
    }
    here = schemasOf(schema, inner);
  }
  return null;
}

/** A schema may refer to itself, so the schemas that are looked at are counted. */
const schemasMax = 1_000;
const parts = ['allOf', 'anyOf', 'oneOf', 'then', 'else', '$ref'] as const;

function schemasOf(root: JsonSchema, from: readonly unknown[]): Schemas {
  const all = new Set<JsonSchema>();
  const open = [...from];
  let isOpen = false;
  for (let one = open.pop(); one !== undefined && all.size < schemasMax; one = open.pop()) {
    if (!isObject(one)) isOpen ||= one !== false;
    else if (!all.has(one)) {
      all.add(one);
      isOpen ||= permitsOthers(one);
      for (const part of parts) {
        const value = one[part];
        if (part === '$ref' && value !== undefined) open.push(referred(root, value));
        else if (Array.isArray(value)) open.push(...value);
        else if (value !== undefined) open.push(value);
      }
    }
  }
  return { all: [...all], isOpen: isOpen || open.length > 0 };
}

const permitsOthers = (schema: JsonSchema): boolean =>
  schema['additionalProperties'] === true ||
  schema['unevaluatedProperties'] === true ||
  schema['patternProperties'] !== undefined ||
  schema['$dynamicRef'] !== undefined;

/** Returns what a reference names in the same schema. `true`, which permits anything: the reference cannot be followed. */
function referred(root: JsonSchema, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return true;
  let at: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return at ?? true;
}

const fieldsOf = ({ all }: Schemas, name: string): readonly unknown[] =>
  all.flatMap(({ properties, additionalProperties }) => [
    ...(isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []),
    ...(isObject(additionalProperties) ? [additionalProperties] : []),
  ]);

const elementsOf = ({ all }: Schemas): readonly unknown[] =>
  all.flatMap(({ items, prefixItems }) => [...(items === undefined ? [] : [items]), ...(Array.isArray(prefixItems) ? prefixItems : [])]);

const namesOf = ({ all }: Schemas): readonly string[] =>
  [...new Set(all.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : [])))].toSorted();
