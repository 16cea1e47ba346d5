// Identifies the client that requests a certificate: by a workspace key that sidecars may use, or, for a pod, by the
// token of its service account. Neither is stored, and neither appears in a log.
import { hasScope } from '@tollgate/proto/contract';
import type { Actor } from '../../access/rules/actor.ts';
import type { CertifiedPeer } from '../../access/rules/certified.ts';
import { forbidden, unauthenticated } from '../../base/refusal.ts';
import type { Kubernetes } from '../../injector/kubernetes-api.ts';
import { reviewToken } from './token-review.ts';

export interface IdentifyDeps {
  /** Throws an error when the header is no valid key. */
  readonly authenticate: (authorization: string | undefined) => Promise<Actor>;
  /** Null when this process does not run in a cluster. */
  readonly kubernetes: Pick<Kubernetes, 'ask'> | null;
}

export async function identify({ authenticate, kubernetes }: IdentifyDeps, authorization: string | undefined): Promise<CertifiedPeer> {
  const shown = shownIn(authorization);
  if (shown === undefined) throw unauthenticated("a workspace's key or a service account's token is needed: Authorization: Bearer …");
  if (isKey(authorization)) {
    const { slug, keyId, scopes } = await authenticate(authorization);
    if (!hasScope(scopes, 'sidecar.library')) throw forbidden('the key lacks the scope sidecar.sync (for a library: sidecar.library)');
    return { kind: 'key', workspace: slug, keyId };
  }
  if (kubernetes === null)
    throw forbidden('this control plane is not in a Kubernetes cluster and cannot review tokens; enrol with a workspace key');
  return reviewToken(kubernetes, shown);
}

const shownIn = (authorization: string | undefined): string | undefined => /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];

/** Whether the database must check the credential; otherwise Kubernetes must. */
export const isKey = (authorization: string | undefined): boolean => shownIn(authorization)?.startsWith('gsk_') === true;
