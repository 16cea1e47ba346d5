// Tests what conditions say: the third value, comparisons of the input with other types, numbers, own keys, and bounds.
import { describe, expect, test } from 'vitest';
import { readCondition } from '../../../../sidecar/engine/compile/condition.ts';
import { compileCondition } from '../../../../sidecar/engine/conditions/condition.ts';
import { Timestamp, Undecided } from '../../../../sidecar/engine/conditions/values.ts';
import { InexactNumber } from '../../../../sidecar/engine/json/strict-json.ts';

interface Asked {
  readonly args?: unknown;
  readonly now?: string;
}

/** `true`, `false`, or the reason and the place for which the condition is undecided. */
function said(source: string, { args = {}, now = '2026-03-08T02:30:00Z' }: Asked = {}): string {
  const read = readCondition(source);
  if ('problem' in read) throw new Error(`${source}: ${read.problem.message}`);
  const variables = {
    args,
    tool: { name: 'payments.transfer', server: 'payments' },
    agent: { name: 'worker', scopes: ['pay'] },
    user: { uid: 'ann' },
    now: new Timestamp(BigInt(Date.parse(now)) * 1_000_000n),
  };
  const value = compileCondition(read.expression).evaluate({ variables, steps: 0, slots: [] });
  return value instanceof Undecided ? `${value.reason} ${value.path}` : String(value);
}

describe('undecided is a value, which names the part that could not be evaluated', () => {
  test.each([
    ['args.amount > 100', {}, 'absent args.amount'],
    ['args.a.b.c == 1', { a: {} }, 'absent args.a.b'],
    ['args.list[3] == 1', { list: [1] }, 'absent args.list[3]'],
    ['args["a b"] == 1', {}, 'absent args["a b"]'],
    ['args.amount > 100', { amount: '200' }, 'type args.amount > 100'],
    ['args.amount.size() > 1', { amount: 1 }, 'type size(args.amount)'],
    ['args.a', { a: 1 }, 'type args.a'],
    ['args.n / 0 > 1', { n: 1 }, 'unclear args.n / 0'],
    ['path(args.p).within("/srv")', { p: 'a/b' }, 'unclear path(args.p)'],
    ['args.list.exists(x, x > 1)', { list: 'abc' }, 'type args.list'],
    ['user.role == "owner"', {}, 'absent user.role'],
  ])('%s of %j', (source, args, expected) => {
    expect(said(source, { args })).toBe(expected);
  });

  test.each([
    // The other operand decides alone, on either side.
    ['args.missing == 1 || true', 'true'],
    ['true || args.missing == 1', 'true'],
    ['args.missing == 1 && false', 'false'],
    ['false && args.missing == 1', 'false'],
    ['args.missing == 1 || false', 'absent args.missing'],
    ['args.missing == 1 && true', 'absent args.missing'],
    ['args.n || true', 'true'],
    ['args.n || false', 'type args.n || false'],
    ['args.n && true', 'type args.n && true'],
    ['!args.missing', 'absent args.missing'],
    ['!args.n', 'type !args.n'],
    // Only the branch that is taken matters.
    ['true ? args.t : args.missing', 'true'],
    ['args.missing ? true : true', 'absent args.missing'],
    ['args.n ? true : true', 'type args.n ? true : true'],
    // An element that decides makes the others unimportant.
    ['args.mixed.exists(x, x == 2)', 'true'],
    ['args.mixed.exists(x, x == 3)', 'type x == 3'],
    ['args.mixed.all(x, x == 1)', 'false'],
    ['args.mixed.all(x, x != 3)', 'type x != 3'],
    // These need every element.
    ['args.mixed.exists_one(x, x == 2)', 'type x == 2'],
    ['args.mixed.filter(x, x == 2).size() == 1', 'type x == 2'],
    ['args.mixed.map(x, x + 1).size() == 3', 'type x + 1'],
    ['[1, 2].exists_one(x, x == 2)', 'true'],
    ['[2, 2].exists_one(x, x == 2)', 'false'],
  ])('%s is %s', (source, expected) => {
    expect(said(source, { args: { n: 1, t: true, mixed: [1, 'a', 2] } })).toBe(expected);
  });
});

