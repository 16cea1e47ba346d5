// `path(text).within(folder)`: for each way to leave a folder, no, or undecided; never yes.
import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerOf, problemOf } from './answers.ts';

const within = (p: unknown, folder: string) => answerOf('path(args.p).within(args.folder)', { p, folder });

describe('within "/srv"', () => {
  test.each<readonly [what: string, path: unknown, answer: boolean | string]>([
    ['the folder itself', '/srv', true],
    ['a final slash', '/srv/', true],
    ['a file', '/srv/a.txt', true],
    ['a folder below', '/srv/a/b/', true],
    ['spaces and signs', "/srv/My files/a b & c's #1 (copy).txt", true],
    ['letters of other scripts', '/srv/Ünïcode/文件.txt', true],
    ['a percent sign that encodes nothing', '/srv/100%', true],
    ['a harmless encoding', '/srv/a%20b', true],
    ['single dots', '/srv/./a/./b', true],
    ['dots inside', '/srv/a/../b', true],
    ['dots in names', '/srv/..a/b../c..d/.env', true],
    ['repeated slashes inside', '/srv///a', true],
    ['a folder that begins alike', '/srvx/a', false],
    ['a file that begins alike', '/srv.txt', false],
    ['another folder', '/etc/passwd', false],
    ['the root', '/', false],
    ['another case', '/SRV/a', false],
    ['dots out', '/srv/../etc/passwd', false],
    ['dots out and in', '/srv/../srv/a', true],
    ['dots above the root', '/../../srv/../etc', false],
    ['dots behind a longer way', '/srv/a/b/../../../etc', false],
    ['dots behind repeated slashes', '/srv//..//etc', false],
    ['relative', 'srv/a', 'unclear'],
    ['relative with dots', './srv', 'unclear'],
    ['empty', '', 'unclear'],
    ['home', '~/srv', 'unclear'],
    ['another home', '~root/srv', 'unclear'],
    ['a URL', 'file:///srv/a', 'unclear'],
    ['a drive', 'C:/srv/a', 'unclear'],
    ['two slashes first', '//srv/a', 'unclear'],
    ['encoded dots', '/srv/%2e%2e/etc', 'unclear'],
    ['one encoded dot', '/srv/.%2E/etc', 'unclear'],
    ['an encoded slash', '/srv/..%2fetc', 'unclear'],
    ['dots encoded twice', '/srv/%252e%252e/etc', 'unclear'],
    ['a slash encoded twice', '/srv/..%252fetc', 'unclear'],
    ['an encoded backslash', '/srv/..%5cetc', 'unclear'],
    ['an encoded NUL', '/srv/a%00/../../etc', 'unclear'],
    ['an encoded line break', '/srv/a%0ab', 'unclear'],
    ['an overlong encoding', '/srv/%c0%ae%c0%ae/etc', 'unclear'],
    ['a %u encoding', '/srv/%u002e%u002e/etc', 'unclear'],
    ['an encoded fullwidth dot', '/srv/%ef%bc%8e%ef%bc%8e/etc', 'unclear'],
    ['an encoding with a fullwidth percent sign', '/srv/\uff052e\uff052e/etc', 'unclear'],
    ['an encoded space behind dots', '/srv/..%20/etc', 'unclear'],
    ['a backslash', '/srv\\..\\etc', 'unclear'],
    ['NUL', '/srv/a\0/../../etc', 'unclear'],
    ['a line break', '/srv/a\n/etc', 'unclear'],
    ['a tab', '/srv/.\t./etc', 'unclear'],
    ['delete', '/srv/.\u007f./etc', 'unclear'],
    ['a C1 control character', '/srv/\u0085/a', 'unclear'],
    ['a character that is not shown', '/srv/.\u200b./etc', 'unclear'],
    ['a change of direction', '/srv/\u202eetc', 'unclear'],
    ['a soft hyphen', '/srv/.\u00ad./etc', 'unclear'],
    ['a variation selector', '/srv/.\ufe0f./etc', 'unclear'],
    ['an unpaired surrogate', '/srv/\ud800', 'unclear'],
    ['a line separator', '/srv/\u2028a', 'unclear'],
    ['fullwidth dots', '/srv/\uff0e\uff0e/etc', 'unclear'],
    ['a fullwidth slash', '/srv/..\uff0fetc', 'unclear'],
    ['a fullwidth backslash', '/srv/..\uff3cetc', 'unclear'],
    ['a two dot leader', '/srv/\u2025/etc', 'unclear'],
    ['one dot leaders', '/srv/\u2024\u2024/etc', 'unclear'],
    ['ideographic full stops', '/srv/\u3002\u3002/etc', 'unclear'],
    ['a fraction slash', '/srv/..\u2044etc', 'unclear'],
    ['a division slash', '/srv/..\u2215etc', 'unclear'],
    ['a letter that contains a slash', '/srv/\u2100', 'unclear'],
    ['a yen sign', '/srv/..\u00a5etc', 'unclear'],
    ['a won sign', '/srv/..\u20a9etc', 'unclear'],
    ['dots and a space', '/srv/.. /etc', 'unclear'],
    ['three dots', '/srv/.../etc', 'unclear'],
    ['dots with a parameter', '/srv/..;a=b/etc', 'unclear'],
    ['a long path', `/srv/${'a/'.repeat(2_000)}`, true],
    ['a longer one', `/srv/${'a/'.repeat(3_000)}`, 'unclear'],
    ['a megabyte', `/srv/${'../'.repeat(350_000)}`, 'unclear'],
    ['no text', 1, 'type'],
    ['null', null, 'type'],
    ['a list', ['/srv/a'], 'type'],
    ['an object', { toString: '/srv/a' }, 'type'],
  ])('%s', (_what, path, answer) => {
    expect(within(path, '/srv')).toBe(answer);
    expect(answerOf('path(args.p).within("/srv")', { p: path })).toBe(answer);
  });
});

