// Manages the certificates that all control planes of a cluster share. They are stored in a Secret, and each change is
// based on the version that was read. A certificate is used only after its authority is in the webhook's configuration,
// so that every API server can verify it. Authorities are removed from the configuration only after they have expired.

import type { Kubernetes } from './kubernetes-api.ts';
import { lifeOf, type Server, type Terms } from '../certificates/x509/authorities.ts';
import { isObject } from '@tollgate/proto/shape';
import { advance, bundleOf, type HeldCertificates, nothingHeld } from './rotation.ts';

interface SharedCertificatesDeps {
  readonly kubernetes: Pick<Kubernetes, 'ask'>;
  readonly namespace: string;
  /** The name of the Secret and of the MutatingWebhookConfiguration. */
  readonly name: string;
  readonly dnsNames: readonly string[];
  readonly terms: Terms;
  readonly now: () => Date;
}

const triesMax = 5;
const stateKey = 'state.json';

/** Returns the server certificate. Throws with words that say what could not be done. */
export async function shareCertificates(deps: SharedCertificatesDeps): Promise<Server> {
  const held = await untilUndisturbed(() => agreeOnHeld(deps), `Secret ${deps.name}`);
  await untilUndisturbed(() => publishBundle(deps, bundleOf(held)), `MutatingWebhookConfiguration ${deps.name}`);
  if (held.server === null)
    throw new Error('the shared certificates must include a server certificate after their update, but they include none');
  return held.server;
}

/** Repeats `tryOnce` until it succeeds. `tryOnce` returns null when another control plane made a change first. */
async function untilUndisturbed<T>(tryOnce: () => Promise<T | null>, what: string): Promise<T> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const done = await tryOnce();
    if (done !== null) return done;
  }
  throw new Error(`${what} could not be written: other control planes changed it during each of ${triesMax} attempts`);
}

async function agreeOnHeld({
  kubernetes,
  namespace,
  name,
  dnsNames,
  terms,
  now,
}: SharedCertificatesDeps): Promise<HeldCertificates | null> {
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const found = await kubernetes.ask('GET', `${secrets}/${name}`);
  if (found.status !== 200 && found.status !== 404) throw refused('read', `Secret ${namespace}/${name}`, found.status);
  const secret = found.status === 200 && isObject(found.body) ? found.body : null;
  const held = secret === null ? nothingHeld : heldIn(secret);
  const next = advance(held, { now: now(), dnsNames, terms });
  if (next === held) return held;
  const data = { [stateKey]: base64(JSON.stringify(next)), 'ca.crt': base64(bundleOf(next).join('')) };
  const metadata = secret !== null && isObject(secret['metadata']) ? secret['metadata'] : { name, namespace };
  const body = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', ...secret, metadata, data };
  const written = secret === null ? await kubernetes.ask('POST', secrets, body) : await kubernetes.ask('PUT', `${secrets}/${name}`, body);
  if (written.status === 409) return null;
  if (written.status !== 200 && written.status !== 201) throw refused('write', `Secret ${namespace}/${name}`, written.status);
  return next;
}

/** Damaged data counts as absent, because all of it can be created again. */
function heldIn({ data }: Readonly<Record<string, unknown>>): HeldCertificates {
  const text = isObject(data) ? data[stateKey] : undefined;
  if (typeof text !== 'string') return nothingHeld;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
    return isHeld(value) ? value : nothingHeld;
  } catch {
    return nothingHeld;
  }
}

function isHeld(value: unknown): value is HeldCertificates {
  if (!isObject(value) || !Array.isArray(value['authorities'])) return false;
  const { server } = value;
  if (server !== null && !(isObject(server) && typeof server['by'] === 'string')) return false;
  return [...value['authorities'], ...(server === null ? [] : [server])].every(isMade);
}

function isMade(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { key, certificate, madeAt } = value;
  if (typeof key !== 'string' || typeof certificate !== 'string' || typeof madeAt !== 'string') return false;
  return Number.isFinite(lifeOf({ certificate }).until) && Number.isFinite(Date.parse(madeAt));
}

/**
 * Returns true when every webhook of the configuration has these certificates; null: the configuration was changed
 * meanwhile.
 */
async function publishBundle({ kubernetes, name, now }: SharedCertificatesDeps, certificates: readonly string[]): Promise<true | null> {
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${name}`;
  const found = await kubernetes.ask('GET', path);
  if (found.status !== 200 || !isObject(found.body)) throw refused('read', `MutatingWebhookConfiguration ${name}`, found.status);
  const { metadata, webhooks } = found.body;
  const changes = (Array.isArray(webhooks) ? webhooks : []).flatMap((webhook: unknown, at) => {
    const client = isObject(webhook) && isObject(webhook['clientConfig']) ? webhook['clientConfig'] : {};
    const value = bundleWith(client['caBundle'], certificates, now());
    return value === client['caBundle'] ? [] : [{ op: 'add', path: `/webhooks/${at}/clientConfig/caBundle`, value }];
  });
  if (changes.length === 0) return true;
  const version = isObject(metadata) ? metadata['resourceVersion'] : undefined;
  const patched = await kubernetes.ask('PATCH', path, [{ op: 'test', path: '/metadata/resourceVersion', value: version }, ...changes]);
  // Kubernetes answers 409 or 422 when the `test` of the patch failed, because the configuration has changed.
  if (patched.status === 409 || patched.status === 422) return null;
  if (patched.status !== 200) throw refused('change', `MutatingWebhookConfiguration ${name}`, patched.status);
  return true;
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Certificates in the bundle that have not expired stay: another control plane may have added them after this one read
 * the Secret.
 */
function bundleWith(bundle: unknown, certificates: readonly string[], now: Date): string {
  const there = typeof bundle === 'string' ? (Buffer.from(bundle, 'base64').toString('utf8').match(pem) ?? []) : [];
  const wanted = certificates.map((certificate) => certificate.trim());
  const alive = there.filter((certificate) => wanted.includes(certificate) || livesAt(certificate, now));
  const missing = wanted.filter((certificate) => !alive.includes(certificate));
  if (missing.length === 0 && alive.length === there.length && typeof bundle === 'string') return bundle;
  return base64(`${[...alive, ...missing].join('\n')}\n`);
}

function livesAt(certificate: string, now: Date): boolean {
  try {
    return lifeOf({ certificate }).until > now.getTime();
  } catch {
    return false;
  }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function refused(verb: string, what: string, status: number): Error {
  const why =
    status === 403
      ? 'the service account is not allowed to'
      : status === 404
        ? 'it does not exist'
        : `the Kubernetes API answered ${status}`;
  return new Error(`cannot ${verb} ${what}: ${why}`);
}
