// The metrics at `/metrics` of each program, from registries that the programs' own functions fill. Those of Node
// (`process_…`, `nodejs_…`) are those of Linux.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { countDecisions } from '@tollgate/sidecar/telemetry';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, Summary } from 'prom-client';
import { createApprovalMetrics } from '../../../control-plane/approvals/operations/metrics.ts';
import { createEnrolMetrics } from '../../../control-plane/certificates/enrol/metrics.ts';
import { createGrpcMetrics, exportRoster } from '../../../control-plane/grpc/metrics.ts';
import { readSettings } from '../../../deploy/inject/settings.ts';
import { startInjector } from '../../../control-plane/injector/injector.ts';
import { createExportMetrics, watchExport } from '../../../control-plane/audit/export/metrics.ts';
import { exportGovernor } from '../../../control-plane/runs/governance/metrics.ts';
import { createRunCounts } from '../../../control-plane/runs/metrics.ts';
import { createRefusalCounts } from '../../../control-plane/runs/refused-money.ts';
import { exportCertificates } from '../../../control-plane/certificates/tls/metrics.ts';
import { exportBounds } from '../../../sidecar/app/metrics/bounds.ts';
import { exportSidecar } from '../../../sidecar/app/metrics/sidecar.ts';
import type { Sidecar } from '../../../sidecar/doors/sidecar.ts';
import { createUnconnectedApp } from './app.ts';
import { textOf } from './lines.ts';

export const metricsText = async (): Promise<string> =>
  textOf([
    { heading: 'of the control plane: name, type, labels, buckets', lines: linesOf(await fillControlPlane()) },
    { heading: 'of a sidecar: name, type, labels, buckets', lines: linesOf(fillSidecar()) },
  ]);

/** Nothing is collected: no program runs behind these registries. */
const linesOf = (registry: Registry): readonly string[] =>
  registry.getMetricsAsArray().map((metric: object & { readonly name: string }) => {
    const labels: unknown = 'labelNames' in metric ? metric.labelNames : [];
    return [metric.name, typeOf(metric), ...(Array.isArray(labels) ? labels.map(String).toSorted() : []), ...bucketsOf(metric)].join(' ');
  });

/** Alerts and the dashboard select them by `le`. */
function bucketsOf(metric: object): readonly string[] {
  if (!(metric instanceof Histogram)) return [];
  const bounds: unknown = 'upperBounds' in metric ? metric.upperBounds : undefined;
  if (!Array.isArray(bounds)) throw new Error('a histogram does not say its buckets as `upperBounds`; see what prom-client has changed');
  return [`le=${bounds.map(String).join(',')}`];
}

function typeOf(metric: object): string {
  if (metric instanceof Counter) return 'counter';
  if (metric instanceof Gauge) return 'gauge';
  if (metric instanceof Histogram) return 'histogram';
  if (metric instanceof Summary) return 'summary';
  throw new Error('a metric is of no type of Prometheus');
}

async function fillControlPlane(): Promise<Registry> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  createGrpcMetrics(registry);
  createApprovalMetrics(
    registry,
    () => Promise.resolve({ pending: 0, oldestSeconds: 0 }),
    () => Promise.resolve({ waiting: 0, failed: 0 }),
  );
  exportRoster(registry, () => new Map());
  exportCertificates(registry, { server: null, rest: null });
  createEnrolMetrics(registry);
  createExportMetrics(registry);
  watchExport(registry, { isSending: false, lag: { records: 0, since: null } }, () => 0);
  exportGovernor(registry, { shipping: () => new Map(), leasing: () => [], unrecorded: 0, dryDenials: 0 });
  countDecisions(registry);
  createRunCounts({ registry, find: () => null, now: () => 0, countWaiting: () => Promise.resolve(0) });
  createRefusalCounts(registry);
  await fillInjector(registry);
  const app = createUnconnectedApp(registry);
  await app.ready();
  await app.close();
  return registry;
}

/** Without a certificate it does not listen, but registers its metrics. */
async function fillInjector(registry: Registry): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const certificate = () => Promise.reject(new Error('there is none'));
  const settings = readSettings({ image: 'tollgate-sidecar:1', controlPlane: 'tollgate:8081' });
  if ('problems' in settings) throw new Error(`the settings of injection are refused: ${JSON.stringify(settings.problems)}`);
  const deps = { ...settings, ownNamespace: null, certificate, registry, log };
  const injector = await startInjector(deps, { host: '127.0.0.1', port: 0 });
  await injector.close(0);
}

function fillSidecar(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Everything else of a sidecar is read only when the values are requested.
  const sidecar = { leasing: { onWaited: () => undefined }, linkCredentials: { expiresAt: null } } as unknown as Sidecar;
  exportSidecar(registry, sidecar);
  exportBounds(registry, sidecar, 0);
  return registry;
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The names that sources of the programs give to metrics, each with its file. */
export const metricsInSources = (): readonly { readonly name: string; readonly path: string }[] =>
  ['control-plane', 'sidecar'].flatMap((program) =>
    readdirSync(join(root, program), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !/(?:^|\/)(?:node_modules|dist|examples)\//.test(path))
      .map((path) => `${program}/${path}`)
      .flatMap((path) => metricNames(path, readFileSync(join(root, path), 'utf8')).map((name) => ({ name, path }))),
  );

/** A metric built with the shorthand `name` gets its name from a call in a file that also imports from prom-client. */
export function metricNames(path: string, source: string): readonly string[] {
  const made = /\bnew (?:Counter|Gauge|Histogram|Summary)\b(?:<[^>]*>)?\(/g;
  if (!source.includes("from 'prom-client'")) return [];
  for (const { index } of source.matchAll(made))
    if (!/^new \w+(?:<[^>]*>)?\(\{\s*name(?:,|: '\w+',)/.test(source.slice(index)))
      throw new Error(`${path}: the name of a metric cannot be read; begin its fields with name: '<name>'`);
  const own = [...source.matchAll(/\bnew (?:Counter|Gauge|Histogram|Summary)\b(?:<[^>]*>)?\(\{\s*name: '(\w+)'/g)];
  return [...own, ...source.matchAll(/'(tollgate_\w+)'/g)].map(([, name = '']) => name);
}
