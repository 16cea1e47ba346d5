// Describes schema errors in words for the model: with their place, and without quoting its values.
import { childPath } from '@tollgate/proto/contract';
import type { ErrorObject } from 'ajv';

const problemsMax = 10;
const wordsMax = 2_000;

/** `whole`: the name of the value. */
export function wordsFor(errors: readonly ErrorObject[], whole: string): string {
  const told = errors.filter(saysSomething).slice(0, 10 * problemsMax);
  const said = [...new Set(told.map((error) => wordsOf(error, whole)))];
  const more = said.length > problemsMax ? `; and ${said.length - problemsMax} more` : '';
  return `${said.slice(0, problemsMax).join('; ').slice(0, wordsMax)}${more}` || `${whole} must be another, by the schema`;
}

/** An error of `if` only says that one of its branches failed. */
const saysSomething = ({ keyword }: ErrorObject): boolean => keyword !== 'if';

function wordsOf({ instancePath, keyword, params, message = 'is not as the schema wants it' }: ErrorObject, whole: string): string {
  const place = placeOf(instancePath);
  const named = place === '' ? whole : place;
  const of = (key: string): string => String(Object(params)[key]).slice(0, 200);
  switch (keyword) {
    case 'required':
      return `${childPath(place, of('missingProperty'))} is required`;
    case 'additionalProperties':
      return `${childPath(place, of('additionalProperty'))} is not a field here`;
    case 'unevaluatedProperties':
      return `${childPath(place, of('unevaluatedProperty'))} is not a field here`;
    case 'enum':
      return `${named} must be one of ${JSON.stringify(Object(params)['allowedValues']).slice(0, 500)}`;
    case 'const':
      return `${named} must be ${JSON.stringify(Object(params)['allowedValue']).slice(0, 200)}`;
    default:
      return `${named} ${message.slice(0, 300)}`;
  }
}

/** Converts a JSON pointer to the form that this project uses for places: `a.b[0]`. */
function placeOf(pointer: string): string {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~').slice(0, 200));
  return keys.reduce((path, key) => (/^\d+$/.test(key) && path !== '' ? `${path}[${key}]` : childPath(path, key)), '').slice(0, 500);
}
