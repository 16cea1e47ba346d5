// Identifies the client that requests a certificate: by a workspace key that sidecars may use, or, for a pod, by the
// token of its service account. Neither is stored, and neither appears in a log.
import { AppError, hasScope } from '@tollgate/proto/contract';
import type { Actor } from '../../access/rules/actor.ts';
import type { CertifiedPeer } from '../../access/rules/certified.ts';
import { forbidden, unauthenticated } from '../../base/refusal.ts';
import type { Kubernetes } from '../../injector/kubernetes-api.ts';
import { isObject } from '@tollgate/proto/shape';

export interface IdentifyDeps {
  /** Returns the actor of the key. Throws an error when the header does not contain a valid key. */
  readonly authenticate: (authorization: string | undefined, address: string) => Promise<Actor>;
  /** Null when this process does not run in a cluster. */
  readonly kubernetes: Pick<Kubernetes, 'ask'> | null;
}

/** `address`: where the request comes from. */
export async function identify(
  { authenticate, kubernetes }: IdentifyDeps,
  authorization: string | undefined,
  address: string,
): Promise<CertifiedPeer> {
  const shown = shownIn(authorization);
  if (shown === undefined) throw unauthenticated("a workspace's key or a service account's token is needed: Authorization: Bearer …");
  if (isKey(authorization)) {
    const { slug, keyId, scopes } = await authenticate(authorization, address);
    if (!hasScope(scopes, 'sidecar.library')) throw forbidden('the key lacks the scope "sidecar.sync" (for a library: "sidecar.library")');
    return { kind: 'key', workspace: slug, keyId };
  }
  if (kubernetes === null)
    throw forbidden(
      'this control plane does not run in a Kubernetes cluster, so it cannot check tokens of service accounts; enrol with a workspace key',
    );
  return reviewToken(kubernetes, shown);
}

const shownIn = (authorization: string | undefined): string | undefined => /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];

/** Returns true for a key, which the database must check. All other credentials must be checked by Kubernetes. */
export const isKey = (authorization: string | undefined): boolean => shownIn(authorization)?.startsWith('gsk_') === true;

// Reviews a token with the Kubernetes API. The token must belong to a pod, be made for our audience, and still be
// valid.

/** The audience that a projected token must have. */
const tokenAudience = 'tollgate';
const reviewsPath = '/apis/authentication.k8s.io/v1/tokenreviews';
const podName = 'authentication.kubernetes.io/pod-name';
const tokenCharsMax = 8_192;

async function reviewToken(kubernetes: Pick<Kubernetes, 'ask'>, token: string): Promise<CertifiedPeer & { readonly kind: 'pod' }> {
  if (token.length > tokenCharsMax || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw invalidToken();
  const status = await statusOf(kubernetes, token);
  // An API server that does not support audiences returns none.
  const isForUs = Array.isArray(status['audiences']) && status['audiences'].includes(tokenAudience);
  if (status['authenticated'] !== true || !isForUs) throw invalidToken();
  const { user } = status;
  if (!isObject(user)) throw invalidToken();
  const [, namespace, serviceAccount] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(String(user['username'])) ?? [];
  if (namespace === undefined || serviceAccount === undefined) throw forbidden('the token does not belong to a service account');
  const pod = podIn(user['extra']);
  if (pod === null) throw forbidden('the token is not bound to a pod; use a projected service account token');
  return { kind: 'pod', namespace, serviceAccount, pod };
}

const invalidToken = (): AppError =>
  unauthenticated(`the token is not a service account token for the audience ${tokenAudience}, or has expired`);

function podIn(extra: unknown): string | null {
  const names = isObject(extra) ? extra[podName] : undefined;
  const [name, ...more]: readonly unknown[] = Array.isArray(names) ? names : [];
  return typeof name === 'string' && more.length === 0 ? name : null;
}

async function statusOf(kubernetes: Pick<Kubernetes, 'ask'>, token: string): Promise<Readonly<Record<string, unknown>>> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [tokenAudience] } };
  const { status, body } = await kubernetes.ask('POST', reviewsPath, review).catch((error: unknown) => {
    throw unavailable('the token cannot be reviewed: the Kubernetes API cannot be reached', error);
  });
  if (status === 403)
    throw unavailable("the control plane's service account may not create tokenreviews.authentication.k8s.io; see docs/operate/tls.md");
  if (status !== 200 && status !== 201) throw unavailable(`the Kubernetes API answered ${status} to the token review`);
  if (!isObject(body) || !isObject(body['status'])) throw unavailable('the Kubernetes API answered the token review without a status');
  return body['status'];
}

const unavailable = (publicMessage: string, cause?: unknown): AppError =>
  new AppError({ code: 'unavailable', publicMessage, retryAfterSeconds: 5, cause });
