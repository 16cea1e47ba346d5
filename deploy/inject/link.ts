// What a sidecar needs for its own TLS with the control plane: a token with which it requests certificates, or
// certificates in a Secret that another program renews. No other container mounts these volumes.
import type { NamedRow } from './pod.ts';
import type { InjectSettings } from './settings.ts';
import { volumePrefix } from './status.ts';

export interface Link {
  readonly variables: Readonly<Record<string, string | null>>;
  readonly mounts: readonly NamedRow[];
  readonly volumes: readonly NamedRow[];
}

const tokenName = `${volumePrefix}token`;
const tokenFolder = '/var/run/secrets/tollgate';
const tlsName = `${volumePrefix}tls`;
const tlsFolder = '/var/run/secrets/tollgate-tls';
/** In seconds. The kubelet's minimum is 600. It makes a new token when four fifths of the lifetime have passed. */
const token = { audience: 'tollgate', expirationSeconds: 3_600, path: 'token' };

export function linkOf({ enrol, ca, certificateSecret }: InjectSettings): Link {
  if (certificateSecret !== null)
    return {
      variables: { TOLLGATE_TLS_DIR: tlsFolder },
      mounts: [{ name: tlsName, mountPath: tlsFolder, readOnly: true }],
      // 0444, because the sidecar is not root and no other container mounts the volume.
      volumes: [{ name: tlsName, secret: { secretName: certificateSecret, defaultMode: 0o444 } }],
    };
  const trusted = { TOLLGATE_CA: ca };
  if (enrol === null) return { variables: trusted, mounts: [], volumes: [] };
  return {
    variables: { TOLLGATE_ENROL: enrol, TOLLGATE_TOKEN_FILE: `${tokenFolder}/${token.path}`, ...trusted },
    mounts: [{ name: tokenName, mountPath: tokenFolder, readOnly: true }],
    // The kubelet narrows the mode to 0600 if all containers have the same user, or to a group with fsGroup.
    volumes: [{ name: tokenName, projected: { defaultMode: 0o444, sources: [{ serviceAccountToken: token }] } }],
  };
}
