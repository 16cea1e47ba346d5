// Tests conditions with inputs that callers choose to do harm: evaluating never throws, never answers with anything but
// true, false or undecided, and never makes more steps than a condition may.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readCondition } from '../../../../sidecar/engine/compile/condition.ts';
import { buildExpression } from '../../../../sidecar/engine/conditions/build.ts';
import { compileCondition } from '../../../../sidecar/engine/conditions/condition.ts';
import { type Environment, stepsMax } from '../../../../sidecar/engine/conditions/environment.ts';
import { functions } from '../../../../sidecar/engine/conditions/functions/index.ts';
import { operators } from '../../../../sidecar/engine/conditions/operators.ts';
import { Timestamp, Undecided } from '../../../../sidecar/engine/conditions/values.ts';

/** Together they use every operator and every function. */
const sources = [
  'args.a && args.b || !args.c',
  '(args.a ? args.b : args.c) == true',
  'args.a == args.b || args.a != args.c',
  'args.a < args.b || args.a <= args.c || args.b > args.c || args.b >= args.a',
  'args.a + args.b == args.c - args.a',
  'args.a * 2 > args.b / 2 && args.c % 3 == 0 && -args.a < 0',
  '[args.a, args.b] == [args.b, args.a] && {"a": args.a, "b": args.b} == args.c',
  'args.a in args.b || args.b in [args.c, 1, "a"]',
  'args.a[args.b] == args.a[0] || args["constructor"] == args["__proto__"]',
  'args.a.b.c.constructor.prototype == null',
  'has(args.a) && has(args.a.b) && has(args.constructor)',
  'args.a.exists(x, x == args.b || x.a == 1)',
  'args.a.all(x, x > 1 && x.size() > 1)',
  'args.a.exists_one(x, x == x)',
  'args.a.filter(x, x == 1).map(x, x + 1).size() > 2',
  'args.a.map(x, x == "a", x + x) == args.b',
  'args.a.map(x, args.a + args.b) == args.c',
  'size(args.a) > 1 && args.b.size() == 2',
  'args.a.matches("^(a+)+$") || args.b.matches("(?i)x{1,20}")',
  'args.a.contains(args.b) || args.a.startsWith(args.b) || args.a.endsWith(args.b)',
  'args.a.charAt(1) == args.a.substring(1, 2) || args.a.substring(1) == args.b',
  'args.a.replace("a", args.b) == args.a.replace("", args.c, 2)',
  'args.a.split("").size() > args.a.split(args.b, 2).size()',
  'args.a.join(args.b) == args.b.join()',
  'args.a.indexOf(args.b) == args.a.lastIndexOf(args.b, 1)',
  'args.a.lowerAscii() == args.a.upperAscii() || args.a.trim() == args.a.reverse()',
  'strings.quote(args.a) == "%s %d %f %e %b %o %x %X".format([args.a, args.b, args.c, 1.5, true, 1, "a", 2])',
  'args.a.format([args.b]) == args.c',
  'int(args.a) > 1 && uint(args.a) > 1u && double(args.a) > 1.0',
  'bool(args.a) || string(args.a) == "a" || bytes(args.a) == b"a"',
  'string(bytes(args.a) + bytes(args.b)) < string(args.c)',
  'timestamp(args.a) > now || duration(args.b) > duration("1h")',
  'now - timestamp(args.a) < duration("1h") || now + duration(args.b) > now',
  'type(args.a) == string || dyn(args.a) == dyn(args.b)',
  'now.getFullYear() > 2000 && now.getMonth() < 12 && now.getDate() > 0 && now.getDayOfMonth() >= 0',
  'now.getDayOfWeek("Europe/Berlin") < 7 && now.getDayOfYear() < 366 && now.getHours("+02:00") < 24',
  'now.getMinutes() < 60 && timestamp(args.a).getSeconds() < 60 && duration(args.b).getMilliseconds() < 1000',
  'path(args.a).within("/srv") || path(args.a).within(args.b)',
  'url(args.a).host == "example.com" || url(args.a).port == 443 || url(args.a).path == args.b',
  'ip(args.a) == ip("10.0.0.1") || cidr("10.0.0.0/8").containsIP(args.a) || cidr(args.b).containsIP(args.a)',
  'domain(args.a) == "example.com"',
  'shell(args.a).all(c, c.name in ["git", "npm"]) || shell(args.a, ["env"]).size() == 1',
  'agent.name == args.a || args.b in agent.scopes || user.uid == args.c || tool.annotations.readOnlyHint == args.a',
];

