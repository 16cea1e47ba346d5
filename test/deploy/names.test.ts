// The names that others see are those of `deploy/names.json`: in packages, images, chart, kustomize, compose and documents.
// Whether the chart refuses to render without a repository is tested by deploy/test/charts.sh, which has Helm.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { names } from '../support/names.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly workspaces?: readonly string[];
}
const manifest = (folder: string): Manifest => JSON.parse(read(join(folder, 'package.json')));
const workspaces = manifest('.').workspaces ?? [];
const { version } = manifest('control-plane');

const filesIn = (folder: string, kinds: RegExp): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => kinds.test(path) && !/node_modules|\/dist\//.test(path));

/** CHANGELOG.md tells what was, other names among it. */
const documents = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy/README.md', ...filesIn('docs', /\.md$/)];
const deployed = filesIn('deploy', /\.(?:yaml|json|tpl|txt|sh|mjs|md)$|\/(?:render|Containerfile|install)$/);
const examples = filesIn('examples', /\.yaml$/);

test('each package has the name that its folder has in names.json', () => {
  expect(workspaces.map((folder) => [folder, manifest(folder).name])).toEqual(workspaces.map((folder) => [folder, names.packages[folder]]));
});

test('each command of a package is in names.json', () => {
  const commands = workspaces.flatMap((folder) => Object.keys(manifest(folder).bin ?? {}));
  expect(commands).toContain('tollgate-sidecar');
  expect(commands.filter((command) => !names.commands.includes(command))).toEqual([]);
});

test('images are built from packages of names.json, one target for each', () => {
  const containerfile = read('deploy/images/Containerfile');
  const targets = [...containerfile.matchAll(/^FROM program AS (.+)$/gm)].map(([, target]) => target);
  expect(new Set(targets)).toEqual(new Set(names.images.names));
  const named = [...containerfile.matchAll(/@[\w-]+\/[\w-]+(?=\/)/g)].map(([name]) => name);
  expect(new Set(named)).toEqual(new Set(names.images.names.map((folder) => names.packages[folder])));
});

test('the chart has no repository of its own, and adds the names of the images to the one that it is given', () => {
  expect(names.images.defaultRepository).toBeNull();
  expect(parse(read('deploy/helm/tollgate/values.yaml')).image.repository).toBe('');
  const templates = filesIn('deploy/helm/tollgate/templates', /\.(?:yaml|tpl)$/)
    .map(read)
    .join('\n');
  for (const name of names.images.names) expect(templates).toMatch(new RegExp(`(?:\\.repository \\}\\}|%s)/${name}[:{"]`));
});

/** Every value of a field `image` in the documents of a file, also in documents inside texts. */
function imagesIn(value: unknown): readonly string[] {
  if (typeof value === 'string' && value.includes('\n')) return imagesIn(parse(value));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => (key === 'image' && typeof one === 'string' ? [one] : imagesIn(one)));
}
const imagesOf = (path: string): readonly string[] => parseAllDocuments(read(path)).flatMap((one) => imagesIn(one.toJSON()));

test('kustomize has a placeholder for the repository, which the overlay of the example replaces', () => {
  const { placeholderRepository } = names.images;
  expect(imagesOf('deploy/kustomize/base/control-plane.yaml')).toEqual([`${placeholderRepository}/control-plane:${version}`]);
  // Of the settings without and with TLS.
  const sidecar = `${placeholderRepository}/sidecar:${version}`;
  expect(imagesOf('deploy/kustomize/injector/injector.yaml')).toEqual([sidecar, sidecar]);
  expect(parse(read('deploy/kustomize/example/kustomization.yaml')).images).toMatchObject([
    { name: `${placeholderRepository}/control-plane`, newName: expect.stringMatching(/^registry\.example\/.*\/control-plane$/) },
  ]);
});

test('Compose builds our images and names none that it could pull instead', () => {
  const { services } = parse(read('deploy/compose.yaml'), { merge: true });
  for (const target of names.images.names) {
    expect(services[target].build).toMatchObject({ dockerfile: 'deploy/images/Containerfile', target });
    expect(services[target]).not.toHaveProperty('image');
  }
});

/** An image of ours without a registry, which is then one of Docker Hub. Paths and npm packages are no images. */
const withoutRegistry = new RegExp(`(?<![\\w./@:-])tollgate/(?:${names.images.names.join('|')})(?![\\w/.-]*\\.js)`, 'g');

test.each([...documents, ...deployed, ...examples])('%s names no image of ours without a registry', (path) => {
  // The one document that says what such a name would be.
  const text = path === 'docs/operate/build-images.md' ? read(path).replace('A name such as `tollgate/control-plane` is', '') : read(path);
  expect(text.match(withoutRegistry) ?? []).toEqual([]);
});

test('an image without a registry is found', () => {
  const found = (text: string): readonly string[] => text.match(withoutRegistry) ?? [];
  expect(found('docker run tollgate/sidecar:0.1.0')).toEqual(['tollgate/sidecar']);
  expect(found('image: tollgate/control-plane')).toEqual(['tollgate/control-plane']);
  expect(found('registry.example/tollgate/sidecar @tollgate/sidecar ./.tollgate/sidecar ~/.config/tollgate/sidecar.json')).toEqual([]);
});

/** What npx is told to run with arguments; a name alone is only spoken of. */
const ownByNpx = /npx\s+(?:-\S+\s+)*(?:@tollgate\/|tollgate)[\w@/.-]*\s+[\w-].*/g;

test.each([...documents, ...deployed, ...examples])('%s runs with npx only what a checkout provides, and no command of ours', (path) => {
  const text = read(path);
  expect(text.match(ownByNpx) ?? []).toEqual([]);
  const run = [...text.matchAll(/npx (\w[\w-]*) \S/g)].map(([, command = '']) => command);
  expect(run.filter((command) => !existsSync(join(root, 'node_modules/.bin', command)))).toEqual([]);
});

test('a command of ours that npx would fetch is found', () => {
  const found = (text: string): readonly string[] => text.match(ownByNpx) ?? [];
  expect(found('  npx tollgate restore')).toHaveLength(1);
  expect(found('npx -y @tollgate/sidecar@1 start')).toHaveLength(1);
  expect(found('`npx tollgate` would run it')).toEqual([]);
});

test('variables, metrics and headers have the prefixes of names.json', () => {
  const { environment, metrics, headers } = names.prefixes;
  const ours = (text: string, name: RegExp): readonly string[] => [...new Set(text.match(name) ?? [])];
  const variables = ours(read('test/frozen/environment.txt'), /^\w*tollgate\w*/gim);
  expect(variables.length).toBeGreaterThan(50);
  expect(variables.filter((name) => !name.startsWith(environment))).toEqual([]);
  const series = ours(read('test/frozen/metrics.txt'), /^(?!nodejs_|process_|#)\w+/gm);
  expect(series.length).toBeGreaterThan(50);
  expect(series.filter((name) => !name.startsWith(metrics))).toEqual([]);
  const sent = ours(read('test/frozen/openapi.json'), /(?<=")X-[\w-]+(?=")/gi);
  expect(sent).toContain(`${headers}Run-Id`);
  expect(sent.filter((name) => !name.startsWith(headers))).toEqual([]);
});
