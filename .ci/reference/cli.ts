// docs/reference/cli.md: the help of every command, as test/frozen holds it. Options that all commands have are shown
// once.
import { readFileSync } from 'node:fs';
import type { Page } from '../reference.ts';

const isGlobal = (section: string): boolean => section.startsWith('Global Options:');

/** The help without the options that every command has. */
const ownHelp = (help: string): string =>
  help
    .split('\n\n')
    .filter((section) => !isGlobal(section))
    .join('\n\n')
    .trimEnd();

function sectionOf(text: string): string {
  const [first = '', ...lines] = text.split('\n');
  const command = first.replace(/ --help$/, '');
  return `## ${command}\n\n\`\`\`text\n${ownHelp(lines.join('\n'))}\n\`\`\``;
}

export const page: Page = {
  path: 'docs/reference/cli.md',
  render: () => {
    const frozen = readFileSync(new URL('../../test/frozen/cli.txt', import.meta.url), 'utf8');
    const sections = frozen
      .split(/^\$ /m)
      .slice(1)
      .map((section) => section.trimEnd());
    return [
      '# Command line',
      'Generated from the help of the commands by `npm run reference`. `tollgate <command> --help` prints the same.',
      'Every command takes the options of `tollgate` itself: `--json`, `--url`, `--profile`, `--timeout`, `--version`.',
      ...sections.map(sectionOf),
    ].join('\n\n');
  },
};
