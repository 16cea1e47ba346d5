// docs/reference/conditions-shell.md: the launchers, by the list of the function `shell`.
import { launchers } from '../../sidecar/engine/conditions/functions/launchers.ts';
import type { Page } from '../reference.ts';

const quoted = (names: readonly string[]): string =>
  [...names]
    .sort()
    .map((name) => `\`${name}\``)
    .join(', ');

export const page: Page = {
  path: 'docs/reference/conditions-shell.md',
  between: 'launchers',
  render: () =>
    [
      '',
      `Launchers with any words: ${quoted(launchers.always)}.`,
      '',
      'Launchers with some words, for example `git -c`, `find -exec`, `npm exec`, `sed s/a/b/e`, also where such a word may come from an expansion:',
      `${quoted(launchers.byWords)}.`,
      '',
    ].join('\n'),
};
