// manifests.mjs <check> <file…>: what must hold of rendered manifests and no schema says. It prints what is wrong, and
// ends with 1 where something is. Called by charts.sh.
//   whole       no field is empty: that is a template that wrote a field without a value
//   restricted  every pod is of the profile `restricted`, and is not killed before preStop and drain are over
//   fits        what is named exists: a Service or policy whose selector or port matches nothing is valid for a schema
//   stays       the name of the file begins with a namespace and `--`, and no object names another one
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseAllDocuments } from 'yaml';

/** What one check found wrong, each with the object it is about. */
function createFindings() {
  const wrong = [];
  const must = ({ kind, metadata }, holds, what) => holds || wrong.push(`${kind} ${metadata.name}: ${what}`);
  return { wrong, must };
}

/** Workloads, and pods that are on their own, as `helm test` makes one. */
const podsOf = (all) =>
  all.flatMap((one) =>
    one.kind === 'Pod' ? [{ ...one, pod: one.spec }] : one.spec?.template ? [{ ...one, pod: one.spec.template.spec }] : [],
  );

function whole(all, documents) {
  const holes = (value, at) =>
    value === null ? [at] : typeof value !== 'object' ? [] : Object.entries(value).flatMap(([key, one]) => holes(one, `${at}.${key}`));
  return [
    ...documents.flatMap((one) => one.errors.map(String)),
    ...all.flatMap((one) => holes(one, one.kind)),
    ...(all.length === 0 ? ['no document'] : []),
  ];
}

function restricted(all) {
  const { wrong, must } = createFindings();
  const pods = podsOf(all);
  for (const { pod, ...one } of pods) {
    must(one, pod.securityContext.runAsNonRoot === true, 'may run as root');
    must(one, pod.securityContext.seccompProfile.type === 'RuntimeDefault', 'has no seccomp profile');
    must(one, pod.automountServiceAccountToken === false, 'mounts a token');
    must(one, pod.enableServiceLinks === false, 'takes variables of services');
    for (const { securityContext, resources, lifecycle, env = [] } of pod.containers) {
      const { readOnlyRootFilesystem, allowPrivilegeEscalation, capabilities } = securityContext;
      must(
        one,
        readOnlyRootFilesystem === true && allowPrivilegeEscalation === false && capabilities.drop.join() === 'ALL',
        'is not restricted',
      );
      must(one, resources.requests?.memory && resources.limits?.memory, 'has no bounds of memory');
      const drainMs = env.find(({ name }) => name === 'TOLLGATE_DRAIN_MS')?.value;
      if (drainMs === undefined) continue;
      const preStopMs = Number(/, (\d+)\)$/.exec(lifecycle.preStop.exec.command[2])[1]);
      must(one, pod.terminationGracePeriodSeconds * 1000 >= preStopMs + Number(drainMs) + 20_000, 'is killed before it has drained');
    }
  }
  return pods.length === 0 ? ['no pod'] : wrong;
}

// A label of its pods holds the name of a StatefulSet and a hash.
const longest = { StatefulSet: 52, ClusterRole: 253, ClusterRoleBinding: 253 };

/** Finds objects by what others know of them. */
function indexOf(all) {
  const workloads = all.filter(({ spec }) => spec?.template);
  const there = (kind, name) => all.some((one) => one.kind === kind && one.metadata.name === name);
  const pods = (selector) =>
    workloads
      .map(({ spec }) => spec.template)
      .filter(({ metadata }) => Object.entries(selector).every(([key, value]) => metadata.labels[key] === value));
  const opens = (selector, port) =>
    typeof port === 'number' ||
    pods(selector).some(({ spec }) => spec.containers.some(({ ports }) => ports.some(({ name }) => name === port)));
  const serves = (service, port) =>
    all.some(
      ({ kind, metadata, spec }) =>
        kind === 'Service' && metadata.name === service && spec.ports.some((one) => one.name === port || one.port === port),
    );
  return { there, pods, opens, serves };
}

