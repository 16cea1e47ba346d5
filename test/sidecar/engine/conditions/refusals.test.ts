// Tests what is refused when a condition is written: with the line, the column, and what would be right.
import { expect, test } from 'vitest';
import { readCondition } from '../../../../sidecar/engine/compile/condition.ts';

/** `line:column message`, or null if the condition is accepted. */
function problemOf(source: string): string | null {
  const read = readCondition(source);
  return 'problem' in read ? `${read.problem.line}:${read.problem.column} ${read.problem.message}` : null;
}

const long = (text: string, times: number): string => text.repeat(times);

test.each<readonly [source: string, problem: string]>([
  // Syntax.
  ['', '1:1 must not be empty'],
  ['  // nothing', '1:1 must not be empty'],
  ['args.amount >', '1:14 ends where a value is missing'],
  ['args.amount > 1 &&\n', '2:1 ends where a value is missing'],
  ['args.amount = 1', '1:13 "=" is no operator; compare with "=="'],
  ['args.a & args.b', '1:8 "&" is no operator; combine with "&&"'],
  ['args.a and args.b', '1:8 "and" is no operator; combine with "&&"'],
  ['not args.a', '1:5 "args" is not expected here'],
  ['args.a ? 1', '1:8 "?" needs a value, ":" and another value'],
  ['args.a.exists(x, x = 1)', '1:20 "=" is no operator; compare with "=="'],
  ['args.a in [1, 2, ] || (args.b == )', '1:34 ")" is not expected here'],
  ['args.a == 1 args.b', '1:13 "args" is not expected here'],
  ['args.?a == 1', '1:6 there are no optional values (".?" and "[?"); ask with has(…) first'],
  ['args.`a-b` == 1', '1:6 a name in backticks is not read; write ["…"]'],
  ['args.a == #', '1:11 "#" is not expected here'],
  // Behind the first mistake some operands are read on, and not all of a long text.
  [`args.a == 1${long(':1', 8)} #`, '1:29 "#" is not expected here'],
  [`args.a == 1${long(':1', 1_000)} #`, '1:44 ":" is not expected here'],
  ['if == 1', '1:1 "if" is a reserved word'],
  ['args.name == "a', '1:14 the text that begins with " does not end on its line'],
  ["args.a == '''a", "1:11 the text that begins with ''' does not end"],
  ['(args.a == 1', '1:1 "(" is not closed'],
  ['args.a == 1)', '1:12 ")" closes nothing'],
  ['args.a[(1] == 1', '1:10 "]" closes nothing'],
  ['args.a.matches("\\d")', '1:17 "\\d" is no escape; write "\\\\" for a backslash, or a raw text as in r"\\d+"'],
  ['args.a == "\\ud800"', '1:12 \\ud800 is no character'],
  ['args.a == "\u0000"', '1:12 holds a control character, which is written as "\\u0000" in a text'],
  ['args.a == "\ud800"', '1:12 holds half of a surrogate pair'],
  ['args.a == 9223372036854775808', '1:11 must be an integer from -9223372036854775808 to 9223372036854775807'],
  ['args.a == 1e400', '1:11 is a number that is too large'],
  // Columns count characters, not code units; lines may end in each way.
  ['args.a == "😀" && arg.b', '1:18 there is no variable "arg"; there are args, tool, agent, user, now'],
  ['args.a == 1 &&\r\n  args.b = 1', '2:10 "=" is no operator; compare with "=="'],
  // Names.
  ['amount > 1', '1:1 there is no variable "amount"; there are args, tool, agent, user, now'],
  ['tool.nmae == "a"', '1:5 tool has no field "nmae"; it has name, server, annotations'],
  [
    'tool.annotations.readOnly',
    '1:17 tool.annotations has no field "readOnly"; it has readOnlyHint, destructiveHint, openWorldHint, idempotentHint',
  ],
  ['has(agent.groups)', '1:1 agent has no field "groups"; it has name, id, client, tier, type, scopes, chain'],
  ['user.name.size() > 1', '1:5 user has no field "name"; it has uid, role, groups'],
  ['now.hours > 8', '1:4 reads the field "hours" of timestamp, which has no such field'],
  ['url(args.u).hostname == "a"', '1:12 url has no field "hostname"; it has scheme, host, port, path'],
  ['env("HOME") == "a"', '1:1 there is no function "env"'],
  ['args.a.toLowerCase() == "a"', '1:7 there is no function "toLowerCase"'],
  ['math.greatest(1, 2) == 2', '1:5 there is no function "greatest"'],
  ['google.protobuf.Timestamp{} == now', '1:1 makes a message "google.protobuf.Timestamp", and conditions have no messages'],
  ['args.list.all(args, args == 1)', '1:10 "args" is a variable already; name the element in another way'],
  // Calls.
  ['startsWith(args.a, "a")', '1:1 startsWith is called as value.startsWith(…)'],
  ['args.a.path() == args.b', '1:7 path is called as path(value)'],
  ['args.a.startsWith()', '1:7 startsWith takes 1 argument, not 0'],
  ['args.a.substring(1, 2, 3) == "a"', '1:7 substring takes 1 to 2 arguments, not 3'],
  ['url() == url("https://a")', '1:1 url takes 1 argument, not 0'],
  ['args.list.exists(x)', '1:10 exists is called as list.exists(name, condition), and map also as list.map(name, condition, value)'],
  ['has(args)', '1:1 has takes a field, as has(args.amount)'],
  ['args.a.startsWith(1)', '1:7 startsWith takes string, not int'],
  ['now.startsWith("2026")', '1:4 startsWith takes string before the dot, not timestamp'],
  ['int(duration("1h")) > 1', '1:1 int takes int or uint or double or string or timestamp, not duration'],
  // What is prepared when a condition is written.
  ['args.a.matches("(")', '1:7 calls matches with a pattern that is not valid: error parsing regexp: missing closing ): `(`'],
  [
    'args.a.matches("a(?=b)")',
    '1:7 calls matches with a pattern that is not valid: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
  ],
  ['args.a.matches(args.pattern)', '1:7 calls matches with a pattern that is no text in quotes'],
  ['args.a.matches("[ab]{1000}[cd]{1000}")', '1:7 calls matches with a pattern that is too large'],
  [
    'now.getHours("Europe/Berlim") > 8',
    '1:4 calls getHours with the time zone "Europe/Berlim", which does not exist; it needs a name such as "Europe/Berlin"',
  ],
  [
    'now.getHours("+25:00") > 8',
    '1:4 calls getHours with the time zone "+25:00", which does not exist; it needs a name such as "Europe/Berlin"',
  ],
  ['now.getHours(args.zone) > 8', '1:4 calls getHours with a time zone that is no text in quotes'],
  [
    'timestamp("2026-02-30T00:00:00Z") < now',
    '1:1 calls timestamp with "2026-02-30T00:00:00Z", and needs a text such as "2026-01-31T08:00:00Z"',
  ],
  ['duration("1 hour") < duration("2h")', '1:1 calls duration with "1 hour", and needs a text such as "1h30m"'],
  [
    'cidr("10.0.0.1/8").containsIP(args.a)',
    '1:1 calls cidr with the text "10.0.0.1/8", which is no address and prefix length such as "10.0.0.0/8"',
  ],
  ['path(args.a).within("srv")', '1:13 calls within with the folder "srv", which is no absolute path'],
  [
    '"%q".format([args.a]) == "a"',
    '1:5 calls format with a format that has an unknown clause: there are %s, %d, %f, %e, %b, %o, %x, %X and %%, also as %.2f',
  ],
  // Types.
  ['args.amount + 1 == "a" ? 1 : 2', '1:1 must be true or false, but is always int'],
  ['"finance"', '1:1 must be true or false, but is always string'],
  ['[args.a]', '1:1 must be true or false, but is always list'],
  ['size(args.a) == "1"', '1:14 compares int with string, which are never equal'],
  ['tool.name == 1', '1:11 compares string with int, which are never equal'],
  ['agent.scopes == "a"', '1:14 compares list with string, which are never equal'],
  ['now > "2026-01-01T00:00:00Z"', '1:5 cannot order timestamp and string'],
  ['tool.name && args.a', '1:1 takes true or false, not string and dyn'],
  ['!tool.name', '1:1 takes true or false, not string'],
  ['tool.name ? true : false', '1:1 takes true or false before "?", not string'],
  ['size(args.a) + "a" == "1a"', '1:14 cannot compute int and string'],
  ['-tool.name == 1', '1:1 cannot negate string'],
  ['args.a in tool.name', '1:8 searches in string, and only lists and maps have elements'],
  ['tool.name[0] == "a"', '1:10 reads an element of string, and only lists and maps have elements'],
  ['tool.name.exists(c, c == "a")', '1:10 loops over string, and only lists and maps have elements'],
  // Size.
  [`args.a == "${long('a', 4_096)}"`, '1:1 must be at most 4096 bytes, is 4108'],
  [`args.a in [${long('1,', 1_000)}1]`, '1:2004 must have at most 1000 nodes'],
  [`${long('(', 65)}true${long(')', 65)}`, '1:65 must be nested at most 64 deep'],
  [`args${long('.a', 64)} == 1`, '1:5 must be nested at most 64 deep'],
  ['args.a.exists(x, x.exists(y, y == 1))', '1:19 exists, all, exists_one, filter and map may not be inside one another'],
  ['args.a.map(x, y, x) == args.b', '1:15 there is no variable "y"; there are args, tool, agent, user, now'],
])('%j', (source, problem) => {
  const found = problemOf(source);
  // The library that compiles patterns may change its words.
  expect(found?.startsWith(problem) === true ? problem : found).toBe(problem);
});

