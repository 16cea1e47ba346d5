// Defines the platform's settings, which apply to all injected sidecars. The webhook and `tollgate inject` read them
// from a file of the same form. A pod sets other settings in its annotations (`wanted.ts`). `PodSettings` contains the
// settings that apply to one pod.
import type { Tier } from '@tollgate/proto/contract';
import { entries, fields, integer, isObject, oneOf, type Problem, problem, record, type Shape, text } from '@tollgate/proto/shape';
import { clusterNameProblem } from './cluster-name.ts';

type Mode = 'native' | 'plain';
type SpoolKind = 'emptyDir' | 'hostPath' | 'pvc';

export interface InjectSettings {
  readonly image: string;
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** The address of the control plane's gRPC port, `host:port`. */
  readonly controlPlane: string;
  readonly mode: Mode;
  /** The port on which sidecars listen, on the loopback address of their pod. */
  readonly port: number;
  /**
   * The names of Secrets in the pod's own namespace: one with the key of the sidecar, one with the key for the app.
   * Each Secret contains its key under `key`.
   */
  readonly sidecarKeySecret: string;
  readonly agentKeySecret: string;
  readonly spool: Exclude<SpoolKind, 'pvc'>;
  readonly spoolSizeLimit: string;
  readonly spoolHostPath: string;
  readonly user: number;
  /** How long a sidecar continues after the containers of the app have ended. */
  readonly drainSeconds: number;
  /** The address from which sidecars get their certificates, `host:port`. Null: sidecars request no certificates. */
  readonly enrol: string | null;
  /**
   * The authorities with which sidecars verify the control plane, as PEM. The webhook uses the control plane's current
   * ones. Null: sidecars use the authorities of their machine.
   */
  readonly ca: string | null;
  /** A Secret of the pod's namespace with tls.crt, tls.key and ca.crt. It is used instead of `enrol` and `ca`. */
  readonly certificateSecret: string | null;
  /** The port on which each sidecar exports its metrics, outside of the pod's loopback; null: none. */
  readonly metricsPort: number | null;
  /** How long a sidecar may wait for policy before it is restarted, in seconds. */
  readonly startSeconds: number;
  readonly resources: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Additional environment variables of the sidecar. */
  readonly environment: Readonly<Record<string, string>>;
}

export type Spool =
  | { readonly kind: 'emptyDir' }
  | { readonly kind: 'hostPath' }
  | { readonly kind: 'claim'; readonly claim: string }
  /** A volume that the pod has, for example from a StatefulSet's `volumeClaimTemplates`. */
  | { readonly kind: 'volume'; readonly volume: string };

/**
 * The settings of one pod. They come from its annotations, or from the platform's settings if an annotation is missing.
 */
export interface PodSettings {
  readonly mode: Mode;
  readonly port: number;
  /** The agent that the sidecar pins. Null: the caller or its key names the agent. */
  readonly agent: string | null;
  readonly tier: Tier | null;
  readonly keySecret: string;
  readonly sidecarKeySecret: string;
  /**
   * The Secret with the sidecar's gateway file. Null: the sidecar has no such file, and uses only what the control
   * plane defines.
   */
  readonly gatewaySecret: string | null;
  readonly spool: Spool;
}

const defaults: Omit<InjectSettings, 'image' | 'controlPlane'> = {
  imagePullPolicy: 'IfNotPresent',
  mode: 'native',
  port: 9090,
  sidecarKeySecret: 'tollgate-sidecar',
  agentKeySecret: 'tollgate-agent',
  spool: 'emptyDir',
  spoolSizeLimit: '2Gi',
  spoolHostPath: '/var/lib/tollgate/spool',
  user: 65_532,
  drainSeconds: 10,
  enrol: null,
  ca: null,
  certificateSecret: null,
  metricsPort: null,
  startSeconds: 120,
  resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
  environment: {},
};

/**
 * The variables that injection itself sets for a sidecar. `TOLLGATE_KEY` refers to a Secret and is never a plain value.
 */
const ownVariables = new Set(
  'CONTROL_PLANE KEY SIDECAR_HOST SIDECAR_PORT SPOOL_DIR SIDECAR_ID GATEWAY_FILE PIN_AGENT PIN_TIER CA ENROL TOKEN_FILE TLS_DIR METRICS_PORT'
    .split(' ')
    .map((name) => `TOLLGATE_${name}`),
);
const variableProblem = (name: string): string | null => {
  if (!/^[A-Z_][A-Z0-9_]*$/.test(name)) return 'must be the name of a variable: A-Z, 0-9 and _';
  return ownVariables.has(name) ? 'is given by injection itself' : null;
};

