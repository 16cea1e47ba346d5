// Injects a sidecar into a pod. The webhook and `tollgate inject` both call `inject`. It is idempotent: for a pod that
// was injected before, the result is the same as for the original pod.
import type { Problem } from '@tollgate/proto/shape';
import { type PointedContainer, pointAtSidecar } from './app-environment.ts';
import { conflictsOf } from './conflicts.ts';
import { type Container, type Metadata, type Pod, readPod } from './pod.ts';
import { type InjectSettings, missingIn, type PodSettings } from './settings.ts';
import { sidecarOf } from './sidecar-container.ts';
import { containerName, defaultContainerAnnotation, readStatus, type Status, statusAnnotation, undo } from './status.ts';
import { isLeftAlone, readWanted } from './wanted.ts';

export type Injection =
  /** `warnings`: unexpected effects, for the author of the pod. */
  | { readonly kind: 'injected'; readonly pod: Pod; readonly warnings: readonly string[] }
  /** The pod has the label `tollgate.dev/inject: disabled`. */
  | { readonly kind: 'left' }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

/** `value`: a Pod, or the template of a Pod. */
export function inject(value: unknown, settings: InjectSettings): Injection {
  if (isLeftAlone(value)) return { kind: 'left' };
  const read = readPod(value);
  if ('problems' in read) return refused(read.problems);
  const before = readStatus(read.pod.metadata);
  if ('problems' in before) return refused(before.problems);
  const pod = undo(read.pod, before.status);
  const said = readWanted(pod.metadata, settings);
  if ('problems' in said) return refused(said.problems);
  const problems = [...missingIn(settings).map(inSettings), ...conflictsOf(pod, said.wanted, settings)];
  if (problems.length > 0) return refused(problems);
  return { kind: 'injected', pod: put(pod, said.wanted, settings), warnings: warningsOf(pod, said.wanted) };
}

const inSettings = ({ path, message }: Problem): Problem => ({ path: `settings.${path}`, message });

const refused = (problems: readonly Problem[]): Injection => ({ kind: 'refused', problems });

const graceSecondsOfKubernetes = 30;

function put(pod: Pod, wanted: PodSettings, settings: InjectSettings): Pod {
  const { spec } = pod;
  const isNative = wanted.mode === 'native';
  const sidecar = sidecarOf(wanted, settings);
  // With a plain sidecar, init containers end before the sidecar starts. So they get no variables that point to it.
  const init: readonly PointedContainer[] = (spec.initContainers ?? []).map((container) =>
    isNative ? pointAtSidecar(container, wanted) : { container, added: [] },
  );
  const apps = spec.containers.map((container) => pointAtSidecar(container, wanted));
  const was = spec.terminationGracePeriodSeconds;
  const now = (was ?? graceSecondsOfKubernetes) + settings.drainSeconds;
  const volumes = [...(spec.volumes ?? []), ...sidecar.volumes];
  const first = spec.containers[0]?.name;
  const defaultContainer = !isNative && pod.metadata?.annotations?.[defaultContainerAnnotation] === undefined && first !== undefined;
  const status: Status = {
    format: 1,
    environment: Object.fromEntries(
      [...init, ...apps].flatMap(({ container, added }) => (added.length === 0 ? [] : [[container.name, added]])),
    ),
    volumes: sidecar.volumes.map(({ name }) => name),
    graceSeconds: { ...(was == null ? {} : { was }), now },
    defaultContainer,
  };
  return {
    ...pod,
    metadata: annotated(pod.metadata ?? {}, {
      ...(defaultContainer ? { [defaultContainerAnnotation]: first } : {}),
      [statusAnnotation]: JSON.stringify(status),
    }),
    spec: {
      ...spec,
      ...(isNative
        ? { initContainers: containersWith(sidecar.container, init) }
        : spec.initContainers == null
          ? {}
          : { initContainers: spec.initContainers }),
      containers: isNative ? apps.map(({ container }) => container) : containersWith(sidecar.container, apps),
      ...(volumes.length === 0 ? {} : { volumes }),
      terminationGracePeriodSeconds: now,
    },
  };
}

const containersWith = (sidecar: Container, others: readonly PointedContainer[]): readonly Container[] => [
  sidecar,
  ...others.map(({ container }) => container),
];

const annotated = (metadata: Metadata, added: Readonly<Record<string, string>>): Metadata => ({
  ...metadata,
  annotations: { ...metadata.annotations, ...added },
});

function warningsOf({ spec }: Pod, { spool, mode }: PodSettings): readonly string[] {
  const security = spec['securityContext'];
  const hasGroup = typeof security === 'object' && security !== null && 'fsGroup' in security;
  const unseen = spec.containers.filter((container) => Array.isArray(container['envFrom']) && container['envFrom'].length > 0);
  return [
    ...(spec['shareProcessNamespace'] === true
      ? [`containers share their processes: what runs as the sidecar's user reads its key and can end it`]
      : []),
    ...(spec['hostPID'] === true
      ? ["the pod sees every process of its node: what runs there as the sidecar's user, or as root, reads keys of sidecars"]
      : []),
    ...((spool.kind === 'claim' || spool.kind === 'volume') && !hasGroup
      ? ['the spool is a claim, and spec.securityContext.fsGroup is not set: the sidecar must be able to write there without']
      : []),
    ...(mode === 'plain' && (spec.initContainers ?? []).length > 0 ? ['init containers run before a plain sidecar, ungoverned'] : []),
    ...unseen.map(
      ({ name }) => `container ${name}: variables of its envFrom that are named TOLLGATE_… give way to those of ${containerName}`,
    ),
  ];
}
