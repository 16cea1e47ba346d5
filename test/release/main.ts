// `npm run test:long -- release`: makes the artefacts of a release twice and compares all bytes, then runs every block of
// docs/operate/install-from-files.md in an empty folder that has the artefacts and no checkout. `--artefacts <folder>` runs
// the page alone, with what `npm run release` made. Its last line is `release: N checks, M failed`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readPages } from '../readme/pages.ts';
import { runPage } from '../readme/run-page.ts';
import { findTakenPorts, makeBareScratch } from '../readme/scratch.ts';
import { compareSums } from './compare-sums.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const name = 'docs/operate/install-from-files.md';
/** A block installs, from the registry, what the packages need. */
const limitMs = 600_000;

const { values } = parseArgs({ options: { artefacts: { type: 'string' } } });
const say = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

/** Returns null where the release could not be made. */
function makeRelease(out: string): string | null {
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', '.ci/release.ts', '--dry-run', '--out', out], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status === 0 ? out : null;
}

/** The lines of what differs between two runs, or of the run that failed. */
function makeTwice(folder: string): { readonly problems: readonly string[]; readonly made: string | null } {
  const first = makeRelease(join(folder, 'first'));
  const second = first === null ? null : makeRelease(join(folder, 'second'));
  if (first === null || second === null) return { problems: ['npm run release -- --dry-run failed'], made: first };
  const read = (made: string): string => readFileSync(join(made, 'SHA256SUMS'), 'utf8');
  return { problems: compareSums(read(first), read(second)), made: first };
}

async function runInstall(artefacts: string): Promise<readonly (string | null)[]> {
  const { pages, problems } = readPages(root, [name]);
  const taken = await findTakenPorts(pages.flatMap(({ blocks }) => blocks));
  const found = [...problems, ...taken.map((port) => `port ${port} of 127.0.0.1, which the page uses, is taken`)];
  if (found.length > 0) return found;
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  const checks: (string | null)[] = [];
  for (const page of pages)
    for (const { problem } of await runPage(page, makeBareScratch(artefacts), limitMs, stop.signal)) checks.push(problem);
  return checks;
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-two-releases-'));
  try {
    const { problems, made } = values.artefacts === undefined ? makeTwice(folder) : { problems: [], made: values.artefacts };
    for (const problem of problems) say(`FAILED  ${problem}`);
    const twice = values.artefacts === undefined ? [problems.length === 0 ? null : 'two runs differ'] : [];
    const checks = [...twice, ...(made === null ? [] : await runInstall(made))];
    const failed = checks.filter((problem) => problem !== null);
    say(...failed.map((problem) => `FAILED  ${problem}`), `release: ${checks.length} checks, ${failed.length} failed`);
    return failed.length === 0 && checks.length > 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
