// Prints at the end of a test run which tests were skipped because a Debian program is missing, and the command that
// installs everything missing. vitest.config.ts names it as a reporter; installed.ts marks the tests.
import type { Reporter, TestModule } from 'vitest/node';
import { type Program, type ProgramName, programs } from './installed.ts';

export default class MissingPrograms implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = linesOf(countSkipped(modules));
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n\n`);
  }
}

type SkippedTests = ReadonlyMap<ProgramName, number>;

function countSkipped(modules: readonly TestModule[]): SkippedTests {
  const skipped = new Map<ProgramName, number>();
  for (const module of modules)
    for (const test of module.children.allTests('skipped')) {
      const { missingProgram } = test.meta();
      if (missingProgram !== undefined) skipped.set(missingProgram, (skipped.get(missingProgram) ?? 0) + 1);
    }
  return skipped;
}

export function linesOf(skipped: SkippedTests): readonly string[] {
  if (skipped.size === 0) return [];
  const rows = [...skipped].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const missing = rows.map(([name]): Program => programs[name]);
  const packages = distinct(missing.map((program) => program.package));
  const scripts = distinct(missing.map(({ script }) => script));
  return [
    'Skipped, because a program is not installed:',
    ...rows.map(([program, tests]) => `  ${program.padEnd(12)}${tests} ${tests === 1 ? 'test' : 'tests'}`),
    'On Debian this installs what is missing:',
    ...(packages.length === 0 ? [] : [`  apt-get install --no-install-recommends ${packages.join(' ')}`]),
    ...scripts.map((script) => `  bash ${script}`),
  ];
}

const distinct = (names: readonly (string | undefined)[]): readonly string[] =>
  [...new Set(names.filter((name) => name !== undefined))].toSorted();
