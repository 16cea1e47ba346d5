// Describes an error of a JSON Schema in words: the place, then what would be right. It does so for bodies and
// parameters of REST and for arguments of tools, so that these errors have the same texts everywhere. It quotes no
// values.
import { childPath } from '@tollgate/proto/contract';

/** The parts of an Ajv error that this code reads. */
export interface SchemaError {
  readonly instancePath?: string;
  readonly keyword?: string;
  readonly message?: string;
  readonly params?: object;
}

const keyMax = 200;

/** `whole`: the name of the value. `part`: what its fields are called. */
export function schemaWords({ instancePath = '', keyword, message, params = {} }: SchemaError, whole: string, part = 'field'): string {
  const place = placeOf(instancePath);
  const named = place === '' ? whole : place;
  const param = (key: string): unknown => Reflect.get(params, key);
  const child = (key: string): string => childPath(place, String(param(key)).slice(0, keyMax));
  switch (keyword) {
    case 'required':
      return `${child('missingProperty')} is required`;
    case 'additionalProperties':
      return `${child('additionalProperty')} is not a ${part} here`;
    case 'unevaluatedProperties':
      return `${child('unevaluatedProperty')} is not a ${part} here`;
    case 'enum':
      return `${named} must be ${eitherOf(param('allowedValues'))}`;
    case 'const':
      return `${named} must be ${eitherOf([param('allowedValue')])}`;
    default:
      return `${named} ${(message ?? 'is not as the schema wants it').slice(0, 300)}`;
  }
}

/** Lists the values as `oneOf` in `@tollgate/proto/shape` does. */
const eitherOf = (values: unknown): string =>
  (Array.isArray(values) ? values : [])
    .map((one) => JSON.stringify(one))
    .join(' or ')
    .slice(0, 500);

/** Converts a JSON pointer to the form that this project uses for places: `a.b[0]`. */
function placeOf(pointer: string): string {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~').slice(0, keyMax));
  return keys.reduce((path, key) => (/^\d+$/.test(key) && path !== '' ? `${path}[${key}]` : childPath(path, key)), '').slice(0, 500);
}
