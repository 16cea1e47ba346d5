// Builds the injection webhook from its settings and the source of its certificate.
import { readFile } from 'node:fs/promises';
import { isObject } from '@tollgate/proto/shape';
import type { Registry } from 'prom-client';
import { parse } from 'yaml';
import type { Config } from './config.ts';
import { type InjectSettings, missingIn, readSettings } from '@tollgate/inject';
import { type Injector, startInjector } from '../injector/injector.ts';
import { standardTerms } from '../injector/rotation.ts';
import { shareCertificates } from '../injector/shared-certificates.ts';
import { accountOfPod, createKubernetes } from '../injector/kubernetes-api.ts';
import { reasonOf } from '../base/loggable.ts';
import type { Undo } from '../base/undo.ts';
import type { Pair } from '../certificates/x509/certificate.ts';
import { readCertificates } from '../certificates/x509/given-certificates.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface WireInjectorDeps {
  readonly config: Config;
  readonly env: Env;
  /**
   * Returns the current certificate authorities, as PEM, with which sidecars verify this control plane. Null: this
   * control plane does not provide TLS itself.
   */
  readonly authorities?: (() => Promise<string>) | null;
  readonly registry: Registry;
  readonly log: Parameters<typeof startInjector>[0]['log'];
}

const drainMs = 5_000;

/** Builds and starts the injector. It is null if the configuration contains no injector. */
export async function wireInjector(
  { config, env, authorities = null, registry, log }: WireInjectorDeps,
  undo: Undo,
): Promise<{ readonly injector: Injector | null } | { readonly problem: string }> {
  if (config.injectPort === null || config.injectSettings === null) return { injector: null };
  const account = await accountOfPod(env);
  const ownNamespace = 'problem' in account ? null : account.namespace;
  const settings = await settingsIn(config.injectSettings, ownNamespace);
  if ('problem' in settings) return settings;
  if (authorities === null && missingIn(settings.settings).length > 0)
    return {
      problem: `TOLLGATE_INJECT_SETTINGS ${config.injectSettings}: enrol needs TOLLGATE_ENROL_PORT here, or ca with the authorities of the control plane`,
    };
  const source = config.injectCertDir === null ? await ownCertificates(config.injectName, account, undo) : givenPair(config.injectCertDir);
  if ('problem' in source) return source;
  const deps = { settings: settings.settings, ownNamespace, authorities, certificate: source.certificate, registry, log };
  const injector = await startInjector(deps, { host: config.host, port: Number(config.injectPort) });
  undo.push(() => injector.close(drainMs));
  return { injector };
}

interface Source {
  readonly certificate: () => Promise<Pair>;
}

const givenPair = (folder: string): Source => ({ certificate: () => readCertificates(folder) });

async function ownCertificates(
  name: string,
  account: Awaited<ReturnType<typeof accountOfPod>>,
  undo: Undo,
): Promise<Source | { readonly problem: string }> {
  if ('problem' in account)
    return {
      problem: `TOLLGATE_INJECT_PORT needs TOLLGATE_INJECT_CERT_DIR here, because it cannot create certificates: ${account.problem}`,
    };
  const kubernetes = createKubernetes(account);
  undo.push(() => kubernetes.close());
  const { namespace } = account;
  const dnsNames = [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
  const deps = { kubernetes, namespace, name, dnsNames, terms: standardTerms, now: () => new Date() };
  return { certificate: () => shareCertificates(deps) };
}

/**
 * The addresses of the control plane may name its namespace as `$(NAMESPACE)`, so that one manifest is right in each.
 * Outside of a pod there is none, and the address is refused as it is written.
 */
function withNamespace(value: unknown, namespace: string | null): unknown {
  if (!isObject(value) || namespace === null) return value;
  const addresses = ['controlPlane', 'enrol'].flatMap((field) => {
    const address = value[field];
    return typeof address === 'string' ? [[field, address.replaceAll('$(NAMESPACE)', namespace)]] : [];
  });
  return { ...value, ...Object.fromEntries(addresses) };
}

/** `ownNamespace`: that of this control plane; null: it is not in a pod. */
export async function settingsIn(
  path: string,
  ownNamespace: string | null,
): Promise<{ readonly settings: InjectSettings } | { readonly problem: string }> {
  let value: unknown;
  try {
    value = parse(await readFile(path, 'utf8'));
  } catch (error) {
    return { problem: `TOLLGATE_INJECT_SETTINGS ${path} cannot be read: ${reasonOf(error)}` };
  }
  const read = readSettings(withNamespace(value, ownNamespace));
  if ('settings' in read) return read;
  return { problem: read.problems.map(({ path: at, message }) => `TOLLGATE_INJECT_SETTINGS ${path}: ${at} ${message}`).join('; ') };
}
