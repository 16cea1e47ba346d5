// Defines a pod as injection reads it. The fields that injection reads have the form that Kubernetes requires. All
// other fields are copied unchanged.
import { isObject, type Problem, problem } from '@tollgate/proto/shape';

export type Row = Readonly<Record<string, unknown>>;

export interface Variable extends Row {
  readonly name: string;
}

export interface NamedRow extends Row {
  readonly name: string;
}

interface Port extends Row {
  readonly containerPort: number;
}

export interface Container extends NamedRow {
  readonly env?: readonly Variable[];
  readonly ports?: readonly Port[];
  readonly volumeMounts?: readonly NamedRow[];
}

export interface PodSpec extends Row {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly NamedRow[];
  readonly terminationGracePeriodSeconds?: number;
}

export interface Metadata extends Row {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A Pod, or the template of a Pod. */
export interface Pod extends Row {
  readonly metadata?: Metadata;
  readonly spec: PodSpec;
}

/** Returns the pod, or the problems that make it invalid. */
export function readPod(value: unknown): { readonly pod: Pod } | { readonly problems: readonly Problem[] } {
  if (!isObject(value) || !isObject(value['spec'])) return { problems: problem('spec', 'is required: a pod must have a spec') };
  const { metadata, spec } = value;
  const problems = [...metadataProblems(metadata), ...specProblems(spec)];
  // Every field that the type names was checked.
  return problems.length > 0 ? { problems } : { pod: value as unknown as Pod };
}

function metadataProblems(metadata: unknown): readonly Problem[] {
  if (metadata === undefined || metadata === null) return [];
  if (!isObject(metadata)) return problem('metadata', 'must be an object');
  return ['labels', 'annotations'].flatMap((field) => {
    const map = metadata[field];
    if (map === undefined || map === null) return [];
    if (!isObject(map)) return problem(`metadata.${field}`, 'must be an object');
    return Object.entries(map).flatMap(([key, text]) =>
      typeof text === 'string' ? [] : problem(`metadata.${field}[${JSON.stringify(key)}]`, 'must be text; write it in quotes'),
    );
  });
}

function specProblems(spec: Row): readonly Problem[] {
  const grace = spec['terminationGracePeriodSeconds'] ?? 0;
  const { containers } = spec;
  return [
    ...(Array.isArray(containers) && containers.length > 0 ? [] : problem('spec.containers', 'must be a list of at least one container')),
    ...(Number.isSafeInteger(grace) && Number(grace) >= 0
      ? []
      : problem('spec.terminationGracePeriodSeconds', 'must be an integer of 0 or more')),
    ...listProblems(spec['volumes'], 'spec.volumes', isNamed, 'an object with a name'),
    ...['initContainers', 'containers'].flatMap((list) => containerProblems(spec[list], `spec.${list}`)),
  ];
}

function containerProblems(list: unknown, path: string): readonly Problem[] {
  const problems = listProblems(list, path, isNamed, 'an object with a name');
  if (problems.length > 0 || !Array.isArray(list)) return problems;
  return list
    .filter(isNamed)
    .flatMap((container, at) => [
      ...listProblems(container['env'], `${path}[${at}].env`, isNamed, 'an object with a name'),
      ...listProblems(container['volumeMounts'], `${path}[${at}].volumeMounts`, isNamed, 'an object with a name'),
      ...listProblems(container['ports'], `${path}[${at}].ports`, isPort, 'an object with an integer containerPort'),
    ]);
}

const isNamed = (value: unknown): value is NamedRow => isObject(value) && typeof value['name'] === 'string';
const isPort = (value: unknown): value is Port => isObject(value) && Number.isInteger(value['containerPort']);

function listProblems(list: unknown, path: string, fits: (value: unknown) => boolean, what: string): readonly Problem[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) return problem(path, 'must be a list');
  return list.flatMap((item, at) => (fits(item) ? [] : problem(`${path}[${at}]`, `must be ${what}`)));
}
