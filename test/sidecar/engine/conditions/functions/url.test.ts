// `url(text)`: its parts, or undecided. Where programs find another host, it never says the one that a rule wants.
import { describe, expect, test } from 'vitest';
import { answerOf, problemOf, resultOf, undecided } from './answers.ts';

const host = (text: unknown): unknown => resultOf('url', text, 'host');
const path = (text: string): unknown => resultOf('url', text, 'path');

describe('a host', () => {
  test.each<readonly [what: string, url: string, host: string]>([
    ['plain', 'https://good.example/a?b#c', 'good.example'],
    ['alone', 'https://good.example', 'good.example'],
    ['in another case', 'HTTPS://GOOD.Example/', 'good.example'],
    ['with a port', 'https://good.example:8443/', 'good.example'],
    ['with an underscore', 'https://_dmarc.good.example/', '_dmarc.good.example'],
    ['of one label', 'http://localhost/', 'localhost'],
    ['in punycode', 'https://xn--bcher-kva.example/', 'xn--bcher-kva.example'],
    ['an address', 'http://127.0.0.1/', '127.0.0.1'],
    ['an IPv6 address', 'http://[::1]:80/', '::1'],
    ['a mapped address', 'http://[::ffff:7f00:1]/', '::ffff:7f00:1'],
    ['before a path with @', 'https://good.example/@user', 'good.example'],
    ['before a query with a URL', 'https://good.example/?u=https://bad.example', 'good.example'],
    ['before a fragment with a URL', 'https://good.example/#https://bad.example', 'good.example'],
    ['before a path with a URL', 'https://good.example/https://bad.example/', 'good.example'],
    ['before a path in another script', 'https://good.example/Köln', 'good.example'],
    ['of another scheme', 'ssh://good.example/a', 'good.example'],
    ['of the attacker that looks alike', 'https://good.example.bad.example/', 'good.example.bad.example'],
    ['of the attacker with a path that looks alike', 'https://bad.example/good.example', 'bad.example'],
  ])('%s: %s', (_what, url, wanted) => {
    expect(host(url)).toBe(wanted);
  });

  test.each<readonly [what: string, url: unknown]>([
    ['a user', 'https://good.example@bad.example/'],
    ['a user and a password', 'https://good.example:443@bad.example/'],
    ['an empty user', 'https://@good.example/'],
    ['an encoded user', 'https://good.example%40bad.example/'],
    ['a backslash', 'https://good.example\\@bad.example/'],
    ['a backslash behind the scheme', 'https:\\\\bad.example/'],
    ['a backslash in the path', 'https://good.example/\\bad.example'],
    ['a tab', 'https://good.ex\tample/'],
    ['a line break', 'https://good.example\n.bad.example/'],
    ['a line break behind', 'https://good.example/\r\nHost: bad.example'],
    ['a space before', ' https://good.example/'],
    ['a space behind', 'https://good.example/ '],
    ['a space inside', 'https://good.example bad.example/'],
    ['NUL', 'https://good.example\0.bad.example/'],
    ['a trailing dot', 'https://good.example./'],
    ['two trailing dots', 'https://good.example../'],
    ['an empty label', 'https://good..example/'],
    ['letters of another script', 'https://göod.example/'],
    ['a letter that looks alike', 'https://g\u043e\u043ed.example/'],
    ['a Kelvin sign', 'https://\u212Aindle.example/'],
    ['a fullwidth dot', 'https://good\uff0eexample/'],
    ['an ideographic full stop', 'https://good\u3002example/'],
    ['a fullwidth slash', 'https://good.example\uff0f.bad.example/'],
    ['a letter that contains a slash', 'https://good.example\u2100.bad.example/'],
    ['a circled letter', 'https://\u24d6ood.example/'],
    ['a soft hyphen', 'https://good\u00ad.example/'],
    ['a character that is not shown', 'https://good\u200b.example/'],
    ['punycode that is not valid', 'https://xn--a.example/'],
    ['an encoded host', 'https://%67ood.example/'],
    ['an encoded slash in the host', 'https://good.example%2f.bad.example/'],
    ['a hexadecimal address', 'http://0x7f000001/'],
    ['hexadecimal parts', 'http://0x7f.0.0.1/'],
    ['an octal address', 'http://0177.0.0.1/'],
    ['a decimal address', 'http://2130706433/'],
    ['a short address', 'http://127.1/'],
    ['an address with leading zeros', 'http://127.0.0.01/'],
    ['an octal address of another scheme', 'ssh://0177.0.0.1/'],
    ['a long IPv6 address', 'http://[0:0:0:0:0:0:0:1]/'],
    ['a mapped address with dots', 'http://[::ffff:127.0.0.1]/'],
    ['a zone', 'http://[fe80::1%25eth0]/'],
    ['brackets without an address', 'http://[good.example]/'],
    ['an empty port', 'https://good.example:/'],
    ['a port with zeros', 'https://good.example:0443/'],
    ['a port that is too large', 'https://good.example:65536/'],
    ['two ports', 'https://good.example:80:443/'],
    ['no scheme', '//good.example/'],
    ['no scheme and no slashes', 'good.example/'],
    ['a path', '/good.example'],
    ['no slashes', 'https:good.example'],
    ['one slash', 'https:/good.example'],
    ['three slashes', 'https:///good.example'],
    ['a query with @ and no path', 'https://good.example?@bad.example/'],
    ['a fragment with @ and no path', 'https://good.example#@bad.example/'],
    ['a wrapper', 'url:https://good.example/'],
    ['a script', 'javascript:alert(1)'],
    ['a script that looks like a host', 'javascript://good.example/%0aalert(1)'],
    ['data', 'data:text/html,https://good.example'],
    ['data that looks like a host', 'data://good.example/,x'],
    ['a blob', 'blob:https://good.example/1'],
    ['a file', 'file://good.example/etc/passwd'],
    ['mail', 'mailto:a@good.example'],
    ['a drive', 'c://good.example/'],
    ['an unpaired surrogate', 'https://good.example/\ud800'],
    ['a very long URL', `https://good.example/${'a'.repeat(10_000)}`],
    ['an empty text', ''],
    ['no text', ['https://good.example/']],
  ])('%s is undecided', (_what, url) => {
    expect(host(url)).toBe(undecided);
  });
});

