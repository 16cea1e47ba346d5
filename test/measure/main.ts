// Reads the arguments, measures, prints, and removes temporary files. Loaded by index.js.
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArguments, usage } from './arguments.ts';
import { checkOut, findCommit } from '../support/checkout/check-out.ts';
import { type Cleanup, createCleanup } from '../support/checkout/cleanup.ts';
import { type Measurement, measure } from './measured.ts';
import { formatReport } from './report.ts';

const own = realpathSync(fileURLToPath(new URL('../..', import.meta.url)));

async function main(): Promise<number> {
  const parsed = parseArguments(process.argv.slice(2));
  if (parsed.kind === 'help') return print(usage, 0);
  if (parsed.kind === 'wrong') return complain(`${parsed.problem}\n\n${usage}`, 2);
  const { at, staticOnly, json } = parsed.options;
  const commit = at === null ? null : findCommit(own, at);
  if (at !== null && commit === null) return complain(`--at: ${at} is no commit of this repository`, 2);
  const cleanup = createCleanup();
  for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) process.once(signal, () => void stop(cleanup, code));
  try {
    const root = commit === null ? own : checkOut(own, commit, cleanup);
    const measured = await measure({ own, root, commit, staticOnly }, cleanup);
    return print(json ? `${JSON.stringify(measured, null, 2)}\n` : formatReport(measured), isWhole(measured) ? 0 : 1);
  } catch (error) {
    return complain(error instanceof Error ? error.message : String(error), 1);
  } finally {
    for (const problem of await cleanup.run()) complain(problem, 1);
  }
}

const isWhole = ({ ways }: Measurement): boolean => Object.values(ways ?? {}).every(({ measured }) => measured);

async function stop(cleanup: Cleanup, code: number): Promise<void> {
  // A measurement in progress fails, and adds nothing that is not undone.
  await cleanup.run();
  process.exit(code);
}

function print(text: string, code: number): number {
  process.stdout.write(text);
  return code;
}

function complain(text: string, code: number): number {
  process.stderr.write(`${text}\n`);
  return code;
}

process.exitCode = await main();
