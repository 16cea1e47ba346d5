// chart-parts.mjs <chart> <folder> <kustomize> [kustomize]: renders every optional part of the chart alone and all of them together, in
// three namespaces, and the components of kustomize alone and together in both orders. Each is a file of the folder,
// `<namespace>--<part>.yaml`. What kustomize makes must be what the chart makes of the same values there. With the last
// word only kustomize is tried, in one namespace. The last line is `<files> files`; it ends with 1 where a part is not rendered, adds nothing, or differs. Called by charts.sh, which
// has the tools in PATH, and has all files validated at once.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';

const [chart, folder, kustomize, only] = process.argv.slice(2);
const run = promisify(execFile);
// The last one is as long as Kubernetes takes them.
const namespaces = ['tollgate', 'agents-control', 'a-namespace-whose-name-is-as-long-as-kubernetes-allows-it-to-be'];
const issuerRef = { name: 'ca' };

/** By its name, the values that turn a part on. */
const parts = {
  nothing: {},
  'all-labels': { commonLabels: { team: 'agents' }, podLabels: { tier: 'control' }, podAnnotations: { 'example.com/a': 'b' } },
  pull: { imagePullSecrets: [{ name: 'pull' }], image: { pullPolicy: 'Always', tag: '1.2.3' } },
  autoscaling: { autoscaling: { enabled: true } },
  'no-disruption-budget': { podDisruptionBudget: { enabled: false } },
  'no-spread': { topologySpread: { enabled: false } },
  'no-policy': { networkPolicy: { enabled: false } },
  'no-account': { serviceAccount: { create: false } },
  persistent: { data: { persistent: true, storageClassName: 'fast' } },
  platform: { uid: null, priorityClassName: 'high', nodeSelector: { a: 'b' }, tolerations: [{ key: 'a', operator: 'Exists' }] },
  'load-balancer': { service: { type: 'LoadBalancer', annotations: { a: 'b' } } },
  authorities: { existingSecrets: { caCertificates: { name: 'authorities' } } },
  'extra-env': {
    extraEnv: [
      { name: 'REGION', value: 'north' },
      { name: 'TOLLGATE_PUBLIC_URL', valueFrom: { configMapKeyRef: { name: 'addresses', key: 'rest' } } },
    ],
  },
  'extra-volumes': {
    extraVolumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Gi' } }],
    extraVolumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  },
  ingress: {
    ingress: { enabled: true, className: 'public', hosts: ['tollgate.example.com'], tlsSecret: 'certificate', annotations: { a: 'b' } },
  },
  'http-route': {
    httpRoute: {
      enabled: true,
      hostnames: ['tollgate.example.com'],
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
    },
  },
  mtls: { mtls: { enabled: true, names: ['gate.example', '192.0.2.7'] } },
  'mtls-cert-manager': { mtls: { enabled: true, certManager: { enabled: true, issuerRef } } },
  injector: { injector: { enabled: true, excludedNamespaces: ['spared'] } },
  'injector-cert-manager': { injector: { enabled: true, certManager: { enabled: true, issuerRef } } },
  monitoring: { monitoring: { enabled: true, interval: '30s', documentationUrl: 'https://docs.example.com/tollgate/' } },
  bundled: { existingSecrets: { databaseUrl: { name: '' } }, database: { bundled: { enabled: true } } },
};
const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const merged = (one, other) =>
  isMap(one) && isMap(other)
    ? Object.fromEntries(
        [...new Set([...Object.keys(one), ...Object.keys(other)])].map((key) => [
          key,
          key in other ? merged(one[key], other[key]) : one[key],
        ]),
      )
    : other;
/** Two sets, since some parts exclude others: what the chart does by itself, and what cert-manager and the cluster do. */
const togetherBut = (...left) =>
  Object.entries(parts)
    .filter(([name]) => !left.includes(name))
    .reduce((all, [, values]) => merged(all, values), {});
const own = togetherBut(
  'mtls-cert-manager',
  'injector-cert-manager',
  'no-account',
  'no-disruption-budget',
  'no-policy',
  'no-spread',
  'bundled',
);
const all = { ...parts, 'together-own': own, 'together-cert-manager': togetherBut('no-account', 'no-policy', 'no-spread') };