function fitsOfKind(one, { there, pods, opens, serves }, must) {
  const { kind, spec = {} } = one;
  switch (kind) {
    case 'Service':
      must(one, pods(spec.selector).length > 0, 'leads to no pod');
      must(one, new Set(spec.ports.map(({ port }) => port)).size === spec.ports.length, 'has a port twice');
      for (const { targetPort } of spec.ports) must(one, opens(spec.selector, targetPort), `${targetPort} is open nowhere`);
      break;
    case 'NetworkPolicy':
      must(one, pods(spec.podSelector.matchLabels).length > 0, 'is for no pod');
      for (const { port } of spec.ingress.flatMap(({ ports }) => ports))
        must(one, opens(spec.podSelector.matchLabels, port), `${port} is open nowhere`);
      break;
    case 'PodDisruptionBudget':
      must(one, pods(spec.selector.matchLabels).length > 0, 'is for no pod');
      break;
    case 'HorizontalPodAutoscaler':
      must(one, there(spec.scaleTargetRef.kind, spec.scaleTargetRef.name), 'scales nothing');
      break;
    case 'StatefulSet':
      must(one, there('Service', spec.serviceName), 'is named by no Service');
      break;
    case 'Ingress':
      for (const { backend } of spec.rules.flatMap(({ http }) => http.paths))
        must(one, serves(backend.service.name, backend.service.port.name), `leads to ${backend.service.name}, which has no such port`);
      break;
    case 'HTTPRoute':
      for (const { name, port } of spec.rules.flatMap(({ backendRefs }) => backendRefs))
        must(one, serves(name, port), `leads to ${name}, which has no such port`);
      break;
  }
}

function fits(all) {
  const { wrong, must } = createFindings();
  const index = indexOf(all);
  const { there, pods } = index;
  for (const one of all) {
    const { kind, metadata, spec = {}, roleRef, subjects = [], webhooks = [] } = one;
    must(one, metadata.name.length <= (longest[kind] ?? 63), 'has too long a name');
    fitsOfKind(one, index, must);
    if (roleRef) must(one, there(roleRef.kind, roleRef.name), 'gives a role that is not there');
    for (const { name } of subjects) must(one, there('ServiceAccount', name), `is for ${name}, which is not there`);
    for (const { clientConfig } of webhooks) must(one, there('Service', clientConfig.service.name), 'asks no service');
    if (!spec.template) continue;
    const { containers, volumes, serviceAccountName: account = 'default' } = spec.template.spec;
    const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata: { name } }) => name);
    must(one, pods(spec.selector.matchLabels).length === 1, 'selects other pods than its own');
    must(one, account === 'default' || there('ServiceAccount', account), `runs as ${account}, which is not there`);
    for (const { name } of containers.flatMap(({ volumeMounts }) => volumeMounts))
      must(one, [...claims, ...volumes.map((volume) => volume.name)].includes(name), `mounts ${name}, which is not there`);
    for (const { configMap } of volumes)
      must(one, configMap === undefined || there('ConfigMap', configMap.name), `mounts ${configMap?.name}, which is not there`);
  }
  return wrong;
}

/** The namespaces that a value names, by fields and by addresses of Services. */
function namespacesIn(value) {
  if (typeof value === 'string') return [...value.matchAll(/\b[a-z0-9-]+\.([^\s.,:/]+)\.svc\b/g)].map(([, namespace]) => namespace);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === 'namespace' ? [one] : ['parentRefs', 'namespaceSelector'].includes(key) ? [] : namespacesIn(one),
  );
}

function stays(all, _documents, file) {
  const { wrong, must } = createFindings();
  const [own] = basename(file).split('--');
  for (const one of all) {
    const { kind, metadata, subjects = [], webhooks = [] } = one;
    // The kubelet replaces it in variables, and the control plane in its settings.
    const others = [...new Set(namespacesIn(one))].filter((namespace) => namespace !== own && namespace !== '$(NAMESPACE)');
    must(one, others.length === 0, `names the namespace ${others.join(', ')}, and is in ${own}`);
    for (const subject of subjects)
      must(one, subject.namespace === own, `is for ${subject.name} of ${subject.namespace ?? 'no namespace'}`);
    if (kind.startsWith('ClusterRole') && /-enrolment\b/.test(metadata.name))
      must(one, metadata.name.endsWith(`.${own}`), 'is not named for its namespace');
    for (const { clientConfig, namespaceSelector } of webhooks) {
      must(one, clientConfig.service.namespace === own, `asks a Service of ${clientConfig.service.namespace ?? 'no namespace'}`);
      const left = namespaceSelector.matchExpressions.find(({ key }) => key === 'kubernetes.io/metadata.name').values;
      must(one, left.includes(own), `is asked about its own namespace, and only not about ${left}`);
    }
  }
  return wrong;
}

const checks = { whole, restricted, fits, stays };
const [name, ...files] = process.argv.slice(2);
const found = files.flatMap((file) => {
  const documents = parseAllDocuments(readFileSync(file, 'utf8'), { strict: true, uniqueKeys: true });
  const all = documents.flatMap((one) => one.toJSON() ?? []);
  return checks[name](all, documents, file).map((problem) => (files.length === 1 ? problem : `${basename(file)}: ${problem}`));
});
process.stdout.write(found.map((line) => `${line}\n`).join(''));
process.exitCode = found.length === 0 ? 0 : 1;
