// Reads the settings of a pod from labels and annotations with the prefix `tollgate.dev/`. An unknown name is reported
// as a problem. Otherwise, because of a misspelt name, an agent could be governed as another agent, or not at all.
import { isTier, keyedPath, nameProblem, tiers } from '@tollgate/proto/contract';
import { isObject, type Problem, problem } from '@tollgate/proto/shape';
import { clusterNameProblem } from './cluster-name.ts';
import type { Metadata } from './pod.ts';
import type { InjectSettings, PodSettings, Spool } from './settings.ts';
import { statusAnnotation } from './status.ts';

const prefix = 'tollgate.dev/';
const injectLabel = `${prefix}inject`;

const among =
  (...choices: readonly string[]) =>
  (value: string): string | null =>
    choices.includes(value) ? null : `must be ${choices.join(' or ')}, is ${JSON.stringify(value)}`;

const portProblem = (value: string): string | null =>
  /^[1-9][0-9]{0,4}$/.test(value) && Number(value) <= 65_535 ? null : 'must be a port, from 1 to 65535, in quotes';

const annotations: Readonly<Record<string, (value: string) => string | null>> = {
  agent: nameProblem,
  tier: (value) => (isTier(value) ? null : `must be ${tiers.join(' or ')}, is ${JSON.stringify(value)}`),
  mode: among('native', 'plain'),
  port: portProblem,
  'key-secret': clusterNameProblem,
  'sidecar-key-secret': clusterNameProblem,
  'gateway-secret': clusterNameProblem,
  spool: among('emptyDir', 'hostPath', 'pvc'),
  'spool-claim': clusterNameProblem,
  'spool-volume': clusterNameProblem,
};

/** Returns whether the pod opts out of injection, whatever its namespace says and whatever else the pod contains. */
export function isLeftAlone(pod: unknown): boolean {
  const metadata = isObject(pod) ? pod['metadata'] : undefined;
  const labels = isObject(metadata) ? metadata['labels'] : undefined;
  return isObject(labels) && labels[injectLabel] === 'disabled';
}

export function readWanted(
  metadata: Metadata | undefined,
  settings: InjectSettings,
): { readonly wanted: PodSettings } | { readonly problems: readonly Problem[] } {
  const given = metadata?.annotations ?? {};
  const said = (name: string): string | null => given[`${prefix}${name}`] ?? null;
  const problems = [...labelProblems(metadata?.labels ?? {}), ...annotationProblems(given), ...spoolProblems(said)];
  if (problems.length > 0) return { problems };
  const tier = said('tier');
  return {
    wanted: {
      mode: said('mode') === null ? settings.mode : said('mode') === 'plain' ? 'plain' : 'native',
      port: Number(said('port') ?? settings.port),
      agent: said('agent'),
      tier: isTier(tier) ? tier : null,
      keySecret: said('key-secret') ?? settings.agentKeySecret,
      sidecarKeySecret: said('sidecar-key-secret') ?? settings.sidecarKeySecret,
      gatewaySecret: said('gateway-secret'),
      spool: spoolOf(said, settings),
    },
  };
}

function labelProblems(labels: Readonly<Record<string, string>>): readonly Problem[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    if (!key.startsWith(prefix)) return [];
    const path = keyedPath('metadata.labels', key);
    if (key !== injectLabel)
      return problem(path, `is not a label of Tollgate; the only label is ${injectLabel}, and all other settings are annotations`);
    const wrong = among('enabled', 'disabled')(value);
    return wrong === null ? [] : problem(path, wrong);
  });
}

function annotationProblems(given: Readonly<Record<string, string>>): readonly Problem[] {
  return Object.entries(given).flatMap(([key, value]) => {
    if (!key.startsWith(prefix) || key === statusAnnotation) return [];
    const path = keyedPath('metadata.annotations', key);
    if (key === injectLabel)
      return problem(path, 'must be a label instead of an annotation, because the webhook only receives pods with this label');
    const name = key.slice(prefix.length);
    const check = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
    if (check === undefined)
      return problem(path, `is not an annotation of Tollgate; the annotations are ${Object.keys(annotations).join(', ')}`);
    const wrong = check(value);
    return wrong === null ? [] : problem(path, wrong);
  });
}

type AnnotationReader = (name: string) => string | null;

function spoolProblems(said: AnnotationReader): readonly Problem[] {
  const at = (name: string): string => keyedPath('metadata.annotations', `${prefix}${name}`);
  const named = ['spool-claim', 'spool-volume'].filter((name) => said(name) !== null);
  if (said('spool') === 'pvc' && named.length !== 1)
    return problem(
      at('spool'),
      `has the value "pvc", which needs either the annotation ${prefix}spool-claim with the name of a claim, or the annotation ${prefix}spool-volume with the name of a volume of the pod`,
    );
  return said('spool') === 'pvc' ? [] : named.flatMap((name) => problem(at(name), `can only be used together with ${prefix}spool: pvc`));
}

function spoolOf(said: AnnotationReader, settings: InjectSettings): Spool {
  const claim = said('spool-claim');
  const volume = said('spool-volume');
  if (claim !== null) return { kind: 'claim', claim };
  if (volume !== null) return { kind: 'volume', volume };
  return { kind: (said('spool') ?? settings.spool) === 'hostPath' ? 'hostPath' : 'emptyDir' };
}
