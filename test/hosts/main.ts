// `npm run test:hosts [-- <host or check> …] [--write]`: runs real coding agents with hooks of this tree, against a
// scripted model, and prints the result of each check. Ends with 1 where a cell differs from expected.json or could not
// be run, and with 2 for an unknown word. `--write` writes the results into expected.json and into the page, with
// today's date.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readArguments } from './arguments.ts';
import { type CheckName, checks } from './checks.ts';
import type { Driver } from './driver.ts';
import { endLeftRunning } from './end-left.ts';
import { startModel } from './model.ts';
import { installProgram } from './programs.ts';
import { type Stage, startStage } from './stage.ts';
import { type Row, renderTable, replaceTable, type Table } from './table.ts';

/** After this time the remaining checks of a host are skipped. */
const hostMs = 900_000;
const expectedPath = fileURLToPath(new URL('expected.json', import.meta.url));
const pagePath = fileURLToPath(new URL('../../docs/doors/coding-agents.md', import.meta.url));

const say = (text: string): void => void process.stdout.write(`${text}\n`);

type CheckResults = ReadonlyMap<CheckName, { readonly words: string } | { readonly problem: string }>;

async function runHost(stage: Stage, driver: Driver, names: readonly CheckName[]): Promise<CheckResults> {
  const found = new Map<CheckName, { readonly words: string } | { readonly problem: string }>();
  const deadline = Date.now() + hostMs;
  const model = await startModel();
  try {
    const program = await installProgram(driver);
    for (const name of names) {
      if (Date.now() > deadline) throw new Error(`${driver.title} has taken longer than ${hostMs / 1_000} s`);
      found.set(name, await checks[name]({ stage, driver, program, model }).then((words) => ({ words }), problemOf));
      await endLeftRunning(stage.folder, driver.host);
    }
  } catch (error) {
    // A host that cannot be installed has none of its cells.
    for (const name of names) if (!found.has(name)) found.set(name, problemOf(error));
  } finally {
    await model.close();
  }
  return found;
}

const problemOf = (error: unknown): { readonly problem: string } => ({ problem: error instanceof Error ? error.message : String(error) });

interface Count {
  passed: number;
  failed: number;
}

/** Prints whether each cell is as expected, and returns the current row. */
function judge(
  driver: Driver,
  found: CheckResults,
  { known, count, write }: { known: Row | undefined; count: Count; write: boolean },
): Row {
  const { name: npm, version } = driver.package;
  const cells = { ...known?.cells };
  say(`\n${driver.title}, ${npm}@${version}`);
  for (const [name, cell] of found) {
    const wanted = known?.version === version ? known.cells[name] : undefined;
    const passed = 'words' in cell && (write || cell.words === wanted);
    count[passed ? 'passed' : 'failed'] += 1;
    const words = 'words' in cell ? cell.words : `NOT RUN: ${cell.problem}`;
    say(`  ${passed ? 'ok  ' : 'FAIL'}  ${name.padEnd(14)}  ${words}`);
    if (!passed) say(`        ${''.padEnd(14)}  expected: ${wanted ?? 'nothing: run it with --write'}`);
    if ('words' in cell) cells[name] = cell.words;
  }
  return { version, cells };
}

async function main(words: readonly string[]): Promise<number> {
  const asked = readArguments(words);
  if (asked.kind === 'refused') {
    process.stderr.write(`${asked.problem}\n`);
    return 2;
  }
  // Only this program writes it, below.
  const expected: Table = JSON.parse(readFileSync(expectedPath, 'utf8'));
  const hosts = { ...expected.hosts };
  const count: Count = { passed: 0, failed: 0 };
  const stage = await startStage();
  try {
    for (const driver of asked.drivers) {
      const found = await runHost(stage, driver, asked.checks);
      hosts[driver.host] = judge(driver, found, { known: expected.hosts[driver.host], count, write: asked.write });
    }
  } finally {
    await stage.close();
  }
  if (asked.write) writeDown({ date: new Date().toISOString().slice(0, 10), hosts });
  say(`\n${count.passed} passed, ${count.failed} failed`);
  return count.failed === 0 ? 0 : 1;
}

function writeDown(table: Table): void {
  writeFileSync(expectedPath, `${JSON.stringify(table, null, 2)}\n`);
  writeFileSync(pagePath, replaceTable(readFileSync(pagePath, 'utf8'), renderTable(table)));
}

process.exitCode = await main(process.argv.slice(2));
