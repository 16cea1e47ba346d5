// Values that were found by what stood beside them. They are looked for themselves in the rest of the payload, where
// nothing may stand beside them; what has a form of its own is found there anyway.
import { isStrongPassword } from './detectors/named/named-value.ts';

export interface Values {
  readonly all: ReadonlyMap<string, string>;
  add(kind: string, value: string): void;
}

// Shorter ones, and words of a language, stand in a payload for other reasons too.
const lengthMin = 8;
// All of them together.
const charactersMax = 8_000;
const secretKinds = new Set(['password', 'secret', 'url_credentials', 'authorization']);
const numberKinds = new Set(['national_id', 'phone']);

export function createValues(): Values {
  const all = new Map<string, string>();
  let room = charactersMax;
  return {
    all,
    add: (kind, value) => {
      if (value.length < lengthMin || value.length > room || all.has(value)) return;
      if (!numberKinds.has(kind) && !(secretKinds.has(kind) && isStrongPassword(value, lengthMin))) return;
      all.set(value, kind);
      room -= value.length;
    },
  };
}