test.each([
  'args.amount > 100',
  'args.amount > 100 // more than that\n && args.amount < 200 // less\n // and nothing else',
  'args.name == "// no comment"',
  "args.a == r'\\d' || args.a == b'\\x00' || args.a == '''it's\n'''",
  `${long('!', 4_000)}args.a`,
  `${long('(', 60)}args.a${long(')', 60)}`,
  'args.a.filter(x, x > 1).exists(x, x == 2)',
  'agent.scopes.exists(s, s.startsWith("pay:")) && user.role in ["owner", "admin"]',
  'args["a-b"]["c"][0] == null',
])('%j is accepted', (source) => {
  expect(problemOf(source)).toBeNull();
});

test.each([
  ['4 kB of (', long('(', 4_000)],
  ['4 kB of [', long('[', 4_000)],
  ['4 kB of {', long('{', 4_000)],
  ['4 kB of {1:', long('{1:', 1_300)],
  ['4 kB of a+', long('a+', 2_000)],
  ['4 kB of a.', long('a.', 2_000)],
  ['4 kB of a?', long('a?', 2_000)],
  ['4 kB of a?b:', long('a?b:', 1_000)],
  ['4 kB of a[', long('a[', 2_000)],
  ['4 kB of f(', long('f(', 2_000)],
  ['4 kB of a.f(', long('a.f(', 1_000)],
  ['4 kB of -!', long('-!', 2_000)],
  ['4 kB of &&', long('&&', 2_000)],
  ['4 kB of a&&', long('a&&', 1_300)],
  ['4 kB of quotes', long('"', 4_000)],
  ['4 kB of backslashes in quotes', `"${long('\\', 4_000)}`],
  ['4 kB of digits', long('9', 4_000)],
  ['4 kB of blanks and one letter', `${long(' ', 4_000)}a`],
  ['4 kB of comments', long('//a\n', 1_000)],
  ['4 kB of NUL', long('\0', 4_000)],
  ['4 kB of emoji', long('😀', 1_000)],
  ['4 kB of combining marks', long('\u0301', 2_000)],
  ['a megabyte', long('a', 2 ** 20)],
  ['loops inside loops', `${long('[1].map(x, ', 300)}1${long(')', 300)}`],
  [
    'closed brackets of each kind, 64 deep',
    `${long('(', 21)}${long('[', 21)}${long('{1:', 21)}1${long('}', 21)}${long(']', 21)}${long(')', 21)} == 1.5.5`,
  ],
])('%s: a refusal with a place, and no exception', (_name, source) => {
  const problem = problemOf(source);
  expect(problem).toMatch(/^\d+:\d+ /);
  expect(problem?.length).toBeLessThan(200);
});
