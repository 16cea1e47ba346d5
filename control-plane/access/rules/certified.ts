// Reads the identity of a client from a URI in its certificate's alternative names. The URI is
// `tollgate://workspace/<slug>/key/<key id>` for a client that used a key, and
// `tollgate://cluster/ns/<namespace>/sa/<service account>/pod/<name>` for a pod. Pure.
import { isSlug } from '@tollgate/proto/contract';

export type CertifiedPeer =
  | { readonly kind: 'key'; readonly workspace: string; readonly keyId: string }
  | { readonly kind: 'pod'; readonly namespace: string; readonly serviceAccount: string; readonly pod: string };

const scheme = 'tollgate://';
const keyForm = /^tollgate:\/\/workspace\/([a-z0-9-]{1,40})\/key\/([A-Za-z0-9_-]{1,80})$/;
/** DNS labels and subdomains, as in names of Kubernetes. */
const podForm = /^tollgate:\/\/cluster\/ns\/([a-z0-9-]{1,63})\/sa\/([a-z0-9.-]{1,253})\/pod\/([a-z0-9.-]{1,253})$/;

/** Returns the URI of an identity. Throws if a part is not a valid name. */
export function uriOf(certified: CertifiedPeer): string {
  const uri =
    certified.kind === 'key'
      ? `${scheme}workspace/${certified.workspace}/key/${certified.keyId}`
      : `${scheme}cluster/ns/${certified.namespace}/sa/${certified.serviceAccount}/pod/${certified.pod}`;
  if (parseUri(uri) === null)
    throw new Error('the name of a certificate must contain a valid workspace and key id, or a valid namespace, service account and pod');
  return uri;
}

export function parseUri(uri: string): CertifiedPeer | null {
  const [, workspace, keyId] = keyForm.exec(uri) ?? [];
  if (workspace !== undefined && keyId !== undefined) return isSlug(workspace) ? { kind: 'key', workspace, keyId } : null;
  const [, namespace, serviceAccount, pod] = podForm.exec(uri) ?? [];
  if (namespace === undefined || serviceAccount === undefined || pod === undefined) return null;
  return { kind: 'pod', namespace, serviceAccount, pod };
}

/**
 * Returns why a key of this workspace must not be used with a client certificate; null: it can be used.
 * `alternativeNames`: the names in the certificate, in Node's format (`URI:…, DNS:…`). A certificate without a name of
 * ours, for example one of another issuer, can be used with any key.
 */
export function certificateProblem(alternativeNames: string, workspace: string): string | null {
  // Node puts quotes around a name that could be read as several names.
  const ours = [...alternativeNames.matchAll(/tollgate:\/\/[^",\s]*/g)].map(([uri]) => parseUri(uri));
  if (ours.includes(null)) return 'the client certificate has a name that this control plane does not issue';
  const others = ours.some((one) => one?.kind === 'key' && one.workspace !== workspace);
  return others ? 'the client certificate was issued for a different workspace than the key' : null;
}
