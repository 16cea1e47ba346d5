// The injection webhook of a control plane. States:
//   waiting   it has no certificate yet and does not listen; it retries until it has one
//   serving   it listens and renews its certificate; when the renewal fails, it continues with the present one
import { Counter, Gauge, type Registry } from 'prom-client';
import { loggable, reasonOf } from '../base/loggable.ts';
import { lifeOf } from '../certificates/x509/authorities.ts';
import type { Pair } from '../certificates/x509/certificate.ts';
import type { HttpsServer } from '../certificates/https-server.ts';
import { type ReviewSettings, startServer } from './server.ts';

interface Log {
  readonly info: (words: string) => void;
  readonly warn: (details: object, words: string) => void;
  readonly error: (details: object, words: string) => void;
}

interface InjectorDeps extends ReviewSettings {
  /** Returns the current server certificate. */
  readonly certificate: () => Promise<Pair>;
  readonly registry: Registry;
  readonly log: Log;
}

interface Options {
  readonly host: string;
  readonly port: number;
  readonly checkMs?: number;
}

export interface Injector {
  /** Why the webhook does not listen yet; null: it listens. */
  readonly problem: string | null;
  /** Null: the webhook does not listen yet. */
  readonly port: number | null;
  /** Checks and renews the certificate immediately. */
  readonly check: () => Promise<void>;
  readonly close: (ms: number) => Promise<void>;
}

const standardCheckMs = 30_000;

/** Rejects when the port is in use. Without a certificate, the webhook waits. */
export async function startInjector(deps: InjectorDeps, { host, port, checkMs = standardCheckMs }: Options): Promise<Injector> {
  const { log, certificate } = deps;
  const metrics = createMetrics(deps.registry);
  let server: HttpsServer | null = null;
  let used: string | null = null;
  let problem: string | null = null;
  const failed = (error: unknown): void => log.error(loggable(error), 'an admission review could not be answered');
  const warn = (fields: object, words: string): void => log.warn(fields, words);

  const use = async (pair: Pair): Promise<void> => {
    if (pair.certificate === used) return;
    if (server === null) server = await startServer({ ...deps, answered: metrics.answered, failed, warn }, { host, port }, pair);
    else server.use(pair);
    used = pair.certificate;
    metrics.expires(lifeOf(pair).until);
    log.info('the injection webhook has a new certificate');
  };
  const checkOnce = async (): Promise<void> => {
    let pair: Pair;
    try {
      pair = await certificate();
      problem = null;
    } catch (error) {
      problem = reasonOf(error);
      log.error(loggable(error), 'the certificate of the injection webhook could not be checked or renewed');
      return;
    }
    await use(pair);
  };
  let checking: Promise<void> = Promise.resolve();
  const check = (): Promise<void> => (checking = checking.catch(() => undefined).then(checkOnce));
  await check();
  const reportFailure = (error: unknown): void => log.error(loggable(error), 'the injection webhook could not listen');
  const timer = setInterval(() => void check().catch(reportFailure), checkMs);
  return {
    get problem() {
      return server === null ? (problem ?? 'it has no certificate yet') : null;
    },
    get port() {
      return server?.port ?? null;
    },
    check,
    close: async (ms) => {
      clearInterval(timer);
      await checking.catch(() => undefined);
      await server?.close(ms);
    },
  };
}

function createMetrics(registry: Registry) {
  const reviews = new Counter({
    name: 'tollgate_injection_reviews_total',
    help: 'Reviews of pods that were answered, by result',
    labelNames: ['result'],
    registers: [registry],
  });
  const expires = new Gauge({
    name: 'tollgate_injection_certificate_expires_seconds',
    help: 'When the certificate of the injection webhook expires, in seconds since 1970',
    registers: [registry],
  });
  return { answered: (result: string) => reviews.inc({ result }), expires: (ms: number) => expires.set(ms / 1_000) };
}
