// Builds the container of the sidecar and the volumes that it mounts. The container satisfies the restricted Pod
// Security Standard, whatever the rest of the pod does. It listens only on the loopback address, so only this pod can
// call it.
import type { Container, NamedRow, Row, Variable } from './pod.ts';
import type { InjectSettings, PodSettings, Spool } from './settings.ts';
import { containerName, volumePrefix } from './status.ts';

export interface Sidecar {
  readonly container: Container;
  readonly volumes: readonly NamedRow[];
}

const gatewayName = `${volumePrefix}gateway`;
const gatewayFolder = '/etc/tollgate';
const metricsPortName = 'tollgate-metric';

export function sidecarOf(wanted: PodSettings, settings: InjectSettings): Sidecar {
  const spool = spoolVolume(wanted.spool, settings);
  const gateway = gatewayOf(wanted);
  const link = linkOf(settings);
  return {
    container: {
      name: containerName,
      image: settings.image,
      imagePullPolicy: settings.imagePullPolicy,
      ...(wanted.mode === 'native' ? { restartPolicy: 'Always' } : {}),
      env: variablesOf(wanted, settings, link.variables),
      ...portsOf(settings),
      ...startOf(wanted, settings),
      livenessProbe: { ...probe(wanted.port, 'healthz'), periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 3 },
      resources: settings.resources,
      securityContext: {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        privileged: false,
        readOnlyRootFilesystem: true,
        runAsGroup: settings.user,
        runAsNonRoot: true,
        runAsUser: settings.user,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      volumeMounts: [{ name: spool.name, mountPath: spoolFolder }, ...gateway.mounts, ...link.mounts],
    },
    volumes: [...spool.volumes, ...gateway.volumes, ...link.volumes],
  };
}

function gatewayOf({ gatewaySecret }: PodSettings): { readonly mounts: readonly NamedRow[]; readonly volumes: readonly NamedRow[] } {
  if (gatewaySecret === null) return { mounts: [], volumes: [] };
  return {
    mounts: [{ name: gatewayName, mountPath: gatewayFolder, readOnly: true }],
    // Every user can read the file (0444), because the sidecar is not root. No other container mounts the volume.
    volumes: [{ name: gatewayName, secret: { secretName: gatewaySecret, defaultMode: 0o444 } }],
  };
}

/** The port has a name so that a pod monitor finds it. A port name has at most 15 characters. */
const portsOf = ({ metricsPort }: InjectSettings): Row =>
  metricsPort === null ? {} : { ports: [{ name: metricsPortName, containerPort: metricsPort }] };

type Values = Readonly<Record<string, string | null>>;

function variablesOf(wanted: PodSettings, settings: InjectSettings, link: Values): readonly Variable[] {
  const { agent, tier } = wanted;
  const values: Values = {
    TOLLGATE_CONTROL_PLANE: settings.controlPlane,
    // Variables with default values are set too. Otherwise Kubernetes would set a variable of the same name if a
    // Service has a matching name.
    TOLLGATE_SIDECAR_HOST: '127.0.0.1',
    TOLLGATE_SIDECAR_PORT: String(wanted.port),
    TOLLGATE_SPOOL_DIR: spoolFolder,
    TOLLGATE_PIN_AGENT: agent,
    TOLLGATE_PIN_TIER: tier,
    TOLLGATE_GATEWAY_FILE: wanted.gatewaySecret === null ? null : `${gatewayFolder}/gateway.json`,
    TOLLGATE_METRICS_PORT: settings.metricsPort === null ? null : String(settings.metricsPort),
    ...link,
    ...settings.environment,
  };
  return [
    { name: 'TOLLGATE_KEY', valueFrom: { secretKeyRef: { name: wanted.sidecarKeySecret, key: 'key' } } },
    { name: 'TOLLGATE_SIDECAR_ID', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ...Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [{ name, value: literal(value) }])),
  ];
}

/**
 * Escapes a value, because Kubernetes replaces `$(NAME)` in values by another variable, such as the key, and `$$` by
 * `$`.
 */
const literal = (value: string): string => value.replaceAll('$', () => '$$');

/**
 * Returns the fields that make the app's containers wait until policy has arrived. A native sidecar has a startup
 * probe. A plain sidecar has lifecycle hooks: the kubelet starts it first and waits for `postStart`. The kubelet ends a
 * plain sidecar together with the other containers, so `preStop` waits while they end.
 */
