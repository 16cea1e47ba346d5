// `npm run test:hosts [-- <host or column> … | --write]`: runs real coding agents under hooks of this tree, against a scripted model, and says
// of each what holds. Ends with 1 where a cell is not what expected.ts says or was not run, and with 2 for words that name neither.
import { columnNames, columns, type ColumnName } from './columns.ts';
import { drivers } from './drivers/index.ts';
import type { Driver } from './driver.ts';
import { expected } from './expected.ts';
import { startModel } from './model.ts';
import { installProgram } from './programs.ts';
import { type Stage, startStage } from './stage.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Count {
  passed: number;
  failed: number;
}

async function runHost(stage: Stage, driver: Driver, names: readonly ColumnName[], count: Count): Promise<void> {
  const { name, version } = driver.package;
  say(`\n${driver.title} (${name} ${version})`);
  const model = await startModel(driver.shell);
  try {
    const program = await installProgram(driver);
    for (const column of names) {
      const startedAt = performance.now();
      const found = await columns[column]({ stage, driver, program, model }).catch((error: unknown) => `NOT RUN: ${String(error)}`);
      const wanted = expected.cells[driver.host]?.[column];
      const passed = found === wanted;
      count[passed ? 'passed' : 'failed'] += 1;
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      say(`  ${passed ? 'ok  ' : 'FAIL'} ${column.padEnd(26)}${seconds.padStart(6)} s  ${found}${passed ? '' : `\n       expected: ${wanted ?? 'nothing'}`}`);
    }
  } catch (error) {
    // What does not install has none of its cells.
    count.failed += names.length;
    say(`  FAIL ${String(error)}`);
  } finally {
    await model.close();
  }
}

const count: Count = { passed: 0, failed: 0 };
const words = process.argv.slice(2);
const hosts = drivers.filter(({ host }) => words.includes(host));
const asked = columnNames.filter((name) => words.includes(name));
const stage = await startStage();
try {
  for (const driver of hosts.length === 0 ? drivers : hosts) await runHost(stage, driver, asked.length === 0 ? columnNames : asked, count);
} finally {
  await stage.close();
}
say(`\n${count.passed} passed, ${count.failed} failed`);
if (count.failed > 0) process.exitCode = 1;
