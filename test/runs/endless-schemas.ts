// Schemas whose checks do not terminate on their own, each with a value that shows it. Used where the tries are
// counted, and where their time is measured (test/long).
export const objectSchema = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

const levels = 60;
const doubling = objectSchema(
  { a: { $ref: '#/$defs/l0' } },
  {
    $defs: Object.fromEntries(
      Array.from({ length: levels }, (_, at) => [
        `l${at}`,
        at === levels - 1 ? { type: 'string' } : { allOf: [{ $ref: `#/$defs/l${at + 1}` }, { $ref: `#/$defs/l${at + 1}` }] },
      ]),
    ),
  },
);
const toItself = objectSchema({ a: { $ref: '#/$defs/me' } }, { $defs: { me: { allOf: [{ $ref: '#/$defs/me' }] } } });

/** The value belongs to the field `a`. */
export const endless: readonly (readonly [name: string, schema: object, value: unknown])[] = [
  ['references that double at every level', doubling, 'x'],
  ['a pattern that backtracks without end', objectSchema({ a: { pattern: '^(a+)+$' } }), `${'a'.repeat(60)}!`],
  ['a reference to itself', toItself, 'x'],
];
