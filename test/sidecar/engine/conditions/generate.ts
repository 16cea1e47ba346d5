// Generates expressions of CEL and inputs for them. Half of the expressions have operands of the types that their operators
// take, so that many of them have a value; the others have any operands.
import fc from 'fast-check';

export interface GeneratedCase {
  readonly expression: string;
  readonly args: Readonly<Record<string, unknown>>;
}

const keys = ['a', 'b', 'n', 'list', 'obj', 'constructor', '$typeName', '__proto__'] as const;
const texts = ['', 'a', 'b', 'ab', 'a b', 'abc/def', '1', 'true', 'null', 'Äöü', 'ß', 'x'.repeat(40)] as const;
const wholes = [0, 1, 2, 3, -1, 7, 100] as const;

const scalar = fc.oneof(
  fc.constantFrom(...texts),
  fc.constantFrom(...wholes),
  // Larger doubles become other texts in cel-go than in JavaScript.
  fc.constantFrom(1.5, -0.25, 40000.5),
  fc.boolean(),
  fc.constant(null),
);

// `__proto__` is an ordinary key only if the object was parsed.
const asParsed = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const objectOf = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Readonly<Record<string, unknown>>> =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...keys), value), { selector: ([key]) => key, maxLength: 6 })
    .map(
      (entries) =>
        JSON.parse(`{${entries.map(([key, of]) => `${JSON.stringify(key)}:${JSON.stringify(of)}`).join(',')}}`) as Record<string, unknown>,
    );

const list = fc.array(scalar, { maxLength: 4 });
const alike = fc.oneof(fc.array(fc.constantFrom(...wholes), { maxLength: 4 }), fc.array(fc.constantFrom(...texts), { maxLength: 4 }));

const args: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc
  .record(
    {
      a: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...texts) }, { weight: 1, arbitrary: scalar }),
      b: scalar,
      n: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...wholes) }, { weight: 1, arbitrary: scalar }),
      list: fc.oneof(
        { weight: 3, arbitrary: alike },
        { weight: 1, arbitrary: list },
        { weight: 1, arbitrary: fc.array(objectOf(scalar), { maxLength: 3 }) },
      ),
      obj: objectOf(fc.oneof(scalar, list)),
      constructor: scalar,
      $typeName: fc.constant('google.protobuf.Timestamp'),
    },
    { requiredKeys: [] },
  )
  .map(asParsed);

type Kind = 'bool' | 'int' | 'double' | 'string' | 'list' | 'any';

