// Injects into all Kubernetes objects that create pods. The pod template in such an object is handled like a pod. In a
// List, each item is handled.
import { isObject, problem, type Problem } from '@tollgate/proto/shape';
import { inject } from './inject.ts';
import type { Row } from './pod.ts';
import type { InjectSettings } from './settings.ts';
import { statusAnnotation } from './status.ts';

/** The outcome for one document, or for one item of a list. */
export interface Outcome {
  /** For example `Deployment/web`. For an object without a name, only its kind. */
  readonly name: string;
  readonly kind: 'injected' | 'left' | 'foreign' | 'refused';
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

export interface InjectedDocument {
  readonly value: unknown;
  readonly outcomes: readonly Outcome[];
}

/** The path of the pod in an object that creates pods. */
const places: Readonly<Record<string, readonly string[]>> = {
  'v1 Pod': [],
  'v1 ReplicationController': ['spec', 'template'],
  'apps/v1 Deployment': ['spec', 'template'],
  'apps/v1 StatefulSet': ['spec', 'template'],
  'apps/v1 DaemonSet': ['spec', 'template'],
  'apps/v1 ReplicaSet': ['spec', 'template'],
  'batch/v1 Job': ['spec', 'template'],
  'batch/v1 CronJob': ['spec', 'jobTemplate', 'spec', 'template'],
};
const makers = new Set(Object.keys(places).map((kind) => kind.split(' ')[1]));

export function injectDocument(value: unknown, settings: InjectSettings, path = ''): InjectedDocument {
  if (!isObject(value) || typeof value['kind'] !== 'string' || typeof value['apiVersion'] !== 'string')
    return refuse(value, path === '' ? 'document' : path, problem(path, 'must be a Kubernetes object with apiVersion and kind'));
  const { kind, apiVersion } = value;
  if (kind.endsWith('List') && Array.isArray(value['items'])) return injectList(value, value['items'], settings, path);
  const place = places[`${apiVersion} ${kind}`];
  if (place !== undefined) return injectAt(value, place, settings, path);
  if (makers.has(kind)) {
    const known = Object.keys(places).find((one) => one.endsWith(` ${kind}`)) ?? '';
    return refuse(value, nameOf(value), problem(join(path, 'apiVersion'), `must be ${known.split(' ')[0] ?? ''} for a ${kind}`));
  }
  return { value, outcomes: [{ name: nameOf(value), kind: 'foreign', problems: [], warnings: mayMakePods(value) ? [unknownMaker] : [] }] };
}

const unknownMaker = 'may make pods in a way that is not known here, and is left as it is; the webhook injects them';

/** Returns whether an object of an unknown kind, such as a rollout, may create pods. */
function mayMakePods({ spec }: Row): boolean {
  return isObject(spec) && ['template', 'jobTemplate', 'podTemplate', 'containers'].some((field) => isObject(spec[field]));
}

function injectList(list: Row, items: readonly unknown[], settings: InjectSettings, path: string): InjectedDocument {
  const injected = items.map((item, at) => injectDocument(typed(item, list), settings, join(path, `items[${at}]`)));
  return {
    value: { ...list, items: injected.map(({ value }) => value) },
    outcomes: injected.flatMap(({ outcomes }) => outcomes),
  };
}

/** Adds the kind to an item that omits it. Items of typed lists, such as a PodList, may do this. */
function typed(item: unknown, { kind, apiVersion }: Row): unknown {
  const kindOfItems = String(kind).slice(0, -'List'.length);
  return isObject(item) && item['kind'] === undefined && kindOfItems !== '' ? { apiVersion, kind: kindOfItems, ...item } : item;
}

function injectAt(value: Row, place: readonly string[], settings: InjectSettings, path: string): InjectedDocument {
  const name = nameOf(value);
  const at = [path, ...place].filter((part) => part !== '').join('.');
  const misplaced = place.length === 0 ? [] : misplacedProblems(value, path, at);
  const done = inject(read(value, place), settings);
  if (done.kind === 'refused' || misplaced.length > 0) {
    const found = done.kind === 'refused' ? done.problems : [];
    return refuse(value, name, [...misplaced, ...found.map((one) => ({ ...one, path: join(at, one.path) }))]);
  }
  if (done.kind === 'left') return { value, outcomes: [{ name, kind: 'left', problems: [], warnings: [] }] };
  return { value: replace(value, place, done.pod), outcomes: [{ name, kind: 'injected', problems: [], warnings: done.warnings }] };
}

/**
 * Returns a problem for each label and annotation that is on the workload but belongs on its pods. On the workload it
 * has no effect.
 */
function misplacedProblems({ metadata }: Row, path: string, at: string): readonly Problem[] {
  return ['labels', 'annotations'].flatMap((field) => {
    const map = isObject(metadata) ? metadata[field] : undefined;
    const keys = isObject(map) ? Object.keys(map).filter((key) => key.startsWith('tollgate.dev/') && key !== statusAnnotation) : [];
    return keys.flatMap((key) =>
      problem(join(path, `metadata.${field}[${JSON.stringify(key)}]`), `has an effect on pods only; move it to ${at}.metadata.${field}`),
    );
  });
}

const refuse = (value: unknown, name: string, problems: readonly Problem[]): InjectedDocument => ({
  value,
  outcomes: [{ name, kind: 'refused', problems, warnings: [] }],
});

const join = (path: string, rest: string): string => (path === '' || rest === '' ? `${path}${rest}` : `${path}.${rest}`);

const read = (value: unknown, [key, ...rest]: readonly string[]): unknown =>
  key === undefined ? value : isObject(value) ? read(value[key], rest) : undefined;

function replace(value: unknown, [key, ...rest]: readonly string[], by: Row): unknown {
  if (key === undefined || !isObject(value)) return by;
  return { ...value, [key]: replace(value[key], rest, by) };
}

function nameOf({ kind, metadata }: Row): string {
  const name = isObject(metadata) ? (metadata['name'] ?? metadata['generateName']) : undefined;
  return typeof name === 'string' ? `${String(kind)}/${name}` : String(kind);
}
