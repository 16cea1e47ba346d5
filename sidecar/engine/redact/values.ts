// Collects values that were found by the text next to them. The values themselves are searched for in the rest of the
// payload, where that text may be missing. Values with a form of their own are found without this.
import { isStrongPassword } from './detectors/named/named-value.ts';

export interface Values {
  readonly all: ReadonlyMap<string, string>;
  add(kind: string, value: string): void;
}

// Shorter values, and words of a language, occur in a payload for other reasons too.
const lengthMin = 8;
// The limit for all values together.
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