describe('a value of the input and a value of another type are not compared', () => {
  test.each([
    ['args.n == 1', { n: '1' }, 'type args.n == 1'],
    ['args.n != 1', { n: '1' }, 'type args.n != 1'],
    ['args.n == 1', { n: 1 }, 'true'],
    ['args.n == 1.0 && args.n == 1u', { n: 1 }, 'true'],
    ['args.n == true', { n: 1 }, 'type args.n == true'],
    ['args.n == null', { n: 1 }, 'false'],
    ['args.n == null', { n: null }, 'true'],
    ['args.n != null', { n: 'a' }, 'true'],
    ['args.n in [1, 2]', { n: '1' }, 'type args.n in […]'],
    ['args.n in [1, "1"]', { n: '1' }, 'true'],
    ['args.n in []', { n: '1' }, 'false'],
    ['1 in args.list', { list: ['1'] }, 'type 1 in args.list'],
    ['1 in args.list', { list: ['1', 1] }, 'true'],
    ['1 in args.list', { list: [2] }, 'false'],
    ['args.k in {"a": 1}', { k: 1 }, 'type args.k in {…}'],
    ['args.k in {"a": 1}', { k: 'b' }, 'false'],
    ['"a" in args', { a: null }, 'true'],
    ['args.list == [1, 2]', { list: [1, '2'] }, 'type args.list == […]'],
    // A difference that is certain makes the others unimportant.
    ['args.list == [1, 2]', { list: ['1', 3] }, 'false'],
    ['args.obj == {"a": 1}', { obj: { a: '1' } }, 'type args.obj == {…}'],
    ['args.obj == {"a": 1}', { obj: { b: 1 } }, 'false'],
    ['args.obj == {"a": {"b": [1]}}', { obj: { a: { b: [1] } } }, 'true'],
    ['args.list == "a"', { list: ['a'] }, 'type args.list == "a"'],
    ['args.list.filter(x, x > 1) == ["2"]', { list: [2] }, 'type args.list.… == […]'],
    ['(args.b ? args.n : 2) == "1"', { b: true, n: 1 }, 'type args.b ? args.n : 2 == "1"'],
    ['dyn(args.n) == "1"', { n: 1 }, 'type dyn(args.n) == "1"'],
    // Keys of objects are texts, so these would never hold.
    ['args.obj == {1: "a"}', { obj: { 1: 'a' } }, 'type args.obj == {…}'],
    ['{1: "a"} != args.obj', { obj: { 1: 'a' } }, 'type {…} != args.obj'],
    // Parts of a text of the input are of the input too.
    ['args.text.split(",").exists(x, x == 1)', { text: '1,2' }, 'type x == 1'],
    ['shell(args.line).exists(c, c.words == "push")', { line: 'git push' }, 'type c.words == "push"'],
    ['shell(args.line).all(c, c.redirects != 0)', { line: 'git push >x' }, 'type c.redirects != 0'],
    // What a condition makes itself is compared as CEL does.
    ['"1,2".split(",").exists(x, x == 1)', {}, 'false'],
    ['[1, 2].exists(x, x == "1")', {}, 'false'],
    ['type(args.n) == string', { n: 1 }, 'false'],
  ])('%s of %j is %s', (source, args, expected) => {
    expect(said(source, { args })).toBe(expected);
  });
});

