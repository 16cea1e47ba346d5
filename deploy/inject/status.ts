// Stores the changes of an injection in an annotation of the pod, and undoes them before a new injection. A pod that
// was injected before, by this version or another, becomes as if it had never been injected. A name in the annotation
// counts as ours only if it has the form of our names. Therefore a false annotation cannot make this code remove
// another variable or volume.
import { keyedPath } from '@tollgate/proto/contract';
import { fields, integer, isObject, list, type Problem, problem, record, type Shape, text } from '@tollgate/proto/shape';
import { isVariableForApps } from './app-environment.ts';
import type { Container, Metadata, NamedRow, Pod, PodSpec, Row } from './pod.ts';

export const statusAnnotation = 'tollgate.dev/status';
export const containerName = 'tollgate';
export const volumePrefix = 'tollgate-';
export const defaultContainerAnnotation = 'kubectl.kubernetes.io/default-container';

export interface Status {
  readonly format: 1;
  /** The names of the variables that were added, by container. */
  readonly environment: Readonly<Record<string, readonly string[]>>;
  readonly volumes: readonly string[];
  /** `was`: the value before the injection. It is absent if the pod did not set the field. */
  readonly graceSeconds: { readonly was?: number; readonly now: number };
  /** Whether injection added the annotation that tells kubectl which container is the default. */
  readonly defaultContainer: boolean;
}

const names = list(
  100,
  text(300, () => null),
);
const anyNames: Shape = {
  check: (value, path) =>
    isObject(value)
      ? Object.entries(value).flatMap(([key, one]) => names.check(one, keyedPath(path, key)))
      : problem(path, 'must be an object'),
  schema: {},
};
const bool: Shape = { check: (value, path) => (typeof value === 'boolean' ? [] : problem(path, 'must be true or false')), schema: {} };
const seconds = integer(0, Number.MAX_SAFE_INTEGER);
const shape = record(
  {
    format: integer(1, 1),
    environment: anyNames,
    volumes: names,
    graceSeconds: fields({ was: seconds, now: seconds }),
    defaultContainer: bool,
  },
  ['format', 'environment', 'volumes', 'graceSeconds', 'defaultContainer'],
);

/** Returns the stored changes. Null: nothing was injected. */
export function readStatus(metadata: Metadata | undefined): { readonly status: Status | null } | { readonly problems: readonly Problem[] } {
  const written = metadata?.annotations?.[statusAnnotation];
  if (written === undefined) return { status: null };
  const value = parse(written);
  const problems = shape.check(value, '');
  const path = keyedPath('metadata.annotations', statusAnnotation);
  if (problems.length > 0)
    return {
      problems: problem(path, 'is not a value that tollgate writes; remove the annotation, and everything that was injected into the pod'),
    };
  // `shape` has checked all fields.
  return { status: value as Status };
}

function parse(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return null;
  }
}

/** Returns the pod as it was before the injection. */
export function undo(pod: Pod, status: Status | null): Pod {
  if (status === null) return pod;
  const { initContainers, containers, volumes, ...rest } = pod.spec;
  const isOurs = ({ name }: NamedRow): boolean => name.startsWith(volumePrefix) && status.volumes.includes(name);
  const undone: PodSpec = {
    ...rest,
    containers: undoContainers(containers, status),
    ...kept('initContainers', initContainers, undoContainers(initContainers ?? [], status)),
    ...kept('volumes', volumes, volumes?.filter((volume) => !isOurs(volume)) ?? []),
  };
  return { ...pod, metadata: undoMetadata(pod.metadata ?? {}, status), spec: undoGrace(undone, status) };
}

/**
 * Returns a list of the pod without the added items. If only added items were in the list, the list is removed, because
 * the pod did not have it before.
 */
function kept(field: string, before: readonly unknown[] | null | undefined, left: readonly unknown[]): Row {
  if (before === undefined) return {};
  const isUntouched = before === null || before.length === left.length;
  return isUntouched ? { [field]: before === null ? null : left } : left.length === 0 ? {} : { [field]: left };
}

const undoContainers = (containers: readonly Container[], status: Status): readonly Container[] =>
  containers.filter(({ name }) => name !== containerName).map((container) => undoContainer(container, status));

function undoContainer(container: Container, { environment }: Status): Container {
  const added = Object.hasOwn(environment, container.name) ? (environment[container.name] ?? []) : [];
  const { env, ...rest } = container;
  const left = env?.filter(({ name }) => !(isVariableForApps(name) && added.includes(name))) ?? [];
  return { ...rest, ...kept('env', env, left) };
}

/** Restores the grace period, unless it was changed after the injection. */
function undoGrace(spec: PodSpec, { graceSeconds: { was, now } }: Status): PodSpec {
  if (spec.terminationGracePeriodSeconds !== now) return spec;
  const { terminationGracePeriodSeconds: _, ...rest } = spec;
  return was === undefined ? rest : { ...rest, terminationGracePeriodSeconds: was };
}

function undoMetadata(metadata: Metadata, { defaultContainer }: Status): Metadata {
  const ours = new Set([statusAnnotation, ...(defaultContainer ? [defaultContainerAnnotation] : [])]);
  const { annotations, ...rest } = metadata;
  const left = Object.entries(annotations ?? {}).filter(([key]) => !ours.has(key));
  return left.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(left) };
}