const expressions = sources.map((source) => {
  const read = readCondition(source);
  if ('problem' in read) throw new Error(`${source}: ${read.problem.message}`);
  return { source, expression: read.expression };
});
const variables = new Map(['args', 'tool', 'agent', 'user', 'now'].map((name) => [name, name === 'args']));
// Without the fence of `compileCondition` around them, so that an exception is seen.
const parts = expressions.map(({ source, expression }) => ({ source, ...buildExpression(expression, variables) }));

const environment = (args: unknown): Environment => ({
  variables: {
    args,
    tool: { name: 'a.b', annotations: { readOnlyHint: true } },
    agent: { name: 'worker', scopes: ['a', 'b'] },
    user: {},
    now: new Timestamp(1_790_000_000_000_000_000n),
  },
  steps: 0,
  slots: [],
});

function evaluateAll(args: unknown): void {
  for (const { source, evaluate } of parts) {
    const env = environment(args);
    const value = evaluate(env);
    if (typeof value !== 'boolean' && !(value instanceof Undecided)) throw new Error(`${source} is ${typeof value}`);
    if (env.steps > stepsMax) throw new Error(`${source} made ${env.steps} steps`);
  }
}

test('the conditions of these tests use every operator and every function', () => {
  const used = new Set<string>();
  const visit = (node: unknown): void => {
    if (!Array.isArray(node)) return;
    if (node[0] === 'call') used.add(String(node[1]));
    node.forEach(visit);
  };
  for (const { expression } of expressions) visit(expression);
  expect([...Object.keys(operators), ...Object.keys(functions)].filter((name) => !used.has(name))).toEqual([]);
});

class Instance {
  a = 1;
  get b(): string {
    return 'b';
  }
}

const strange = fc.constantFrom<unknown>(
  undefined,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -0,
  2n ** 70n,
  -(2n ** 63n),
  Symbol('a'),
  () => 'a',
  Buffer.from('abc'),
  new Uint8Array(3),
  new Map([['a', 1]]),
  new Set([1]),
  new Date(0),
  new Date(Number.NaN),
  new Instance(),
  /a/,
  new Error('a'),
  Object.create(null),
  new Undecided('hidden', 'args.headers'),
  Array.from({ length: 3 }),
);
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    '\ud800',
    'a\udc00b',
    '\u{1f600}a',
    '\0',
    'a'.repeat(300),
    '%s%d',
    '../..',
    '/srv/../etc',
    'http://a@b/',
    '2026-02-30T00:00:00Z',
  ),
  fc.constantFrom(
    '1h',
    '-',
    '[::ffff:10.0.0.1]',
    '10.0.0.0/8',
    '$(curl x)',
    'git status; curl x',
    '9'.repeat(400),
    '1e400',
    '__proto__',
    'constructor',
  ),
);
const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(2 ** 53, -(2 ** 53), 1e308, 5e-324));
const key = fc.constantFrom(
  'a',
  'b',
  'c',
  'constructor',
  '__proto__',
  '$typeName',
  'prototype',
  'length',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '',
);
const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    strange,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => ownObject(entries)),
  ),
})).value;