test.each([
  ['/srv/', '/srv/a', true],
  ['/srv/', '/srv', true],
  ['/srv/../opt', '/opt/a', true],
  ['/', '/etc/passwd', true],
  ['srv', '/srv/a', 'unclear'],
  ['/srv/%2e', '/srv/a', 'unclear'],
])('within %j: %j', (folder, path, answer) => {
  expect(within(path, folder)).toBe(answer);
});

test('paths compare by their folders', () => {
  expect(answerOf('path(args.p) == path("/srv/a/")', { p: '/srv/b/../a' })).toBe(true);
  expect(answerOf('path(args.p) == path("/srv/a")', { p: '/srv/A' })).toBe(false);
  expect(answerOf('path(args.p) == path("/srv/a")', { p: 'a' })).toBe('unclear');
});

test.each([
  ['path(args.p).within("srv")', 'calls within with the folder "srv", which is no absolute path that all programs read alike'],
  ['path("../a").within(args.p)', 'calls path with the path "../a", which is no absolute path that all programs read alike'],
])('%s is refused', (source, problem) => {
  expect(problemOf(source)).toContain(problem);
});

test('a loop over many long paths ends at the budget', () => {
  const files = Array.from({ length: 1_500 }, () => `/srv/${'a/'.repeat(2_000)}`);
  expect(answerOf('args.files.all(f, path(f).within("/srv"))', { files: files.slice(0, 500) })).toBe(true);
  expect(answerOf('args.files.all(f, path(f).within("/srv"))', { files: files })).toBe('budget');
});

test('what is decided agrees with the normal form of POSIX', () => {
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('/', '..', '.', 'srv', 'a', '/srv/', '/../') },
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom('%2e', '%2f', '\\', '~', ' ', ';', '\uff0f'),
  );
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`);
  const decided = { yes: 0, no: 0, undecided: 0 };
  fc.assert(
    fc.property(text, fc.constantFrom('/srv', '/srv/a', '/'), (path, folder) => {
      const answer = within(path, folder);
      decided[answer === true ? 'yes' : answer === false ? 'no' : 'undecided'] += 1;
      const normal = posix.normalize(path).replace(/(?<=.)\/$/, '');
      return typeof answer !== 'boolean' || answer === (folder === '/' || normal === folder || normal.startsWith(`${folder}/`));
    }),
    { numRuns: 2_000 },
  );
  for (const count of Object.values(decided)) expect(count).toBeGreaterThan(100);
});
