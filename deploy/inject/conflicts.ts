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
  if (containers.length > containersMax)
    return problem('spec.containers', `must contain at most ${containersMax} containers, including the init containers of the pod`);
  const { os } = spec;
  return [
    ...(spec['hostNetwork'] === true
      ? problem('spec.hostNetwork', 'must not be true, because every program of the node could then reach the sidecar')
      : []),
    ...(isObject(os) && os['name'] === 'windows'
      ? problem('spec.os.name', 'must not be "windows", because there is no sidecar for Windows')
      : []),
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
      ? problem(
          'metadata.annotations["tollgate.dev/port"]',
          `must not be ${wanted.port}, because this port is the value of "metricsPort" in the settings`,
        )
      : []),
    ...(spec.volumes ?? []).flatMap(({ name }, at) =>
      name.startsWith(volumePrefix)
        ? problem(
            `spec.volumes[${at}].name`,
            `must not begin with ${volumePrefix}, because this prefix is reserved for the volumes of Tollgate`,
          )
        : [],
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
    `must not be ${containerName}: this name is reserved for a sidecar that was injected, but the pod does not have the annotation ${statusAnnotation} that an injection adds`,
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
      ? problem(
          `${path}.volumeMounts[${at}].name`,
          `must not begin with ${volumePrefix}, because this prefix is reserved for the volumes of Tollgate`,
        )
      : [],
  );
}

function endlessProblems(restartPolicy: unknown, { mode }: PodSettings): readonly Problem[] {
  if (mode === 'native' || (restartPolicy ?? 'Always') === 'Always') return [];
  return problem(
    'spec.restartPolicy',
    'must be "Always" in mode "plain": in this mode the sidecar never ends, so the pod of a job would never end either; for a job, use mode "native"',
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
        problem(
          `${path}.volumeMounts`,
          `must not contain ${name}: this volume is the spool of the sidecar, and its audit entries must not be accessible to other containers`,
        ),
      ),
  );
}