function startOf({ mode, port }: PodSettings, { startSeconds, drainSeconds }: InjectSettings): Row {
  if (mode === 'native')
    return { startupProbe: { ...probe(port, 'readyz'), periodSeconds: 1, timeoutSeconds: 5, failureThreshold: startSeconds } };
  return {
    lifecycle: {
      postStart: { exec: { command: node(...untilReady(port, startSeconds)) } },
      preStop: { exec: { command: node('setTimeout(()=>{},', drainSeconds * 1_000, ')') } },
    },
  };
}

/** The probe runs a program in the container, because the kubelet cannot reach the pod's loopback address. */
const probe = (port: number, path: 'healthz' | 'readyz'): Row => ({
  exec: { command: node(...asking(port, path), '.then(r=>process.exit(r.ok?0:1),()=>process.exit(1))') },
});

const untilReady = (port: number, seconds: number): Script => [
  'const e=Date.now()+',
  seconds * 1_000,
  ',a=()=>',
  ...asking(port, 'readyz'),
  '.then(r=>r.ok,()=>false)',
  '.then(k=>{if(k)process.exit(0);if(Date.now()>e)process.exit(1);setTimeout(a,250)});a()',
];

type Script = readonly (string | number)[];

const asking = (port: number, path: string): Script => [
  "fetch('http://127.0.0.1:",
  port,
  '/',
  path,
  "',{signal:AbortSignal.timeout(4000)})",
];

const node = (...script: Script): readonly string[] => ['node', '-e', script.join('')];

// Defines what a sidecar needs for its own TLS with the control plane. This is either a token with which it requests
// certificates, or certificates in a Secret that another program renews. No other container mounts these volumes.

interface Link {
  readonly variables: Readonly<Record<string, string | null>>;
  readonly mounts: readonly NamedRow[];
  readonly volumes: readonly NamedRow[];
}

const tokenName = `${volumePrefix}token`;
const tokenFolder = '/var/run/secrets/tollgate';
const tlsName = `${volumePrefix}tls`;
const tlsFolder = '/var/run/secrets/tollgate-tls';
/**
 * In seconds. The kubelet's minimum is 600. The kubelet makes a new token when four fifths of the lifetime have passed.
 */
const token = { audience: 'tollgate', expirationSeconds: 3_600, path: 'token' };

function linkOf({ enrol, ca, certificateSecret }: InjectSettings): Link {
  if (certificateSecret !== null)
    return {
      variables: { TOLLGATE_TLS_DIR: tlsFolder },
      mounts: [{ name: tlsName, mountPath: tlsFolder, readOnly: true }],
      // Every user can read the files (0444), because the sidecar is not root. No other container mounts the volume.
      volumes: [{ name: tlsName, secret: { secretName: certificateSecret, defaultMode: 0o444 } }],
    };
  const trusted = { TOLLGATE_CA: ca };
  if (enrol === null) return { variables: trusted, mounts: [], volumes: [] };
  return {
    variables: { TOLLGATE_ENROL: enrol, TOLLGATE_TOKEN_FILE: `${tokenFolder}/${token.path}`, ...trusted },
    mounts: [{ name: tokenName, mountPath: tokenFolder, readOnly: true }],
    // The kubelet restricts this mode itself: to 0600 if all containers have the same user, or to a group if the pod
    // sets `fsGroup`.
    volumes: [{ name: tokenName, projected: { defaultMode: 0o444, sources: [{ serviceAccountToken: token }] } }],
  };
}

// The volume of a sidecar's spool. It contains undelivered entries. The kind of volume determines what these entries
// survive. With `emptyDir`, they survive a restart of the sidecar, but not the end of the pod. With `hostPath`, they
// survive the end of the pod, because the next sidecar of the workspace on that node ships the remaining entries. With
// a claim, they survive the loss of the node, if the claim can move to another node.

const spoolFolder = '/var/lib/tollgate';
const spoolName = `${volumePrefix}spool`;

/** Returns the volumes to add, and the name of the volume to mount. */
function spoolVolume(spool: Spool, settings: InjectSettings): { readonly volumes: readonly NamedRow[]; readonly name: string } {
  if (spool.kind === 'volume') return { volumes: [], name: spool.volume };
  return { volumes: [{ name: spoolName, ...sourceOf(spool, settings) }], name: spoolName };
}

function sourceOf(spool: Exclude<Spool, { readonly kind: 'volume' }>, settings: InjectSettings): Row {
  switch (spool.kind) {
    case 'emptyDir':
      return { emptyDir: { sizeLimit: settings.spoolSizeLimit } };
    // Kubernetes does not create a missing folder for this type. A folder that it created would belong to root, and no
    // sidecar could write to it.
    case 'hostPath':
      return { hostPath: { path: settings.spoolHostPath, type: 'Directory' } };
    case 'claim':
      return { persistentVolumeClaim: { claimName: spool.claim } };
  }
}
