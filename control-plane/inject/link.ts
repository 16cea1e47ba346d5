// What a sidecar needs for TLS of its own with the control plane: a token to ask for certificates with, or certificates that
// somebody else keeps in a Secret. No other container mounts either.
import type { Named } from './pod.ts';
import type { InjectSettings } from './settings.ts';
import { volumePrefix } from './status.ts';

export interface Link {
  readonly variables: Readonly<Record<string, string | null>>;
  readonly mounts: readonly Named[];
  readonly volumes: readonly Named[];
}

const tokenName = `${volumePrefix}token`;
const tokenFolder = '/var/run/secrets/tollgate';
const tlsName = `${volumePrefix}tls`;
const tlsFolder = '/var/run/secrets/tollgate-tls';
/** The least that the kubelet makes is 600; it makes a new one once four fifths have gone. */
const token = { audience: 'tollgate', expirationSeconds: 3_600, path: 'token' };

export function linkOf({ enrol, ca, certificateSecret }: InjectSettings): Link {
  if (certificateSecret !== null)
    return {
      variables: { TOLLGATE_TLS_DIR: tlsFolder },
      mounts: [{ name: tlsName, mountPath: tlsFolder, readOnly: true }],
      // 0444: the sidecar is not root, and no other container mounts it.
      volumes: [{ name: tlsName, secret: { secretName: certificateSecret, defaultMode: 0o444 } }],
    };
  const trusted = { TOLLGATE_CA: ca };
  if (enrol === null) return { variables: trusted, mounts: [], volumes: [] };
  return {
    variables: { TOLLGATE_ENROL: enrol, TOLLGATE_TOKEN_FILE: `${tokenFolder}/${token.path}`, ...trusted },
    mounts: [{ name: tokenName, mountPath: tokenFolder, readOnly: true }],
    // The kubelet narrows the mode to 0600 where all containers have one user, or to a group by fsGroup.
    volumes: [{ name: tokenName, projected: { defaultMode: 0o444, sources: [{ serviceAccountToken: token }] } }],
  };
}
