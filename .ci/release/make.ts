// Makes the artefacts of a release, each kind by the tool of its ecosystem, and the lists of their parts. Everything is
// built from the files of one commit, in a folder of its own: what a checkout has besides does not get in. Called by
// `.ci/release.ts`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { type Bom, listOfDistribution, listOfPackage, textOf } from './sbom.ts';

export const kinds = ['npm', 'python', 'chart', 'images'] as const;
export type Kind = (typeof kinds)[number];

export interface Release {
  readonly version: string;
  readonly revision: string;
  /** The time of the commit, in seconds: SOURCE_DATE_EPOCH of all tools. */
  readonly epoch: number;
  /** The files of the commit. */
  readonly source: string;
  /** Where the artefacts are written, below a folder for each kind. */
  readonly out: string;
  /** For what is needed on the way. */
  readonly work: string;
}

/** The packages that are published, each after those that it needs: folder and name. */
export const packages: readonly (readonly [folder: string, name: string])[] = [
  ['proto', '@tollgate/proto'],
  ['deploy/inject', '@tollgate/inject'],
  ['sidecar', '@tollgate/sidecar'],
  ['cli', '@tollgate/cli'],
  ['console', '@tollgate/console'],
  ['control-plane', '@tollgate/control-plane'],
];

export const tarballOf = (name: string, version: string): string => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;

/** Runs a program in the folder of the commit; what it prints is shown. */
function run({ source, epoch, version, revision }: Release, program: string, ...words: readonly string[]): void {
  // Without what `npm run` sets for this checkout.
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:npm_(?:package|lifecycle)_|INIT_CWD$|TOLLGATE_)/.test(name));
  execFileSync(program, words, {
    cwd: source,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...Object.fromEntries(kept),
      CI: 'true',
      SOURCE_DATE_EPOCH: String(epoch),
      RELEASE_VERSION: version,
      RELEASE_REVISION: revision,
      npm_config_fund: 'false',
      npm_config_audit: 'false',
      npm_config_update_notifier: 'false',
    },
  });
}

export const sumOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Writes the files of the commit into `source`. `root`: the checkout. */
export function exportCommit(root: string, { source, work, revision }: Release): void {
  const archive = join(work, 'source.tar');
  execFileSync('git', ['archive', `--output=${archive}`, revision], { cwd: root });
  mkdirSync(source);
  execFileSync('tar', ['--extract', '--no-same-owner', '--file', archive, '--directory', source]);
}

export async function make(kind: Kind, release: Release): Promise<void> {
  const to = folderOf(release, kind);
  switch (kind) {
    case 'npm':
      return makePackages(release, to);
    case 'python':
      return makePython(release, to);
    case 'chart':
      return run(release, '.ci/release/chart', to);
    case 'images':
      return makeImages(release, to);
  }
}

function folderOf({ out }: Release, name: string): string {
  const folder = join(out, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

function makePackages(release: Release, to: string): void {
  const { source, version } = release;
  run(release, 'npm', 'ci', '--ignore-scripts', '--no-progress', '--prefer-offline');
  run(release, 'npm', 'run', '--silent', 'build');
  run(release, 'npm', 'run', '--silent', 'console');
  for (const [folder] of packages) run(release, 'npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', to, `./${folder}`);
  run(release, '.ci/release/check-tarballs', ...packages.map(([, name]) => join(to, tarballOf(name, version))));
  // Of the lock file, so that a list has what was tested. It has everything: `--omit=dev` leaves out what the repository
  // needs for tests, also where a package needs it to run. Of our packages only the console, which is one bundle, needs
  // others to be built, and its list has those.
  const listing = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
    cwd: source,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const whole: Bom = JSON.parse(listing);
  for (const [folder, name] of packages) {
    const file = tarballOf(name, version);
    const sha256 = sumOf(join(to, file));
    writeList(
      release,
      file.replace(`-${version}.tgz`, ''),
      listOfPackage(whole, `${name}@${version}`, { sha256, isBundle: folder === 'console' }),
    );
  }
}

const writeList = (release: Release, name: string, bom: Bom): void =>
  writeFileSync(join(folderOf(release, 'sbom'), `${name}.cdx.json`), textOf(bom, release.epoch));

const toolsOf = ({ work }: Release): string => join(work, 'python-tools');

/** Installs the pinned tools that PyPI has, which other steps use too. */
export function installTools(release: Release): void {
  const tools = toolsOf(release);
  const pip = [join(tools, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check'] as const;
  run(release, 'python3', '-m', 'venv', tools);
  // Older versions of pip cannot read groups.
  run(release, ...pip, 'pip>=25.1');
  run(release, ...pip, '--group', 'clients/python/pyproject.toml:release');
}

function makePython(release: Release, to: string): void {
  const sbom = folderOf(release, 'sbom');
  run(release, '.ci/release/python', toolsOf(release), to, sbom);
  const name = 'tollgate-client';
  const wheel = readdirSync(to).find((file) => file.endsWith('.whl')) ?? '';
  const made: Bom = JSON.parse(readFileSync(join(sbom, `${name}.cdx.json`), 'utf8'));
  writeList(release, name, listOfDistribution(made, release.version, sumOf(join(to, wheel))));
}

async function makeImages(release: Release, to: string): Promise<void> {
  const { version, work } = release;
  run(release, 'deploy/test/release-images', to);
  for (const file of readdirSync(to)) {
    const name = file.replace(`-${version}-linux-amd64.tar.gz`, '');
    const archive = join(work, `${name}.tar`);
    const list = join(work, `${name}.json`);
    await pipeline(createReadStream(join(to, file)), createGunzip(), createWriteStream(archive));
    const named = ['--source-name', name, '--source-version', version];
    run(
      release,
      join(toolsOf(release), 'bin/syft'),
      'scan',
      '--quiet',
      `docker-archive:${archive}`,
      ...named,
      '--output',
      `cyclonedx-json=${list}`,
    );
    // The package of npm has the same name.
    writeList(release, `image-of-${name}`, JSON.parse(readFileSync(list, 'utf8')));
  }
}

/** Fails where a list of parts does not conform to its format. */
export function checkLists(release: Release): void {
  const sbom = folderOf(release, 'sbom');
  const lists = readdirSync(sbom).map((name) => join(sbom, name));
  run(release, join(toolsOf(release), 'bin/python'), '.ci/release/validate-sbom.py', ...lists);
}
