// The Helm chart knows every variable of the control plane, and the control plane accepts what the chart sets.
// deploy/test/charts.sh checks that Kubernetes accepts the rendered manifests.
import { readdirSync, readFileSync } from 'node:fs';
import { programVariables, readConfig } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { configSchema } from '../../control-plane/app/config.ts';
import { readSettings } from '../../deploy/inject/settings.ts';
import { page } from '../../.ci/reference/chart.ts';
import { names } from '../support/names.ts';

const read = (path: string): string => readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');
const namesIn = (text: string): readonly string[] => [...new Set(text.match(/\b(?:TOLLGATE_[A-Z_]+|DATABASE_URL)\b/g) ?? [])];

/** By name, as a user sets them under `variables`. */
const settable = namesIn(JSON.stringify(Object.keys(JSON.parse(read('helm/tollgate/values.schema.json')).properties.variables.properties)));
/** From the chart's own values, and from Secrets. */
const set = namesIn(read('helm/tollgate/templates/_environment.tpl') + read('helm/tollgate/templates/_mtls.tpl'));
/** The webhook that injects sidecars has manifests of its own. */
const elsewhere = (name: string): boolean => name.startsWith('TOLLGATE_INJECT_');

test('every variable of the control plane has one place in the chart, and the chart has no others', () => {
  const variables = Object.values(configSchema).map(({ name }) => name);
  expect([...settable, ...set].toSorted()).toEqual(variables.filter((name) => !elsewhere(name)).toSorted());
});

test('the chart knows the settings of the injector, and no others', () => {
  const { properties } = JSON.parse(read('helm/tollgate/values.schema.json'));
  const all = readSettings({ image: 'sidecar', controlPlane: 'tollgate:8081' });
  expect(Object.keys(properties.injector.properties.settings.properties).toSorted()).toEqual(
    Object.keys('settings' in all ? all.settings : {}).toSorted(),
  );
});

test('secret values come only from Secrets', () => {
  const secret = Object.values(configSchema).flatMap(({ name, secret: isSecret }) => (isSecret ? [name] : []));
  expect(secret.filter((name) => settable.includes(name))).toEqual([]);
});

interface Variable {
  readonly name: string;
  readonly value?: string;
}

test('the control plane accepts what the chart sets by default', () => {
  const documents = parseAllDocuments(read('kustomize/base/control-plane.yaml')).map((one) => one.toJSON());
  const deployment = documents.find(({ kind }) => kind === 'Deployment');
  const variables: readonly Variable[] = deployment.spec.template.spec.containers[0].env;
  const literal = Object.fromEntries(variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
  expect(readConfig(configSchema, literal)).toMatchObject({ config: { host: '0.0.0.0', port: 8080, grpcPort: 8081, drainMs: 30_000 } });
});

test('the compose file names only variables that exist', () => {
  const named = namesIn(read('compose.yaml'));
  expect(named).toContain('TOLLGATE_CONTROL_PLANE');
  expect(named.filter((name) => name !== 'DATABASE_URL' && !programVariables.includes(name))).toEqual([]);
});

test('the README of the chart has the table of its values', async () => {
  const table = await page.render();
  expect(read('helm/tollgate/README.md')).toContain(`<!-- values -->\n${table}\n<!-- end -->`);
  // Each value of the first level, those without a comment too.
  const values: object = parse(read('helm/tollgate/values.yaml'));
  expect(Object.keys(values).filter((name) => !new RegExp(`^\\| (?:\\*\\*)?\`${name}[.\`]`, 'm').test(table))).toEqual([]);
});

test('the ten lines of values are the same in the README of the chart and on the page that tries them', () => {
  const trial = (text: string): unknown => parse(/^(image:\n(?:.+\n)+)/m.exec(text)?.[1]?.replace(/^(?:EOV|```)\n[\s\S]*/m, '') ?? '');
  const tried = trial(read('../docs/operate/try-kubernetes.md'));
  expect(tried).toMatchObject({ image: { repository: 'registry.example.com/tollgate' }, injector: { enabled: true } });
  expect(trial(read('helm/tollgate/README.md'))).toEqual(tried);
});

test('Chart.yaml has what a registry of charts shows: maintainers, and the icon of the console', () => {
  const { maintainers, icon, annotations, keywords } = parse(read('helm/tollgate/Chart.yaml'));
  expect(maintainers).toEqual([{ name: expect.stringMatching(/\w/) }]);
  const [, data = ''] = /^data:image\/svg\+xml;base64,(.+)$/.exec(icon) ?? [];
  expect(Buffer.from(data, 'base64').toString('utf8')).toBe(read('../console/public/icon.svg'));
  expect(keywords).toContain('policy');
  expect(annotations).toMatchObject({ 'artifacthub.io/license': 'Apache-2.0', 'artifacthub.io/category': 'security' });
});

test('the chart leads alerts to where names.json says that the documentation is', () => {
  expect(parse(read('helm/tollgate/values.yaml')).monitoring.documentationUrl).toBe(names.documentation);
  const named = readdirSync(new URL('../../deploy/helm/tollgate/templates', import.meta.url), { encoding: 'utf8' })
    .filter((name) => /\.(?:yaml|tpl|txt)$/.test(name))
    .flatMap((name) => read(`helm/tollgate/templates/${name}`).match(/https:\/\/docs\.[^"]+/g) ?? []);
  expect(new Set(named)).toEqual(new Set([names.documentation]));
});
