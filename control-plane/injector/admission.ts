// Answers the review of a pod for an API server: AdmissionReview of admission.k8s.io/v1. The functions are pure. A pod
// that cannot be injected is rejected, with words for its author. Pods of the cluster's own namespaces and of the
// control plane's namespace always pass, whatever the webhook's present configuration says.
import { diff, inject, type InjectSettings } from '@tollgate/inject';
import { isObject } from '@tollgate/proto/shape';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** The label for metrics. */
  readonly result: 'injected' | 'left' | 'refused' | 'malformed';
}

export interface Ground {
  readonly settings: InjectSettings;
  /** The namespace of the control planes. */
  readonly ownNamespace: string | null;
}

const apiVersion = 'admission.k8s.io/v1';
const systemNamespaces: readonly unknown[] = ['kube-system', 'kube-public', 'kube-node-lease'];

export const malformed = (status: number, error: string): Answer => ({ status, body: { error }, result: 'malformed' });

export function answerReview(review: unknown, ground: Ground): Answer {
  if (!isObject(review) || review['kind'] !== 'AdmissionReview' || review['apiVersion'] !== apiVersion)
    return malformed(400, `the body must be an AdmissionReview of ${apiVersion}`);
  const { request } = review;
  if (!isObject(request)) return malformed(400, 'the review has no request');
  const { uid } = request;
  if (typeof uid !== 'string' || uid === '' || uid.length > 200) return malformed(400, 'the request of the review has no uid');
  return answerRequest(uid, request, ground);
}

function answerRequest(uid: string, request: Readonly<Record<string, unknown>>, { settings, ownNamespace }: Ground): Answer {
  const { kind, namespace, operation, object } = request;
  const isPod = isObject(kind) && kind['group'] === '' && kind['version'] === 'v1' && kind['kind'] === 'Pod';
  if (!isPod) return refusal(uid, 400, 'this webhook is for pods; its configuration must name no other resource');
  if (operation !== 'CREATE' || systemNamespaces.includes(namespace) || namespace === ownNamespace) return allowed(uid, {}, 'left');
  if (!isObject(object)) return refusal(uid, 400, 'the request has no object');
  const done = inject(object, settings);
  switch (done.kind) {
    case 'left':
      return allowed(uid, {}, 'left');
    case 'refused':
      return refusal(uid, 422, wordsOf(done.problems));
    case 'injected': {
      const patch = Buffer.from(JSON.stringify(diff(object, done.pod))).toString('base64');
      return allowed(
        uid,
        { patchType: 'JSONPatch', patch, ...(done.warnings.length === 0 ? {} : { warnings: done.warnings }) },
        'injected',
      );
    }
  }
}

/** The message is for people, who cannot read a thousand problems. */
const problemsMax = 20;

function wordsOf(problems: readonly { readonly path: string; readonly message: string }[]): string {
  const more = problems.length - problemsMax;
  const words = problems.slice(0, problemsMax).map(({ path, message }) => `${path} ${message}`);
  return [...words, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

const answered = (response: Readonly<Record<string, unknown>>): unknown => ({ apiVersion, kind: 'AdmissionReview', response });

const allowed = (uid: string, more: Readonly<Record<string, unknown>>, result: Answer['result']): Answer => ({
  status: 200,
  body: answered({ uid, allowed: true, ...more }),
  result,
});

const refusal = (uid: string, code: number, message: string): Answer => ({
  status: 200,
  body: answered({ uid, allowed: false, status: { code, reason: code === 422 ? 'Invalid' : 'BadRequest', message } }),
  result: 'refused',
});