const quoted = (text: string): string => JSON.stringify(text);
const joined = (...parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
  fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((all) => all.join(''));
const text = fc.constantFrom(...texts).map(quoted);
const int = fc.constantFrom('0', '1', '2', '-1', '3', '9223372036854775807', '-9223372036854775808');
const double = fc.constantFrom('0.0', '1.0', '1.5', '-2.5', '1e10');
const field = fc.constantFrom(
  'args.a',
  'args.b',
  'args.n',
  'args.obj.a',
  'args["constructor"]',
  'args.obj["__proto__"]',
  'args["$typeName"]',
  'args.missing',
);

type Tie = (kind: Kind) => fc.Arbitrary<string>;

const bools = (tie: Tie): readonly fc.Arbitrary<string>[] => [
  joined('(', tie('bool'), ' && ', tie('bool'), ')'),
  joined('(', tie('bool'), ' || ', tie('bool'), ')'),
  // The parser of the library reads `!(!x)` as `x`, also if that is no boolean.
  joined('!(', tie('bool'), ' || false)'),
  joined('(', tie('bool'), ' ? ', tie('bool'), ' : ', tie('bool'), ')'),
  joined(tie('int'), fc.constantFrom(' == ', ' != ', ' < ', ' >= '), tie('int')),
  joined(tie('string'), fc.constantFrom(' == ', ' != ', ' < ', ' <= ', ' > '), tie('string')),
  joined('args.n', fc.constantFrom(' == ', ' != ', ' < ', ' <= ', ' > ', ' >= '), fc.oneof(tie('double'), tie('int'))),
  joined('args.n', fc.constantFrom(' + ', ' - ', ' * ', ' / ', ' % '), int, fc.constantFrom(' == ', ' < '), tie('double')),
  joined(tie('string'), fc.constantFrom('.startsWith(', '.endsWith(', '.contains('), tie('string'), ')'),
  joined(tie('string'), '.matches(', fc.constantFrom('"^a"', '"[ab]+"', '"(?i)AB"', '"^\\\\p{L}*$"', '"b$"'), ')'),
  joined(tie('any'), ' in ', tie('list')),
  joined(fc.constantFrom('"a"', '"b"', '"constructor"', '"__proto__"', '"missing"'), ' in args', fc.constantFrom('', '.obj')),
  fc.constantFrom('has(args.a)', 'has(args.obj.a)', 'has(args.missing)', 'has(args.b.a)', 'has(args.obj.constructor)'),
  joined(
    fc.constantFrom('args.list', 'args.obj', '[1, 2, 3]'),
    fc.constantFrom('.exists(x, ', '.all(x, ', '.exists_one(x, '),
    fc.oneof(inLoop, inLoop),
    ')',
  ),
  joined('type(', field, ') == ', fc.constantFrom('string', 'double', 'bool', 'list', 'map', 'null_type')),
  joined(field, ' == ', fc.oneof(text, double, int, fc.constantFrom('true', 'null'))),
  joined('args.list == ', tie('list')),
];

const inLoop = fc.constantFrom(
  'x == 1',
  'x == 1.0',
  'x > 1',
  'x == "a"',
  'x.a == 1',
  'has(x.a)',
  'x',
  'size(x) > 0',
  'x in [1, "a"]',
  'x != args.a',
  'x + 1 == 2',
);

const numbers = (tie: Tie): readonly fc.Arbitrary<string>[] => [
  joined('(', tie('int'), fc.constantFrom(' + ', ' - ', ' * ', ' / ', ' % '), tie('int'), ')'),
  joined('size(', fc.oneof(tie('string'), tie('list')), ')'),
  joined('int(', fc.constantFrom('args.n', '1.9', '"12"', '"-7"', '3u', 'args.a'), ')'),
  joined('-(', tie('int'), ')'),
  joined(tie('string'), '.indexOf("a")'),
];

const texted = (tie: Tie): readonly fc.Arbitrary<string>[] => [
  joined('(', tie('string'), ' + ', tie('string'), ')'),
  joined(
    tie('string'),
    fc.constantFrom('.lowerAscii()', '.upperAscii()', '.trim()', '.reverse()', '.charAt(0)', '.substring(1)', '.replace("a", "bc")'),
  ),
  joined('string(', fc.oneof(int, fc.constantFrom('args.a', 'true', '1u', '1.5')), ')'),
  joined('args.list.join("-")'),
  joined('"%s-%d".format([', tie('string'), ', ', tie('int'), '])'),
  joined('(', tie('bool'), ' ? ', tie('string'), ' : ', tie('string'), ')'),
];

const lists = (tie: Tie): readonly fc.Arbitrary<string>[] => [
  joined('[', tie('any'), ', ', tie('any'), ']'),
  joined('(', tie('list'), ' + ', tie('list'), ')'),
  joined('args.list', fc.constantFrom('.filter(x, ', '.map(x, '), inLoop, ')'),
  joined(tie('string'), '.split(" ")'),
  fc.constantFrom('args.list', '[]', '[1, 2]', '["a", "b"]', '[1.0, 2.0]'),
];

const anything = (tie: Tie): readonly fc.Arbitrary<string>[] => [
  field,
  joined('args.list[', fc.constantFrom('0', '1', '-1', 'args.n', '1.0', '0u'), ']'),
  joined('{"a": ', tie('any'), ', "b": 1}', fc.constantFrom('', '.a', '["b"]', '.c')),
  tie('bool'),
  tie('int'),
  tie('string'),
  tie('list'),
  tie('double'),
  joined('dyn(', tie('any'), ')'),
];

/** Returns expressions of a kind. `wild`: operands may be of other kinds. */
function ofKind(kind: Kind, depth: number, wild: boolean): fc.Arbitrary<string> {
  const leaves: Readonly<Record<Kind, fc.Arbitrary<string>>> = {
    bool: fc.constantFrom('true', 'false', 'args.b', 'has(args.a)'),
    int,
    double: fc.oneof(double, fc.constant('args.n')),
    string: fc.oneof(text, fc.constant('args.a')),
    list: fc.constantFrom('args.list', '[]', '[1, 2]', '["a", "b"]'),
    any: fc.oneof(field, text, int, double, fc.constantFrom('null', 'true')),
  };
  if (depth === 0) return leaves[kind];
  const tie: Tie = (wanted) => {
    const right = ofKind(wanted, depth - 1, wild);
    return wild ? fc.oneof({ weight: 3, arbitrary: right }, { weight: 1, arbitrary: ofKind('any', 0, wild) }) : right;
  };
  switch (kind) {
    case 'bool':
      return fc.oneof(...bools(tie));
    case 'int':
      return fc.oneof(leaves.int, ...numbers(tie));
    case 'double':
      return fc.oneof(
        leaves.double,
        joined('(', tie('double'), fc.constantFrom(' + ', ' - ', ' * ', ' / '), tie('double'), ')'),
        joined('double(', tie('int'), ')'),
      );
    case 'string':
      return fc.oneof(leaves.string, ...texted(tie));
    case 'list':
      return fc.oneof(...lists(tie));
    case 'any':
      return fc.oneof(...anything(tie));
  }
}

const expression = fc.oneof(ofKind('bool', 2, false), ofKind('bool', 2, true), ofKind('any', 2, true), ofKind('bool', 1, true));

export const generatedCase: fc.Arbitrary<GeneratedCase> = fc.record({ expression, args });
