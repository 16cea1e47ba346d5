// `npm run release -- --dry-run [--out <folder>] [--only npm,python,chart,images]`: makes every artefact of a release from
// the commit that is checked out, with lists of parts and checksums, and publishes nothing. Without `--dry-run` it makes
// nothing, prints how a maintainer publishes, and ends with 2. `--set-version 1.2.3` writes the version in every place that
// has one. Ends with 1 where an artefact could not be made, and with 2 where it could not begin.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkLists, exportCommit, installTools, type Kind, kinds, make, type Release, sumOf } from './release/make.ts';
import { findDifferences, readVersion, setVersion } from './release/places.ts';
import { howToPublish } from './release/publishing.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const git = (...words: readonly string[]): string => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
const say = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);
const sums = 'SHA256SUMS';

/** Which bytes another run of the same commit makes. */
const reproducible: Readonly<Record<string, string>> = {
  npm: 'the same bytes with the same Node and npm',
  python: 'the same bytes',
  chart: 'the same bytes',
  images:
    'the same layers while the base is kept, which has the packages of Debian of the day; podman writes the random id of a container into the configuration',
  sbom: 'as what it describes; tollgate-client has the versions of anyio and h11 that PyPI has on the day',
};

const readOptions = () =>
  parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      out: { type: 'string' },
      only: { type: 'string' },
      'set-version': { type: 'string' },
    },
  }).values;

/** What keeps the release from its begin. */
function findProblems(wanted: readonly string[], out: string): readonly string[] {
  const unknown = wanted.filter((one) => kinds.every((kind) => kind !== one));
  const changed = git('status', '--porcelain');
  return [
    ...unknown.map((one) => `--only has ${one}; known are ${kinds.join(', ')}`),
    ...findDifferences(read).map((one) => `${one}; npm run release -- --set-version sets all`),
    ...(changed === '' ? [] : [`a release is made of a commit, and these files are in none; commit them first:\n${changed}`]),
    ...(wanted.includes('images') && process.getuid?.() !== 0
      ? ['images are built as root, on Debian (deploy/README.md, "Tests"); leave them out by --only npm,python,chart']
      : []),
    ...(existsSync(out) && !existsSync(join(out, sums)) ? [`${out} is there and is no release; name another folder by --out`] : []),
  ];
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .toSorted();

async function makeAll(wanted: readonly Kind[], out: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'tollgate-release-'));
  const part = `${out}.part`;
  const revision = git('rev-parse', 'HEAD');
  const epoch = Number(git('log', '-1', '--format=%ct', revision));
  const release: Release = { version: readVersion(read), revision, epoch, source: join(work, 'source'), out: part, work };
  const step = async (name: string, action: () => void | Promise<void>): Promise<void> => {
    say(`== ${name}`);
    await action();
  };
  try {
    rmSync(part, { recursive: true, force: true });
    mkdirSync(part, { recursive: true });
    await step(`version ${release.version}, commit ${revision}`, () => exportCommit(root, release));
    await step('tools', () => installTools(release));
    for (const kind of wanted) await step(kind, () => make(kind, release));
    await step('lists of parts', () => checkLists(release));
    const lines = filesIn(part).map((name) => `${sumOf(join(part, name))}  ${name}\n`);
    writeFileSync(join(part, sums), lines.join(''));
    rmSync(out, { recursive: true, force: true });
    renameSync(part, out);
  } finally {
    rmSync(work, { recursive: true, force: true });
    rmSync(part, { recursive: true, force: true });
  }
}

function show(out: string): void {
  const files = filesIn(out);
  say('', `${files.length} files in ${relative(process.cwd(), out) || '.'}:`);
  for (const name of files) say(`${String(statSync(join(out, name)).size).padStart(11)}  ${name}`);
  say('', 'What another run of this commit makes:');
  for (const kind of [...kinds, 'sbom']) if (existsSync(join(out, kind))) say(`  ${kind.padEnd(8)}${reproducible[kind]}`);
  say('', `checksums: ${join(relative(process.cwd(), out), sums)}. Nothing was published.`);
}

async function main(): Promise<number> {
  const options = readOptions();
  const version = options['set-version'];
  if (version !== undefined) {
    const texts = setVersion(version, read);
    for (const [path, text] of texts) writeFileSync(join(root, path), text);
    say(...[...texts.keys()].map((path) => `${path} was written`), `${texts.size} files have the version ${version}`);
    const left = findDifferences(read);
    if (left.length > 0) say('by hand:', ...left.map((one) => `  ${one}`));
    return 0;
  }
  const shown = options.out ?? `dist/release/tollgate-${readVersion(read)}`;
  if (!options['dry-run']) {
    process.stderr.write(`${howToPublish(readVersion(read), shown)}\n`);
    return 2;
  }
  const wanted = options.only?.split(',') ?? kinds;
  const out = resolve(root, shown);
  const problems = findProblems(wanted, out);
  if (problems.length > 0) {
    process.stderr.write(`${problems.join('\n')}\n`);
    return 2;
  }
  // A Ctrl-C ends the running tool, and then this program cleans up.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => {});
  mkdirSync(dirname(out), { recursive: true });
  await makeAll(
    kinds.filter((kind) => wanted.includes(kind)),
    out,
  );
  show(out);
  return 0;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  return 1;
});
