// The Helm chart knows every variable of the control plane, and the control plane accepts what the chart sets.
// deploy/test/charts.sh checks that Kubernetes accepts the rendered manifests.
import { readFileSync } from 'node:fs';
import { programVariables, readConfig } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { configSchema } from '../../control-plane/app/config.ts';
import { readSettings } from '../../deploy/inject/settings.ts';

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
