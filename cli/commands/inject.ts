// `tollgate inject`: changes pods in files as the injection webhook does, with the same code. It contacts no control
// plane.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { InjectSettings, Outcome } from '@tollgate/inject';
import { isRow, type Row } from '../api/answer.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';
import { type Manifest, readManifests } from '../manifests.ts';
import { readAll } from '../policies/policy-files.ts';
import { writeAll } from '../print/print.ts';

interface Options {
  readonly file: readonly string[];
  readonly settings?: string;
  readonly image?: string;
  readonly controlPlane?: string;
  readonly mode?: string;
  readonly enrol?: string;
  readonly ca?: string;
}

export function addInjectCommand(program: Command, cli: Cli): void {
  program
    .command('inject')
    .description('add the sidecar to pods and their controllers, as the webhook does, and print them as YAML; needs no control plane')
    .requiredOption('-f, --file <path...>', 'YAML or JSON files, each with any number of documents; - is standard input')
    .option('-s, --settings <file>', 'the settings of the webhook')
    .option('--image <image>', 'image of the sidecar; replaces the value of the settings')
    .option('--control-plane <host:port>', 'gRPC address of the control plane; replaces the value of the settings')
    .option('--mode <mode>', 'native or plain, for pods that do not set it')
    .option('--enrol <host:port>', 'where sidecars get certificates; replaces the value of the settings')
    .option('--ca <file>', 'the authorities with which sidecars verify the control plane, as `tollgate ca` prints them')
    .action(act(cli, injectFiles));
}

async function injectFiles({ world, options, print }: Asked<Options>): Promise<void> {
  const { diff, injectDocument } = await import('@tollgate/inject');
  const settings = await settingsFrom(options);
  const manifests = (await Promise.all(options.file.map((file) => read(file, world.stdin)))).flat();
  if (manifests.length === 0) throw new Failure(`there is no document in ${options.file.join(', ')}`);
  const done = manifests.map((manifest) => ({ manifest, ...injectDocument(manifest.value, settings) }));
  const problems = done.flatMap(({ manifest, outcomes }) => outcomes.flatMap((outcome) => problemLines(manifest, outcome)));
  if (problems.length > 0) throw new Failure('the input has problems, so nothing was written', problems);
  for (const { manifest, outcomes } of done)
    for (const outcome of outcomes) for (const line of noteLines(outcome)) print.note(`${manifest.place}: ${line}`);
  if (print.json) return print.lines(jsonOf(done.map(({ value }) => value)), []);
  const texts = done.map(({ manifest, value }) => manifest.write(diff(manifest.value, value), value));
  return writeAll(world.stdout, texts.join('---\n'));
}

/** Returns one value as it is, and several values as a `List`, which kubectl accepts. */
const jsonOf = (values: readonly unknown[]): unknown =>
  values.length === 1 ? values[0] : { apiVersion: 'v1', kind: 'List', items: values };

const problemLines = ({ place }: Manifest, { name, problems }: Outcome): readonly string[] =>
  problems.map(({ path, message }) => `${place}: ${name}: ${path === '' ? '' : `${path} `}${message}`);

function noteLines({ name, kind, warnings }: Outcome): readonly string[] {
  switch (kind) {
    case 'injected':
      return [`${name} is injected`, ...warnings.map((warning) => `${name}: ${warning}`)];
    case 'left':
      return [`${name} is not changed, because of its label`];
    case 'foreign':
      return warnings.map((warning) => `${name} ${warning}`);
    case 'refused':
      return [];
  }
}

async function settingsFrom({ settings: path, image, controlPlane, mode, enrol, ca: caFile }: Options): Promise<InjectSettings> {
  const { missingIn, readSettings } = await import('@tollgate/inject');
  const given = path === undefined ? {} : await readOne(path);
  const ca = caFile === undefined ? undefined : await readText(caFile);
  const said = Object.entries({ image, controlPlane, mode, enrol, ca }).filter(([, value]) => value !== undefined);
  const read = readSettings({ ...given, ...Object.fromEntries(said) });
  const problems = 'problems' in read ? read.problems : missingIn(read.settings);
  if ('settings' in read && problems.length === 0) return read.settings;
  const where = path === undefined ? 'without --settings' : path;
  throw new Failure(
    'the settings have problems',
    problems.map(({ path: at, message }) => `${where}: ${at} ${message}${flagFor(at)}`),
  );
}

const flags: Readonly<Record<string, string>> = {
  image: '--image',
  controlPlane: '--control-plane',
  mode: '--mode',
  enrol: '--enrol',
  ca: '--ca',
};
const flagFor = (field: string): string => (flags[field] === undefined ? '' : ` (${flags[field]})`);

async function readOne(path: string): Promise<Row> {
  const read = await readManifests(path, await readText(path));
  if ('problems' in read) throw new Failure('the settings have problems', read.problems);
  const value = read.manifests.length === 0 ? {} : read.manifests[0]?.value;
  if (read.manifests.length > 1 || !isRow(value))
    throw new Failure(`${path} must contain one YAML mapping with the settings of the injection`);
  return value;
}

async function read(file: string, stdin: Asked<Options>['world']['stdin']): Promise<readonly Manifest[]> {
  const read = file === '-' ? await readManifests('standard input', await readAll(stdin)) : await readManifests(file, await readText(file));
  if ('problems' in read) throw new Failure('the input has problems, so nothing was written', read.problems);
  return read.manifests;
}

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new Failure(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read (${code})`, [], error);
  });