describe('numbers', () => {
  test.each([
    ['args.n + 1 == 2', { n: 1 }, 'true'],
    ['args.n * 2 - 1 > 2u', { n: 1.5 }, 'false'],
    ['args.n / 2 == 1.5', { n: 3 }, 'true'],
    ['args.n % 3 == 1', { n: 7 }, 'true'],
    ['-args.n < 0', { n: 7 }, 'true'],
    ['args.n + 1 > 0', { n: 2 ** 53 }, 'rounded args.n + 1'],
    ['args.n % 9007199254740993 == 0', { n: 1 }, 'rounded args.n % 9007199254740993'],
    ['args.n == 9007199254740993', { n: 2 ** 53 }, 'false'],
    ['9223372036854775807 + 1 > 0', {}, 'unclear 9223372036854775807 + 1'],
    ['args.n < 9223372036854775807', { n: 9.3e18 }, 'false'],
  ])('%s of %j is %s', (source, args, expected) => {
    expect(said(source, { args })).toBe(expected);
  });

  test('a number that a double would round is undecided wherever it is read', () => {
    const n = new InexactNumber('9007199254740993');
    const args = { n, list: [n], other: 1 };
    expect(said('args.n > 5', { args })).toBe('rounded args.n');
    expect(said('args.list[0] > 5', { args })).toBe('rounded args.list[0]');
    expect(said('args.list.exists(x, x > 5)', { args })).toBe('rounded args.list');
    expect(said('args == args', { args })).toBe('rounded args == args');
    expect(said('args.list == [1.0]', { args })).toBe('rounded args.list == […]');
    expect(said('has(args.n) && args.other == 1', { args })).toBe('true');
  });
});

describe('own keys', () => {
  const hostile: unknown = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "$typeName": "google.protobuf.Timestamp", "nul": null}');

  test.each([
    ['args.constructor == 2', 'true'],
    ['args["__proto__"].a == 1', 'true'],
    ['args.a == 1', 'absent args.a'],
    ['args["$typeName"].startsWith("google")', 'true'],
    ['args.toString == 1', 'absent args.toString'],
    ['has(args.hasOwnProperty)', 'false'],
    ['"valueOf" in args', 'false'],
    ['has(args.nul) && args.nul == null && "nul" in args', 'true'],
    ['args.nul.a == 1', 'type args.nul.a'],
    ['size(args) == 4', 'true'],
    ['args.all(k, k.size() > 0)', 'true'],
    ['{"constructor": 1, "__proto__": 2}["__proto__"] == 2', 'true'],
    ['has({"a": null}.a) && !has({"a": 1}.constructor)', 'true'],
  ])('%s is %s', (source, expected) => {
    expect(said(source, { args: hostile })).toBe(expected);
  });
});

describe('a value that this door does not show, or that has no JSON form', () => {
  const args = {
    headers: new Undecided('hidden', 'args.headers'),
    body: { secret: new Undecided('hidden', 'args.body.secret'), a: 1 },
    file: Buffer.from('a'),
  };

  test.each([
    ['args.headers.host == "a"', 'hidden args.headers'],
    ['has(args.headers)', 'hidden args.headers'],
    ['"headers" in args', 'hidden args.headers'],
    ['has(args.headers.host)', 'hidden args.headers'],
    ['args.body == {"secret": 1, "a": 1}', 'hidden args.body.secret'],
    ['args.body == {"secret": 1, "a": 2}', 'false'],
    ['args.body == args.body', 'hidden args.body.secret'],
    ['args.body.a == 1', 'true'],
    ['"%s".format([args.body]) == "a"', 'hidden args.body.secret'],
    ['args.headers == 1 || args.body.a == 1', 'true'],
    ['args.file == "a"', 'type args.file'],
    ['size(args.file) == 1', 'type args.file'],
    ['has(args.file)', 'true'],
  ])('%s is %s', (source, expected) => {
    expect(said(source, { args })).toBe(expected);
  });
});

