// `ip`, `cidr` and `domain`: a text that programs read in different ways is undecided.
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { needs } from '../../../../support/installed.ts';
import { randomFrom } from '../../../../support/random.ts';
import { answerOf, problemOf, resultOf, undecided } from './answers.ts';

const contains = (range: string, address: unknown) => answerOf('cidr(args.range).containsIP(args.address)', { range, address });
const isPrivate = (address: unknown) => answerOf('cidr("10.0.0.0/8").containsIP(args.address)', { address });

describe('in 10.0.0.0/8', () => {
  test.each<readonly [what: string, address: unknown, answer: boolean | string]>([
    ['an address', '10.1.2.3', true],
    ['the first', '10.0.0.0', true],
    ['the last', '10.255.255.255', true],
    ['one before', '9.255.255.255', false],
    ['one behind', '11.0.0.0', false],
    ['a mapped address', '::ffff:10.1.2.3', true],
    ['a mapped address in hexadecimal', '::FFFF:0a01:0203', true],
    ['a mapped address in full', '0:0:0:0:0:ffff:a01:203', true],
    ['another mapped address', '::ffff:11.0.0.1', false],
    ['IPv6', '2a00::1', false],
    ['the loopback of IPv6', '::1', false],
    ['NAT64', '64:ff9b::10.1.2.3', 'unclear'],
    ['local NAT64', '64:ff9b:1::10.1.2.3', 'unclear'],
    ['6to4', '2002:a01:203::1', 'unclear'],
    ['Teredo', '2001:0:1::1', 'unclear'],
    ['SIIT', '::ffff:0:10.1.2.3', 'unclear'],
    ['the compatible form', '::10.1.2.3', 'unclear'],
    ['a leading zero', '10.01.2.3', 'unclear'],
    ['octal', '012.1.2.3', 'unclear'],
    ['hexadecimal', '0xa.1.2.3', 'unclear'],
    ['hexadecimal without dots', '0x0a010203', 'unclear'],
    ['decimal', '167838211', 'unclear'],
    ['three parts', '10.1.2', 'unclear'],
    ['five parts', '10.1.2.3.4', 'unclear'],
    ['a part that is too large', '10.1.2.256', 'unclear'],
    ['a sign', '+10.1.2.3', 'unclear'],
    ['a trailing dot', '10.1.2.3.', 'unclear'],
    ['spaces', ' 10.1.2.3', 'unclear'],
    ['a line break', '10.1.2.3\n', 'unclear'],
    ['a port', '10.1.2.3:80', 'unclear'],
    ['a range', '10.1.2.3/32', 'unclear'],
    ['two addresses', '10.1.2.3,11.0.0.1', 'unclear'],
    ['digits of another script', '1\u0660.1.2.3', 'unclear'],
    ['fullwidth digits', '\uff11\uff10.1.2.3', 'unclear'],
    ['brackets', '[::1]', 'unclear'],
    ['a zone', 'fe80::1%eth0', 'unclear'],
    ['two gaps', '1::2::3', 'unclear'],
    ['a group that is too long', '2a00:00001::1', 'unclear'],
    ['a name', 'localhost', 'unclear'],
    ['an empty text', '', 'unclear'],
    ['a number', 167_838_211, 'type'],
    ['nothing', null, 'type'],
  ])('%s: %s', (_what, address, answer) => {
    expect(isPrivate(address)).toBe(answer);
    expect(answerOf('cidr("10.0.0.0/8").containsIP(ip(args.address))', { address })).toBe(answer);
  });
});