const quantity = (value: string): string | null =>
  /^[0-9]+(?:\.[0-9]+)?(?:m|k|[KMGTP]i?)?$/.test(value) ? null : 'must be a quantity such as 100m or 128Mi, in quotes';
const amounts = fields({ cpu: text(20, quantity), memory: text(20, quantity), 'ephemeral-storage': text(20, quantity) });
const published = "the sidecar's image as you published it, such as registry.example.com/tollgate/sidecar:<version>";
/**
 * The name of an image as a kubelet parses it. Refuses the placeholder in the files of `deploy/kustomize/injector`. The
 * operator must replace this placeholder, because there is no default image.
 */
const imageName = (() => {
  const host = String.raw`(?:[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*(?:\.[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*)*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?`;
  const component = String.raw`[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*`;
  const tagAndDigest = String.raw`(?::\w[\w.-]{0,127})?(?:@[A-Za-z][\w.+-]*:[0-9A-Fa-f]{32,})?`;
  return new RegExp(`^(?:${host}/)?${component}(?:/${component})*${tagAndDigest}$`);
})();
const imageProblem = (value: string): string | null => (imageName.test(value) ? null : `must be ${published}`);
const address = (value: string): string | null =>
  /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}$/.test(value) ? null : 'must be host:port';
const folder = (value: string): string | null =>
  /^\/[^\0]*[^/\0]$/.test(value) && !value.split('/').includes('..') ? null : 'must be a folder, from / on, without ..';

const authorities = (value: string): string | null =>
  /^\s*(?:-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/.test(value)
    ? null
    : 'must be certificates as PEM, and nothing between them';

const shape: Shape = record(
  {
    image: text(1_000, imageProblem),
    imagePullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
    controlPlane: text(300, address),
    mode: oneOf('native', 'plain'),
    port: integer(1, 65_535),
    sidecarKeySecret: text(253, clusterNameProblem),
    agentKeySecret: text(253, clusterNameProblem),
    spool: oneOf('emptyDir', 'hostPath'),
    spoolSizeLimit: text(20, quantity),
    spoolHostPath: text(1_000, folder),
    user: integer(1, 2_147_483_647),
    drainSeconds: integer(1, 3_600),
    enrol: text(300, address),
    ca: text(100_000, authorities),
    certificateSecret: text(253, clusterNameProblem),
    metricsPort: integer(1, 65_535),
    startSeconds: integer(1, 3_600),
    resources: fields({ requests: amounts, limits: amounts }),
    environment: entries({ problem: variableProblem, schema: {}, max: 50 }, text(10_000, nulProblem)),
  },
  ['controlPlane'],
);

function nulProblem(value: string): string | null {
  return value.includes('\0') ? 'must not contain NUL' : null;
}

/** Returns the settings with defaults for absent fields, or every problem with its place. */
export function readSettings(value: unknown): { readonly settings: InjectSettings } | { readonly problems: readonly Problem[] } {
  const given = value ?? {};
  const noImage = isObject(given) && !Object.hasOwn(given, 'image') ? problem('image', `is required: set it to ${published}`) : [];
  const problems = [...noImage, ...shape.check(given, '')];
  if (problems.length > 0 || !isObject(given)) return { problems: problems.map(named) };
  // `shape` has checked all fields.
  const settings = { ...defaults, ...given } as InjectSettings;
  const clashes = clashesIn(settings);
  return clashes.length > 0 ? { problems: clashes } : { settings };
}

function clashesIn({ enrol, ca, certificateSecret, port, metricsPort }: InjectSettings): readonly Problem[] {
  const others = [...(enrol === null ? [] : ['enrol']), ...(ca === null ? [] : ['ca'])].join(' and ');
  return [
    ...(certificateSecret === null || others === ''
      ? []
      : problem(
          'certificateSecret',
          `cannot be used with ${others}, because the secret already contains certificates and authorities; use either the secret or the other settings`,
        )),
    ...(metricsPort === port ? problem('metricsPort', `must not be ${port}, because the setting "port" has this value`) : []),
  ];
}

/** Returns the problems with settings that must be complete when a pod is injected. */
export const missingIn = ({ enrol, ca }: InjectSettings): readonly Problem[] =>
  enrol !== null && ca === null
    ? problem('ca', 'is required together with "enrol": set it to the authorities that `tollgate ca` prints')
    : [];

const named = ({ path, message }: Problem): Problem => ({ path: path === 'body' ? 'settings' : path, message });
