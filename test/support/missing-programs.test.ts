import { expect, test } from 'vitest';
import { linesOf } from './missing-programs.ts';

test('where no test was skipped nothing is printed', () => {
  expect(linesOf(new Map())).toEqual([]);
});

test('each missing program is named with its tests, and one line installs each package once', () => {
  expect(
    linesOf(
      new Map([
        ['zsh', 1],
        ['promtool', 73],
        ['prometheus', 6],
      ]),
    ),
  ).toEqual([
    'Skipped, because a program is not installed:',
    '  prometheus  6 tests',
    '  promtool    73 tests',
    '  zsh         1 test',
    'On Debian this installs what is missing:',
    '  apt-get install --no-install-recommends prometheus zsh',
  ]);
});

test('a program without a Debian package is installed by a script of ours', () => {
  expect(linesOf(new Map([['envoy', 2]]))).toEqual([
    'Skipped, because a program is not installed:',
    '  envoy       2 tests',
    'On Debian this installs what is missing:',
    '  bash test/support/install-envoy',
  ]);
});
