// Builds the TLS settings for sidecars. Sources: an authority of the control plane itself with a listener for
// enrolment, or certificates from an external source, or no TLS.
import { hostname } from 'node:os';
import { AppError } from '@tollgate/proto/contract';
import type { Registry } from 'prom-client';
import { type Config, serverNamesIn, serverNamesProblem } from './config.ts';
import { notFound } from '../base/refusal.ts';
import { startEnrolListener } from '../certificates/enrol/listener.ts';
import { createEnrolMetrics } from '../certificates/enrol/metrics.ts';
import type { EnrolDeps } from '../certificates/enrol/server.ts';
import type { GrpcTls } from '../grpc/server.ts';
import { maintainAuthorities } from '../certificates/operations/maintain-authorities.ts';
import type { OperationDeps } from '../access/operation.ts';
import { givenIn } from '../certificates/tls/given-material.ts';
import { type MaintainedMaterial, maintainMaterial } from '../certificates/tls/material.ts';
import { restPairIn } from '../certificates/tls/rest-material.ts';
import { exportCertificates } from '../certificates/tls/metrics.ts';
import { createOwnMaterial, type OwnMaterial } from '../certificates/tls/own-material.ts';
import { connectionGraceMs, connectionMs, ownTerms } from '../certificates/tls/terms.ts';
import type { Undo } from '../base/undo.ts';

interface TlsDeps extends Pick<OperationDeps, 'pool' | 'clock' | 'sealer'> {
  readonly config: Pick<Config, 'host' | 'enrolPort' | 'tlsNames' | 'tlsDir'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly authenticate: EnrolDeps['authenticate'];
  readonly registry: Registry;
  /** The certificate of REST. Null: REST has no TLS of its own. */
  readonly rest: MaintainedMaterial | null;
  readonly log: EnrolDeps['log'] & Parameters<typeof maintainMaterial>[0]['log'];
}

export interface Tls {
  /** Null: gRPC is in plain text. */
  readonly grpc: GrpcTls | null;
  /**
   * Returns the certificate authorities, as PEM, with which sidecars verify this control plane. Throws a refusal if
   * there are none, or if they are temporarily not available.
   */
  readonly authorities: () => Promise<string>;
  /** The port where sidecars enrol. Null: there is no such port, or it does not listen yet. */
  readonly enrolPort: number | null;
  /** Why sidecars cannot connect. Null: there is no problem. */
  readonly problem: string | null;
}

const drainMs = 2_000;

export async function wireTls(deps: TlsDeps, undo: Undo): Promise<Tls> {
  const { config, clock, registry, log, sealer, rest } = deps;
  if (config.enrolPort === null && config.tlsDir === null) {
    if (rest !== null) exportCertificates(registry, { server: null, rest });
    return inPlainText;
  }
  const own = config.enrolPort === null ? null : ownMaterial(deps, sealer);
  const maintained = await maintainMaterial({ find: own?.find ?? givenIn(config.tlsDir ?? ''), now: clock, log });
  undo.push(() => maintained.close());
  exportCertificates(registry, { server: maintained, rest });
  const authorities = async (): Promise<string> => {
    if (maintained.current !== null) return maintained.current.authorities.join('');
    throw new AppError({
      code: 'unavailable',
      publicMessage: 'the certificates of the authorities cannot be read now; try again',
      retryAfterSeconds: 5,
    });
  };
  const listener = own === null ? null : await startEnrolment(deps, { own, maintained, authorities }, undo);
  return {
    grpc: { source: maintained, connectionMs: connectionMs(ownTerms.clientMs), graceMs: connectionGraceMs },
    authorities,
    get enrolPort() {
      return listener?.port ?? null;
    },
    get problem() {
      return maintained.problem ?? (listener !== null && listener.port === null ? 'the enrolment port is not listening yet' : null);
    },
  };
}

interface RestTlsDeps extends Pick<TlsDeps, 'clock'> {
  readonly config: Pick<Config, 'restTlsDir'>;
  readonly log: Parameters<typeof maintainMaterial>[0]['log'];
}

/** Reads the certificate of REST, and follows its renewals. Null: REST has no TLS of its own. */
export async function openRestTls(
  { config: { restTlsDir }, clock, log }: RestTlsDeps,
  undo: Undo,
): Promise<{ readonly rest: MaintainedMaterial | null } | { readonly problem: string }> {
  if (restTlsDir === null) return { rest: null };
  const rest = await maintainMaterial({ find: restPairIn(restTlsDir, clock), now: clock, log, what: 'the certificate of REST' });
  undo.push(() => rest.close());
  return rest.current === null
    ? { problem: `TOLLGATE_REST_TLS_DIR ${restTlsDir}: ${rest.failure ?? 'there is no certificate'}` }
    : { rest };
}

const inPlainText: Tls = {
  grpc: null,
  authorities: async () => {
    throw notFound('this control plane has no authorities: neither TOLLGATE_ENROL_PORT nor TOLLGATE_TLS_DIR is set');
  },
  enrolPort: null,
  problem: null,
};

function ownMaterial({ config, pool, clock }: TlsDeps, sealer: OperationDeps['sealer']): OwnMaterial {
  if (sealer === null)
    throw new Error('TOLLGATE_ENROL_PORT must not be set without TOLLGATE_SECRET_KEY, which encrypts the private key of the authority');
  const names = config.tlsNames === null ? ['localhost', '127.0.0.1', ...ownHostname()] : serverNamesIn(config.tlsNames);
  return createOwnMaterial({ find: () => maintainAuthorities({ pool, clock, sealer }, ownTerms), names, terms: ownTerms, now: clock });
}

/** Returns the name of the host if it is valid in a certificate, otherwise nothing. */
const ownHostname = (): readonly string[] => (serverNamesProblem(hostname()) === null ? [hostname()] : []);

interface Enrolment {
  readonly own: OwnMaterial;
  readonly maintained: MaintainedMaterial;
  readonly authorities: Tls['authorities'];
}

async function startEnrolment(
  { config, env, authenticate, clock, registry, log }: TlsDeps,
  { own, maintained, authorities }: Enrolment,
  undo: Undo,
): Promise<{ readonly port: number | null }> {
  const { accountOfPod, createKubernetes } = await import('../injector/kubernetes-api.ts');
  const account = await accountOfPod(env);
  const kubernetes = 'problem' in account ? null : createKubernetes(account);
  if (kubernetes !== null) undo.push(() => kubernetes.close());
  const deps = { authenticate, kubernetes, issue: own.issue, authorities, clock, metrics: createEnrolMetrics(registry), log };
  const listener = await startEnrolListener(deps, maintained, { host: config.host, port: Number(config.enrolPort) });
  undo.push(() => listener.close(drainMs));
  return listener;
}