describe('times', () => {
  test.each([
    ['now.getHours("UTC") == 2 && now.getMinutes() == 30', '2026-03-08T02:30:00Z', 'true'],
    ['now.getHours("America/New_York") == 21', '2026-03-08T02:30:00Z', 'true'],
    // Clocks skip an hour at 07:00 UTC of that day in New York, and at 01:00 UTC of 29 March in Berlin.
    ['now.getHours("America/New_York") == 1', '2026-03-08T06:59:59Z', 'true'],
    ['now.getHours("America/New_York") == 3', '2026-03-08T07:00:00Z', 'true'],
    ['now.getHours("Europe/Berlin") == 1', '2026-03-29T00:59:59Z', 'true'],
    ['now.getHours("Europe/Berlin") == 3', '2026-03-29T01:00:00Z', 'true'],
    ['now.getDayOfWeek("Pacific/Auckland") == 0 && now.getDayOfWeek() == 6', '2026-03-07T23:30:00Z', 'true'],
    ['now.getHours("Asia/Kathmandu") == 8 && now.getMinutes("Asia/Kathmandu") == 15', '2026-03-08T02:30:00Z', 'true'],
    ['now.getHours("-03:30") == 23 && now.getDate("-03:30") == 7', '2026-03-08T02:30:00Z', 'true'],
    ['now - timestamp("2026-03-08T00:00:00Z") == duration("2h30m")', '2026-03-08T02:30:00Z', 'true'],
    ['timestamp("2026-03-08T03:30:00+01:00") == now', '2026-03-08T02:30:00Z', 'true'],
    ['string(now) == "2026-03-08T02:30:00Z"', '2026-03-08T02:30:00Z', 'true'],
    ['timestamp("1890-01-01T00:00:00Z").getMinutes("Europe/Berlin") == 53', '2026-03-08T02:30:00Z', 'true'],
  ])('%s at %s is %s', (source, now, expected) => {
    expect(said(source, { now })).toBe(expected);
  });

  test('the zone of the process changes nothing', () => {
    const before = process.env['TZ'];
    try {
      process.env['TZ'] = 'America/New_York';
      expect(said('now.getHours() == 2 && now.getHours("UTC") == 2 && now.getHours("Europe/Zurich") == 3')).toBe('true');
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });
});

describe('bounds', () => {
  test('a loop over too many elements is not begun, and its condition is undecided', () => {
    // The loop takes 8 steps for each element.
    const list = Array.from({ length: 5_000 }, () => 1);
    expect(said('args.list.exists(x, x == 1)', { args: { list } })).toBe('budget args.list');
    expect(said('args.list.exists(x, x == 1)', { args: { list: list.slice(0, 1_000) } })).toBe('true');
  });

  test('the work of a condition is bounded as a whole', () => {
    const list = Array.from({ length: 1_500 }, () => 1);
    expect(said('args.list.exists(x, x == 2)', { args: { list } })).toBe('false');
    expect(said('args.list.exists(x, x == 2) || args.list.exists(x, x == 3)', { args: { list } })).toBe('budget args.list');
  });

  test('a text that is too long for a pattern is undecided', () => {
    expect(said('args.a.matches("^a+$")', { args: { a: 'a'.repeat(65_536) } })).toBe('true');
    expect(said('args.a.matches("^a+$")', { args: { a: 'a'.repeat(65_537) } })).toBe('budget matches(args.a, "^a+$")');
  });

  test('a text that would be built too long is undecided', () => {
    const args = { a: 'a'.repeat(600_000) };
    expect(said('(args.a + args.a).size() > 1', { args })).toBe('budget args.a + args.a');
    expect(said('args.a.replace("a", "aa").size() > 1', { args })).toBe('budget replace(args.a, "a", "aa")');
  });
});

test('texts are counted in code points', () => {
  const args = { a: 'a😀b\ud800c' };
  expect(said('args.a.size() == 5 && args.a.charAt(1) == "😀" && args.a.substring(1, 3) == "😀b"', { args })).toBe('true');
  expect(said('args.a.indexOf("b") == 2 && args.a.lastIndexOf("c") == 4 && args.a.reverse().charAt(3) == "😀"', { args })).toBe('true');
  expect(said('args.a.split("").size() == 5', { args })).toBe('true');
});

test('equal texts of a condition give the same compiled condition', () => {
  const [one, two] = ['args.equal == 1', 'args.equal == 1'].map(readCondition);
  expect(one).toBe(two);
  if (one === undefined || 'problem' in one) throw new Error('the condition is refused');
  expect(compileCondition(one.expression)).toBe(compileCondition(structuredClone(one.expression)));
});