/** Defines every key as an own one, also `__proto__`. */
function ownObject(entries: readonly (readonly [key: string, value: unknown])[]): object {
  const object = {};
  for (const [name, value] of entries) Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

test('10,000 generated inputs never cause an exception, nor more steps than a condition may make', { timeout: 60_000 }, () => {
  const three = fc.record({ a: anyValue, b: anyValue, c: anyValue }, { requiredKeys: [] });
  fc.assert(fc.property(fc.oneof({ weight: 20, arbitrary: three }, { weight: 1, arbitrary: anyValue }), evaluateAll), { numRuns: 10_000 });
});

const listOf = (length: number, value: unknown): readonly unknown[] => Array.from({ length }, () => value);
const deep = (depth: number, inner: unknown): unknown => Array.from({ length: depth }).reduce<unknown>((value) => [value], inner);
const deepObject = (depth: number): unknown => Array.from({ length: depth }).reduce<unknown>((a) => ({ a, b: a }), 1);
const megabyte = 'ab'.repeat(2 ** 19);
const large: Readonly<Record<string, unknown>> = {
  'texts of one megabyte': { a: megabyte, b: megabyte, c: `${megabyte}c` },
  'a text of one megabyte that is searched for another': {
    a: 'a'.repeat(2 ** 20),
    b: `${'a'.repeat(2 ** 18)}b${'a'.repeat(2 ** 18)}`,
    c: '',
  },
  'one megabyte of halves of surrogate pairs': {
    a: '\ud83d'.repeat(2 ** 19),
    b: '\ude00'.repeat(2 ** 19),
    c: '\ud83d\ude00'.repeat(2 ** 19),
  },
  'one megabyte of blanks': { a: ' '.repeat(2 ** 20), b: `${' '.repeat(2 ** 19)}a`, c: ' ' },
  'lists of 100,000 elements': {
    a: Array.from({ length: 100_000 }, (_, at) => at),
    b: listOf(100_000, 'a'),
    c: listOf(100_000, null),
  },
  'a list of large texts': { a: listOf(2_000, megabyte), b: megabyte, c: listOf(2_000, megabyte) },
  'objects of 100,000 keys': Object.fromEntries(
    ['a', 'b', 'c'].map((name) => [name, Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key${at}`, at]))]),
  ),
  'lists nested 64 deep': { a: deep(64, 1), b: deep(64, 1), c: deep(64, 2) },
  'lists nested 100,000 deep': { a: deep(100_000, 1), b: deep(100_000, 1), c: deep(100_000, 2) },
  'an object in itself, twice on each of 60 levels': { a: deepObject(60), b: deepObject(60), c: deepObject(60) },
};

test.each(Object.keys(large))('%s are read within the steps of a condition', (name) => {
  evaluateAll(large[name]);
});

test('what is read of a list is in proportion to the steps, also where a loop compares the whole list each time', () => {
  let reads = 0;
  const counted = (list: readonly unknown[]): readonly unknown[] =>
    new Proxy(list, {
      get: (of, name, receiver) => {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1;
        return Reflect.get(of, name, receiver) as unknown;
      },
    });
  const list = counted(listOf(3_000, 1));
  const same = counted(listOf(3_000, 1));
  for (const source of [
    'args.a.all(x, args.a == args.b)',
    'args.a.exists(x, "a" in args.a)',
    'args.a.map(x, args.a + args.b).size() > 0',
  ]) {
    reads = 0;
    const read = readCondition(source);
    if ('problem' in read) throw new Error(read.problem.message);
    const value = compileCondition(read.expression).evaluate(environment({ a: list, b: same }));
    expect(value).toMatchObject({ reason: 'budget' });
    expect(reads).toBeLessThan(2 * 8 * stepsMax);
  }
});

test('a condition is undecided where the input is an object that throws', () => {
  const throwing = {
    get a(): never {
      throw new Error('secret');
    },
  };
  const proxy = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw new Error('secret');
      },
    },
  );
  for (const args of [throwing, proxy, { a: throwing, b: throwing, c: proxy }])
    for (const { expression } of expressions) {
      const value = compileCondition(expression).evaluate(environment(args));
      expect(typeof value === 'boolean' || value instanceof Undecided).toBe(true);
    }
});
