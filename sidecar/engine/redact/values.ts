// Collects values that were found only by the text next to them. Then the rest of the payload is searched for the
// values themselves, because a value may occur in another place without such text next to it. Values with a form of
// their own are found without this.
import { isStrongPassword } from './detectors/named/named-value.ts';

export interface Values {
  readonly all: ReadonlyMap<string, string>;
  add(kind: string, value: string): void;
}

// Shorter values, and words of a language, occur in a payload for other reasons too.
const lengthMin = 8;
// The maximum length of all values together, in characters.
const charactersMax = 8_000;
const repeatedKinds = new Set(['password', 'secret', 'url_credentials', 'authorization']);
const numberKinds = new Set(['national_id', 'phone']);

export function createValues(): Values {
  const all = new Map<string, string>();
  let charactersLeft = charactersMax;
  return {
    all,
    add: (kind, value) => {
      if (value.length < lengthMin || value.length > charactersLeft || all.has(value)) return;
      if (!numberKinds.has(kind) && !(repeatedKinds.has(kind) && isStrongPassword(value, lengthMin))) return;
      all.set(value, kind);
      charactersLeft -= value.length;
    },
  };
}