test.each<readonly [range: string, address: string, answer: boolean | string]>([
  ['0.0.0.0/0', '255.255.255.255', true],
  ['0.0.0.0/0', '::1', false],
  ['::/0', '2a00::1', true],
  ['::/0', '1.2.3.4', false],
  ['::/0', '::ffff:1.2.3.4', false],
  ['10.1.2.3/32', '10.1.2.3', true],
  ['10.1.2.3/32', '10.1.2.2', false],
  ['2a00::/16', '2a00:ffff::1', true],
  ['2A00:0::/16', '2a01::1', false],
  ['2002::/16', '2002::1', 'unclear'],
  ['10.1.2.3/8', '10.1.2.3', 'unclear'],
  ['10.0.0.0/33', '10.1.2.3', 'unclear'],
  ['10.0.0.0/08', '10.1.2.3', 'unclear'],
  ['10.0.0.0/-1', '10.1.2.3', 'unclear'],
  ['10.0.0.0', '10.1.2.3', 'unclear'],
  ['10.0.0.0/', '10.1.2.3', 'unclear'],
  ['10.0.0.0/255.0.0.0', '10.1.2.3', 'unclear'],
  ['10.0.0.0/8/8', '10.1.2.3', 'unclear'],
  ['10/8', '10.1.2.3', 'unclear'],
  ['::ffff:10.0.0.0/104', '10.1.2.3', 'unclear'],
  ['::ffff:0:0/96', '10.1.2.3', 'unclear'],
  ['fe80::%eth0/64', 'fe80::1', 'unclear'],
])('%s contains %s: %s', (range, address, answer) => {
  expect(contains(range, address)).toBe(answer);
});

test.each([
  ['ip(args.a) == ip("10.0.0.1")', '::ffff:10.0.0.1', true],
  ['ip(args.a) == ip("2a00::1")', '2A00:0:0::0001', true],
  ['ip(args.a) == ip("10.0.0.1")', '::10.0.0.1', 'unclear'],
  ['ip(args.a) in [ip("10.0.0.1"), ip("::1")]', '::1', true],
  ['cidr(args.a) == cidr("10.0.0.0/8")', '10.0.0.0/8', true],
  ['cidr(args.a) == cidr("10.0.0.0/8")', '10.0.0.0/9', false],
])('%s of %s: %s', (source, a, answer) => {
  expect(answerOf(source, { a })).toBe(answer);
});

test.each([
  ['cidr("10.0.0.1/8").containsIP(args.a)', 'calls cidr with the text "10.0.0.1/8", which is no address and prefix length'],
  ['ip(args.a) == ip("010.0.0.1")', 'calls ip with the text "010.0.0.1", which is no plain IP address'],
  ['domain(args.a) == domain("good.example")', 'calls domain with the text "good.example", which is no single mail address'],
])('%s is refused', (source, problem) => {
  expect(problemOf(source)).toContain(problem);
});

const inPython = `
import ipaddress, json, sys
def contains(pair):
    try:
        network, address = ipaddress.ip_network(pair[0]), ipaddress.ip_address(pair[1])
    except ValueError:
        return None
    address = getattr(address, "ipv4_mapped", None) or address
    return address in network
print(json.dumps([contains(pair) for pair in json.load(sys.stdin)]))
`;

function generatedPairs(count: number): readonly (readonly [range: string, address: string])[] {
  const random = randomFrom(36);
  const below = (max: number): number => Math.floor(random() * max);
  const one = <T>(list: readonly [T, ...T[]]): T => list[below(list.length)] ?? list[0];
  const v4 = (): string => Array.from({ length: 4 }, () => one([0, 1, 10, 127, 128, 255, below(256)])).join('.');
  const v6 = (): string => {
    const groups = Array.from({ length: 8 }, () => one(['0', '1', 'fe80', '2a00', 'ffff', '64', below(65_536).toString(16)]));
    const cut = one([0, 0, 1, 2, 3]);
    return cut === 0 ? groups.join(':') : `${groups.slice(0, cut).join(':')}::${groups.slice(cut + 1 + below(7 - cut)).join(':')}`;
  };
  const address = (): string => one([v4, v4, v6, v6, () => `::ffff:${v4()}`, () => `0${v4()}`, () => `${v6()}%1`])();
  const masked = (): string =>
    one(['10.0.0.0/8', '128.0.0.0/1', '0.0.0.0/0', '127.0.0.0/8', '10.1.0.0/16', '::/0', 'fe80::/10', '2a00::/16', '8000::/1']);
  const range = (): string => one([masked, masked, masked, () => `${v4()}/${below(34)}`, () => `${v6()}/${below(130)}`])();
  return Array.from({ length: count }, () => [range(), address()]);
}

