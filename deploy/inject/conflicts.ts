// Finds why a sidecar cannot be injected into a pod. Each problem says what would be correct.
import { isObject, type Problem, problem } from '@tollgate/proto/shape';
import type { Container, NamedRow, Pod } from './pod.ts';
import { containerName, statusAnnotation, volumePrefix } from './status.ts';
import type { InjectSettings } from './settings.ts';
import type { PodSettings } from './settings.ts';

/**
 * The maximum number of containers in a pod, which is far more than a node runs. The limit exists because injection
 * adds variables to each container.
 */
const containersMax = 1_000;

interface PlacedContainer {
  readonly container: Container;
  readonly path: string;
}

/** Returns all reasons why the pod cannot get a sidecar. The pod must not contain anything that was injected before. */
export function conflictsOf({ spec }: Pod, wanted: PodSettings, { metricsPort }: Pick<InjectSettings, 'metricsPort'>): readonly Problem[] {
  const containers = containersOf(spec);
  if (containers.length > containersMax) return problem('spec.containers', `must be at most ${containersMax}, with init containers`);
  const { os } = spec;
  return [
    ...(spec['hostNetwork'] === true
      ? problem('spec.hostNetwork', 'must not be true: on the network of the node, every program of the node would reach the sidecar')
      : []),
    ...(isObject(os) && os['name'] === 'windows' ? problem('spec.os.name', 'must not be windows: there is no sidecar for it') : []),
    ...repeatedNames(containers),
    ...containers.flatMap((placed) => [
      ...nameConflicts(placed),
      ...portConflicts(placed, wanted.port, 'is where the sidecar listens; give it another by tollgate.dev/port'),
      ...(metricsPort === null
        ? []
        : portConflicts(placed, metricsPort, 'is where the sidecar shows its metrics, by metricsPort of the settings')),
      ...mountConflicts(placed),
    ]),
    ...(metricsPort === wanted.port
      ? problem('metadata.annotations["tollgate.dev/port"]', `must not be ${wanted.port}, which is metricsPort of the settings`)
      : []),
    ...(spec.volumes ?? []).flatMap(({ name }, at) =>
      name.startsWith(volumePrefix) ? problem(`spec.volumes[${at}].name`, `must not begin with ${volumePrefix}, which is Tollgate's`) : [],
    ),
    ...endlessProblems(spec['restartPolicy'], wanted),
    ...spoolConflicts(containers, spec.volumes ?? [], wanted),
  ];
}

const containersOf = ({ initContainers, containers }: Pod['spec']): readonly PlacedContainer[] => [
  ...(initContainers ?? []).map((container, at) => ({ container, path: `spec.initContainers[${at}]` })),
  ...containers.map((container, at) => ({ container, path: `spec.containers[${at}]` })),
];

/**
 * Kubernetes rejects repeated names too. They are checked here because this code identifies our container by its name.
 */
function repeatedNames(containers: readonly PlacedContainer[]): readonly Problem[] {
  const seen = new Set<string>();
  return containers.flatMap(({ container: { name }, path }) => {
    const isRepeated = seen.has(name);
    seen.add(name);
    return isRepeated ? problem(`${path}.name`, `${name} is also the name of another container`) : [];
  });
}

function nameConflicts({ container, path }: PlacedContainer): readonly Problem[] {
  if (container.name !== containerName) return [];
  return problem(
    `${path}.name`,
    `must not be ${containerName}: that is the sidecar's, and without the annotation ${statusAnnotation} this is not one that was injected`,
  );
}

function portConflicts({ container, path }: PlacedContainer, port: number, words: string): readonly Problem[] {
  return (container.ports ?? []).flatMap(({ containerPort, protocol }, at) =>
    containerPort === port && (protocol ?? 'TCP') === 'TCP' ? problem(`${path}.ports[${at}].containerPort`, `${port} ${words}`) : [],
  );
}

/**
 * Finds mounts of a volume whose name has our prefix. A pod may mount a volume that does not exist yet. Injection would
 * create it, and the app would then mount a volume of the sidecar.
 */
function mountConflicts({ container, path }: PlacedContainer): readonly Problem[] {
  return (container.volumeMounts ?? []).flatMap(({ name }, at) =>
    name.startsWith(volumePrefix)
      ? problem(`${path}.volumeMounts[${at}].name`, `must not begin with ${volumePrefix}, which is Tollgate's`)
      : [],
  );
}

function endlessProblems(restartPolicy: unknown, { mode }: PodSettings): readonly Problem[] {
  if (mode === 'native' || (restartPolicy ?? 'Always') === 'Always') return [];
  return problem(
    'spec.restartPolicy',
    'must be Always in mode plain: a plain sidecar never ends, so the pod of a job would not end either; use native',
  );
}

function spoolConflicts(containers: readonly PlacedContainer[], volumes: readonly NamedRow[], { spool }: PodSettings): readonly Problem[] {
  const isSpool = ({ name, persistentVolumeClaim: claim }: NamedRow): boolean =>
    spool.kind === 'volume' ? name === spool.volume : spool.kind === 'claim' && isObject(claim) && claim['claimName'] === spool.claim;
  const spools = new Set(volumes.filter(isSpool).map(({ name }) => name));
  // The volume may come from `volumeClaimTemplates` of the StatefulSet. The template of the pod does not list such a
  // volume.
  if (spool.kind === 'volume') spools.add(spool.volume);
  return containers.flatMap(({ container, path }) =>
    (container.volumeMounts ?? [])
      .filter(({ name }) => spools.has(name))
      .flatMap(({ name }) =>
        problem(`${path}.volumeMounts`, `must not have ${name}: it is the sidecar's spool, and what is there is evidence`),
      ),
  );
}
