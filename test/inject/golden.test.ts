// Runs `tollgate inject` on files, in both modes, and compares the result with the stored files.
// TOLLGATE_TEST_GOLDEN=write stores the current results: look at the difference before you commit it.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { inject } from '../../deploy/inject/inject.ts';
import { readSettings } from '../../deploy/inject/settings.ts';
import { run } from '../cli/cli.ts';

const folder = fileURLToPath(new URL('../cases/inject/', import.meta.url));
const files = readdirSync(folder);
const cases = files.flatMap((file) => (file.endsWith('.input.yaml') ? [file.slice(0, -'.input.yaml'.length)] : []));
const modes = ['native', 'plain'] as const;
const isWriting = process.env['TOLLGATE_TEST_GOLDEN'] === 'write';

const text = (file: string): string => readFileSync(`${folder}${file}`, 'utf8');

/** A case may have its own settings. */
const settingsOf = (name: string): string => `${folder}${files.includes(`${name}.settings.yaml`) ? `${name}.` : ''}settings.yaml`;

/** Returns what is written, with the messages as a comment above it. */
async function injected(
  name: string,
  mode: string,
  input = text(`${name}.input.yaml`),
): Promise<{ readonly out: string; readonly golden: string }> {
  const { code, out, err } = await run(['inject', '-f', '-', '--settings', settingsOf(name), '--mode', mode], { stdin: input });
  const said = err
    .trimEnd()
    .split('\n')
    .map((line) => `# ${line}\n`);
  return { out, golden: `# exit code ${code}\n${said.join('')}${out}` };
}

describe.each(cases)('%s', (name) => {
  test.each(modes)('gives the stored result, in mode %s', async (mode) => {
    const { golden } = await injected(name, mode);
    if (isWriting) writeFileSync(`${folder}${name}.${mode}.yaml`, golden);
    expect(golden).toBe(text(`${name}.${mode}.yaml`));
  });

  test.each(modes)('gives the same result when it is injected again, in mode %s', async (mode) => {
    const first = await injected(name, mode);
    if (first.out === '') return;
    const second = await injected(name, mode, first.out);
    expect(second.out).toBe(first.out);
  });
});

test('every stored file belongs to a case, and every case has both', () => {
  const wanted = cases.flatMap((name) => [`${name}.input.yaml`, ...modes.map((mode) => `${name}.${mode}.yaml`)]);
  const own = files.filter((file) => cases.some((name) => file === `${name}.settings.yaml`));
  expect(new Set(files)).toEqual(new Set([...wanted, ...own, 'settings.yaml', 'refused.yaml']));
  expect(cases.length).toBeGreaterThan(4);
});

test('a document that is not injected is written unchanged, with its comments', async () => {
  const { out } = await injected('mixed', 'native');
  expect(out).toContain('data: {mode: "0644", on: "yes"} # not ours to touch');
  const documents = parseAllDocuments(out);
  expect(documents.flatMap((document) => document.errors)).toEqual([]);
});

test('modes of files stay octal, and words that kubectl does not read as booleans stay words', async () => {
  const { out } = await injected('pod', 'native');
  expect(out).toContain('defaultMode: 0644');
  expect(out).toContain('command: ["yes"]');
});

const settings = readSettings(parse(text('settings.yaml')));

interface RefusedPod {
  readonly name: string;
  readonly pod: unknown;
  readonly problems: readonly string[];
}

test.each(parse(text('refused.yaml')) as readonly RefusedPod[])('rejected: $name', ({ pod, problems }) => {
  if ('problems' in settings) throw new Error('the settings of the cases have problems');
  const done = inject(pod, settings.settings);
  expect(done.kind === 'refused' ? done.problems.map(({ path, message }) => `${path} ${message}`) : done).toEqual(problems);
});

test('where sidecars enrol, and the authorities they check by, can be given without settings', async () => {
  const pem = /-----BEGIN[\s\S]+-----END CERTIFICATE-----/.exec(text('mtls.settings.yaml'))?.[0].replaceAll(/^ +/gm, '') ?? '';
  const file = join(mkdtempSync(join(tmpdir(), 'inject-')), 'ca.pem');
  onTestFinished(() => rmSync(dirname(file), { recursive: true }));
  writeFileSync(file, pem);
  const flags = ['inject', '-f', '-', '--json', '--image', 'sidecar:1', '--control-plane', 'tollgate:8081', '--enrol', 'tollgate:8082'];
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'app' }] } });
  const { code, out } = await run([...flags, '--ca', file], { stdin });
  expect(code).toBe(0);
  expect(JSON.parse(out).spec.initContainers[0].env).toEqual(
    expect.arrayContaining([
      { name: 'TOLLGATE_ENROL', value: 'tollgate:8082' },
      { name: 'TOLLGATE_CA', value: pem },
    ]),
  );
  const without = await run(flags, { stdin });
  expect(without).toMatchObject({
    code: 1,
    err: expect.stringContaining('ca is required together with "enrol": set it to the authorities that `tollgate ca` prints (--ca)'),
  });
});
