// `tollgate policy test`: decides the calls of test files by policies in files, and compares the decisions with what the
// tests expect. It needs no control plane.
import type { Command } from 'commander';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { Failure } from '../failure.ts';
import { writeWhole } from '../files.ts';
import { findFiles, readText } from '../policies/policy-files.ts';
import { loadCompiler, runTestFile, type TestedFile } from '../policies/run-tests.ts';
import { parseTestFile } from '../policies/test-file.ts';
import { failedIn, reportJson, reportJunit, reportLines } from '../policies/test-report.ts';

interface Options {
  readonly junit?: string;
}

export function addPolicyTestCommand(group: Command, cli: Cli): void {
  group
    .command('test')
    .description(
      'decide the calls of test files by the policies that they name, without a control plane; exit code 2 if a decision is not as expected. The format: docs/reference/policy-tests.md',
    )
    .argument('<file...>', 'test files in YAML or JSON, or folders with *.test.yaml and *.test.json')
    .option('--junit <file>', 'also write the results to this file as JUnit XML')
    .action(act(cli, testPolicies));
}

async function testPolicies({ words, options, print, world }: Asked<Options>): Promise<ExitCode> {
  const compiler = await loadCompiler(world.version);
  const names = await findFiles(words, 'test');
  const problems: string[] = [];
  const files: TestedFile[] = [];
  for (const name of names) {
    const test = await parseTestFile(name, await readText(name));
    const tested = 'problems' in test ? test : await runTestFile(compiler, test);
    if ('problems' in tested) problems.push(...tested.problems);
    else files.push(tested);
  }
  const [first = ''] = problems;
  if (problems.length === 1) throw new Failure(first);
  if (problems.length > 1) throw new Failure('the tests or their policies have problems', problems);
  if (options.junit !== undefined) await writeWhole(options.junit, reportJunit(files));
  await print.lines(reportJson(files), reportLines(files, print.paint));
  return failedIn(files) === 0 ? 0 : 2;
}