const base = parse(readFileSync(`${chart}/ci/external-values.yaml`, 'utf8'));
async function template(namespace, name, values, more = []) {
  const file = join(folder, `values-${namespace.length}-${name}.json`);
  writeFileSync(file, JSON.stringify(values));
  const words = ['template', 'tollgate', chart, '--namespace', namespace, '--kube-version', '1.37.0', ...more, '--values', file];
  return (await run('helm', words, { maxBuffer: 64 * 1024 * 1024 })).stdout;
}
async function build(namespace, components) {
  const place = join(folder, `overlay-${namespace.length}-${components.join('-')}`);
  mkdirSync(place);
  const at = (one) => relative(place, resolve(kustomize, one));
  const overlay = { namespace, resources: [at('base')], components: components.map(at), transformers: [at('namespace')] };
  writeFileSync(join(place, 'kustomization.yaml'), JSON.stringify(overlay));
  return (await run('kustomize', ['build', place], { maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** What both must agree in, whatever the order of lists: objects by kind and name, without what only one of both marks. */
function comparable(text, namespace) {
  const sorted = (value) =>
    Array.isArray(value)
      ? value.map(sorted).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : isMap(value)
        ? Object.fromEntries(
            Object.keys(value)
              .toSorted()
              .map((key) => [key, sorted(value[key])]),
          )
        : value;
  const objects = parseAllDocuments(text).flatMap((one) => one.toJSON() ?? []);
  const settings = Object.assign({}, ...objects.filter(({ kind }) => kind === 'ConfigMap').map(({ data }) => data));
  return Object.fromEntries(
    objects.map(({ metadata: { name, namespace: placed = namespace, labels: _labels, annotations: _annotations }, ...one }) => {
      if (one.kind === 'ConfigMap') return [`ConfigMap ${name}`, null];
      const pod = one.spec?.template;
      if (pod !== undefined) {
        delete pod.metadata;
        const [container] = pod.spec.containers;
        // As the kubelet and the control plane read them: the settings are those that are chosen.
        container.env = container.env
          .filter(({ name: variable }) => variable !== 'NAMESPACE' && variable !== 'TOLLGATE_ALLOW_PLAINTEXT')
          .map(({ name: variable, value, ...rest }) =>
            variable === 'TOLLGATE_INJECT_SETTINGS'
              ? { name: variable, settings: parse(settings[value.split('/').at(-1)].replaceAll('$(NAMESPACE)', namespace)) }
              : { name: variable, ...rest, ...(value === undefined ? {} : { value: value.replaceAll('$(NAMESPACE)', namespace) }) },
          );
      }
      return [`${one.kind} ${name}`, sorted({ ...one, placed: /^ClusterRole|^Mutating/.test(one.kind) ? null : placed })];
    }),
  );
}

/** Where two values differ, each with what both say. */
function differences(one, other, at) {
  if (typeof one === 'object' && typeof other === 'object' && one !== null && other !== null)
    return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) => differences(one[key], other[key], `${at}/${key}`));
  return one === other ? [] : [`${at}: ${JSON.stringify(one)}, and of the chart ${JSON.stringify(other)}`];
}

const problems = [];
let files = 0;
const write = (namespace, name, text) => {
  files += 1;
  writeFileSync(join(folder, `${namespace}--${name}.yaml`), text);
};
const jobs = [];
for (const namespace of only ? namespaces.slice(0, 1) : namespaces) {
  for (const [name, values] of only ? [] : Object.entries(all))
    jobs.push([`${name} in ${namespace}`, async () => write(namespace, name, await template(namespace, name, merged(base, values)))]);
  for (const components of [[], ['mtls'], ['injector'], ['mtls', 'injector'], ['injector', 'mtls']])
    jobs.push([
      `kustomize ${components.join(', ')} in ${namespace}`,
      async () => {
        const built = await build(namespace, components);
        const name = ['kustomize', ...components].join('-');
        write(namespace, name, built);
        const values = ['--skip-tests', '--values', join(kustomize, 'values.yaml')];
        for (const one of components) values.push('--values', join(kustomize, one, 'values.yaml'));
        // The placeholder of the base stands for the repository.
        const rendered = (await template(namespace, name, {}, values)).replaceAll(
          'image-repository.invalid/',
          'IMAGE_REPOSITORY_IS_REQUIRED/',
        );
        const differ = differences(comparable(built, namespace), comparable(rendered, namespace), '');
        if (differ.length > 0) throw new Error(`it is not what the chart makes:\n  ${differ.join('\n  ')}`);
      },
    ]);
}
await Promise.all(
  cpus().map(async () => {
    for (let job = jobs.pop(); job !== undefined; job = jobs.pop())
      await job[1]().catch((error) => problems.push(`${job[0]}: ${error.stderr ?? error.message}`));
  }),
);
// A part that changes nothing was never turned on.
const textOf = (name) => readFileSync(join(folder, `${namespaces[0]}--${name}.yaml`), 'utf8');
if (!only && problems.length === 0)
  for (const name of Object.keys(all)) if (name !== 'nothing' && textOf(name) === textOf('nothing')) problems.push(`${name} adds nothing`);
process.stdout.write([...problems, `${files} files`, ''].join('\n'));
process.exitCode = problems.length === 0 ? 0 : 1;