test('3,000 pairs: what is decided is what Python decides', needs('python3'), () => {
  const pairs = generatedPairs(3_000);
  const { stdout, stderr } = spawnSync('python3', ['-I', '-c', inPython], { input: JSON.stringify(pairs) });
  expect(stderr.toString()).toBe('');
  const python: readonly (boolean | null)[] = JSON.parse(stdout.toString());
  const counted = { yes: 0, no: 0, undecided: 0 };
  for (const [at, [range, address]] of pairs.entries()) {
    const ours = contains(range, address);
    if (typeof ours === 'boolean') expect([range, address, ours]).toEqual([range, address, python[at]]);
    counted[ours === true ? 'yes' : ours === false ? 'no' : 'undecided'] += 1;
  }
  for (const count of Object.values(counted)) expect(count).toBeGreaterThan(150);
});

describe('the domain of', () => {
  test.each([
    ['a@good.example', 'good.example'],
    ['A.b+c@Good.Example', 'good.example'],
    ["o'brien_1@mail.good.example", 'mail.good.example'],
    ['a@xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['a@good.xn--p1ai', 'good.xn--p1ai'],
    ['a@good.example.bad.example', 'good.example.bad.example'],
  ])('%s is %s', (text, domain) => {
    expect(resultOf('domain', text)).toBe(domain);
  });

  test.each<readonly [what: string, text: unknown]>([
    ['two addresses', 'a@good.example,b@bad.example'],
    ['two addresses with a semicolon', 'a@good.example;b@bad.example'],
    ['two addresses with a space', 'a@good.example b@bad.example'],
    ['two addresses in a group', 'friends:a@good.example,b@bad.example;'],
    ['a display name', 'Good <a@good.example>'],
    ['a display name that is an address', 'a@good.example <b@bad.example>'],
    ['angle brackets', '<a@good.example>'],
    ['a quoted local part', '"a"@good.example'],
    ['a quoted @', '"b@bad.example"@good.example'],
    ['a comment', 'a@good.example(b)'],
    ['a comment before @', 'a(b@bad.example)@good.example'],
    ['a trailing dot', 'a@good.example.'],
    ['a dot before @', 'a.@good.example'],
    ['two dots', 'a..b@good.example'],
    ['a dot first', '.a@good.example'],
    ['a domain in another script', 'a@göod.example'],
    ['a letter that looks alike', 'a@g\u043e\u043ed.example'],
    ['a fullwidth @', 'b\uff20bad.example@good.example'],
    ['a local part in another script', 'ä@good.example'],
    ['two @', 'a@bad.example@good.example'],
    ['a route', '@bad.example:a@good.example'],
    ['a percent route', 'a%bad.example@good.example'],
    ['a UUCP route', 'bad.example!a@good.example'],
    ['a line break behind', 'a@good.example\n'],
    ['a header', 'a@good.example\r\nBcc: b@bad.example'],
    ['a line break inside', 'a@good.example\nb@bad.example'],
    ['NUL', 'a@good.example\0@bad.example'],
    ['a tab', 'a\t@good.example'],
    ['spaces', ' a@good.example'],
    ['an option', '-oQ@good.example'],
    ['a pipe', '|a@good.example'],
    ['a slash', '/o=a/@good.example'],
    ['a scheme', 'mailto:a@good.example'],
    ['an address as domain', 'a@[10.0.0.1]'],
    ['a plain address as domain', 'a@10.0.0.1'],
    ['one label', 'a@localhost'],
    ['an empty label', 'a@good..example'],
    ['a label that begins with a hyphen', 'a@-good.example'],
    ['no local part', '@good.example'],
    ['no domain', 'a@'],
    ['no @', 'good.example'],
    ['an encoded @', 'a%40good.example'],
    ['a long local part', `${'a'.repeat(65)}@good.example`],
    ['a long domain', `a@${'a.'.repeat(130)}example`],
    ['a megabyte', `${'a'.repeat(1_048_576)}@good.example`],
    ['an empty text', ''],
    ['a list', ['a@good.example']],
  ])('%s is undecided', (_what, text) => {
    expect(resultOf('domain', text)).toBe(undecided);
  });
});
