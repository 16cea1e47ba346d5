// Reviews a token with the Kubernetes API. The token must belong to a pod, be made for our audience, and still be
// valid.
import { AppError } from '@tollgate/proto/contract';
import type { CertifiedPeer } from '../../access/rules/certified.ts';
import { forbidden, unauthenticated } from '../../base/refusal.ts';
import { isObject } from '@tollgate/proto/shape';
import type { Kubernetes } from '../../injector/kubernetes-api.ts';

/** The audience that a projected token must have. */
const tokenAudience = 'tollgate';
const reviews = '/apis/authentication.k8s.io/v1/tokenreviews';
const podName = 'authentication.kubernetes.io/pod-name';
const tokenCharsMax = 8_192;

export async function reviewToken(kubernetes: Pick<Kubernetes, 'ask'>, token: string): Promise<CertifiedPeer & { readonly kind: 'pod' }> {
  if (token.length > tokenCharsMax || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw notGood();
  const status = await statusOf(kubernetes, token);
  // An API server that does not support audiences returns none.
  const isForUs = Array.isArray(status['audiences']) && status['audiences'].includes(tokenAudience);
  if (status['authenticated'] !== true || !isForUs) throw notGood();
  const { user } = status;
  if (!isObject(user)) throw notGood();
  const [, namespace, serviceAccount] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(String(user['username'])) ?? [];
  if (namespace === undefined || serviceAccount === undefined) throw forbidden('the token does not belong to a service account');
  const pod = podIn(user['extra']);
  if (pod === null) throw forbidden('the token is not bound to a pod; use a projected service account token');
  return { kind: 'pod', namespace, serviceAccount, pod };
}

const notGood = (): AppError =>
  unauthenticated(`the token is not a service account token for the audience ${tokenAudience}, or has expired`);

function podIn(extra: unknown): string | null {
  const names = isObject(extra) ? extra[podName] : undefined;
  const [name, ...more]: readonly unknown[] = Array.isArray(names) ? names : [];
  return typeof name === 'string' && more.length === 0 ? name : null;
}

async function statusOf(kubernetes: Pick<Kubernetes, 'ask'>, token: string): Promise<Readonly<Record<string, unknown>>> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [tokenAudience] } };
  const { status, body } = await kubernetes.ask('POST', reviews, review).catch((error: unknown) => {
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