test.each([
  ['https://good.example/', 443n],
  ['http://good.example/', 80n],
  ['wss://good.example/', 443n],
  ['https://good.example:443/', 443n],
  ['https://good.example:8443/', 8443n],
  ['https://good.example:0/', 0n],
  ['ssh://good.example:22/', 22n],
  ['ssh://good.example/', undecided],
  ['constructor://good.example/', undecided],
])('the port of %s', (text, port) => {
  expect(resultOf('url', text, 'port')).toBe(port);
});

test.each([
  ['JavaScript:alert(1)', 'javascript'],
  ['data:,x', 'data'],
  ['file:///etc/passwd', 'file'],
  ['mailto:a@good.example', 'mailto'],
  ['view-source:https://good.example/', 'view-source'],
  ['https://good.example/', 'https'],
])('the scheme of %s', (text, scheme) => {
  expect(resultOf('url', text, 'scheme')).toBe(scheme);
});

test.each([
  ['https://good.example', '/'],
  ['https://good.example/a/b', '/a/b'],
  ['https://good.example/a/b/?c=/../d', '/a/b/'],
  ['https://good.example/a%20b', '/a%20b'],
  ['https://good.example/a;b=1', '/a;b=1'],
  ['https://good.example/public/../admin', undecided],
  ['https://good.example/public/./a', undecided],
  ['https://good.example/public/%2e%2e/admin', undecided],
  ['https://good.example/public/.%2e/admin', undecided],
  ['https://good.example/public%2f..%2fadmin', undecided],
  ['https://good.example/public%252f..%252fadmin', undecided],
  ['https://good.example/public/..;/admin', undecided],
  ['https://good.example/public%5c..%5cadmin', undecided],
  ['https://good.example/a%00', undecided],
  ['https://good.example//bad.example/', undecided],
  ['https://good.example/Köln', undecided],
  ['https://good.example/a"b', undecided],
])('the path of %s', (text, wanted) => {
  expect(path(text)).toBe(wanted);
});

test('an unclear path leaves the host decided', () => {
  const source = 'url(args.u).host == "good.example" && url(args.u).path.startsWith("/public/")';
  expect(answerOf(source, { u: 'https://good.example/public/../admin' })).toBe('unclear');
  expect(answerOf(source, { u: 'https://bad.example/public/../admin' })).toBe(false);
});

test.each([
  ['https://good.example/a', 'HTTPS://good.example:443/a', true],
  ['https://good.example/a', 'https://good.example/b', false],
  ['https://good.example/a', 'https://good.example/a?b', false],
  ['https://good.example/a', 'https://good.example/b/../a', 'unclear'],
  ['https://good.example/a', 'http://good.example/b/../a', false],
])('%s equals %s: %s', (a, b, equal) => {
  expect(answerOf('url(args.a) == url(args.b)', { a, b })).toBe(equal);
});

test('a URL of the condition that programs read in different ways is refused', () => {
  expect(problemOf('url(args.u) == url("https://a@good.example/")')).toContain(
    'calls url with the URL "https://a@good.example/", whose host not all programs read alike',
  );
});
