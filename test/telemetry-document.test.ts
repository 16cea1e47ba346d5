// docs/reference/metrics.md lists every metric of both programs as it is. The test reads the metrics from the sources and
// compares them with the registries.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createGrpcMetrics, exportRoster } from '../control-plane/grpc/metrics.ts';
import { exportGovernor } from '../control-plane/runs/governance/metrics.ts';
import { createRunCounts } from '../control-plane/runs/metrics.ts';
import { exportSidecar } from '../sidecar/app/metrics/sidecar.ts';
import { countDecisions } from '../sidecar/telemetry/decision-metrics.ts';
import { createTestSidecar } from './support/governing.ts';
import { needs } from './support/installed.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const programs = ['sidecar', 'control-plane'] as const;
type Program = (typeof programs)[number];

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

const metricText = ({ name, type, labels }: Metric): string => `${name} ${type} ${labels.join(',')}`.trim();

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['node_modules', 'dist', 'examples'].includes(entry.name) ? [] : filesIn(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}

/** The type of metric that each of our helper functions makes. */
const makers: Readonly<Record<string, string>> = { gauge: 'gauge', total: 'counter', since: 'histogram' };
const made = /\b(?:new (Counter|Gauge|Histogram)(?:<[^>]*>)?\(\{|(\w+)\()\s*(?:name: )?'(tollgate_[a-z_]+)'/g;

function metricsIn(path: string): readonly Metric[] {
  const text = readFileSync(join(root, path), 'utf8');
  if (!text.includes("from 'prom-client'")) return [];
  const found = [...text.matchAll(made)];
  const named = new Set([...text.matchAll(/'(tollgate_[a-z_]+)'/g)].map(([, name]) => name));
  expect({ path, names: new Set(found.map(([, , , name]) => name)) }).toEqual({ path, names: named });
  return found.map(({ 1: kind, 2: maker = '', 3: name = '', index }, at) => {
    const own = text.slice(index, found[at + 1]?.index);
    const labels = kind === undefined ? '' : (/labelNames: \[([^\]]*)\]/.exec(own)?.[1] ?? '');
    const type = kind?.toLowerCase() ?? makers[maker];
    if (type === undefined) throw new Error(`${path}: what ${maker} makes is not known here`);
    return { name, type, labels: [...labels.matchAll(/'(\w+)'/g)].map(([, label]) => label ?? '') };
  });
}

const shared = 'sidecar/telemetry/decision-metrics.ts';
const metricsOf = (program: Program): readonly Metric[] =>
  [...filesIn(program), ...(program === 'sidecar' ? [] : [shared])].flatMap(metricsIn);

interface Row extends Metric {
  readonly unit: string;
  readonly meaning: string;
}

function rowsOf(program: Program): readonly Row[] {
  const text = readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8');
  const section = text.split(`\n## Of ${program === 'sidecar' ? 'a sidecar' : 'the control plane'}\n`)[1]?.split('\n#')[0] ?? '';
  return [...section.matchAll(/^\| `(tollgate_\w+)` +\| (\w+) +\| ([^|]*)\| ([^|]*)\| ([^|]*)\|$/gm)].map(
    ([, name = '', type = '', labels = '', unit = '', meaning = '']) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? ''),
      unit: unit.trim(),
      meaning: meaning.trim(),
    }),
  );
}

test.each(programs)('the table lists every metric of the %s with its type and its labels, and no other', (program) => {
  expect(rowsOf(program).map(metricText).toSorted()).toEqual(metricsOf(program).map(metricText).toSorted());
});

test.each(programs)('each metric of the %s states its unit as its name does, and what it means', (program) => {
  for (const { name, unit, meaning } of rowsOf(program)) {
    const said = /_(seconds|bytes|cents)(?:_max)?(?:_total)?$/.exec(name)?.[1] ?? '';
    expect({ name, unit }).toEqual({ name, unit: said });
    expect(meaning.length).toBeGreaterThan(10);
  }
});

async function registered(registry: Registry): Promise<readonly string[]> {
  const types = new Map((await registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)] as const));
  return registry.getMetricsAsArray().map((metric) => {
    const labels: unknown = 'labelNames' in metric ? metric.labelNames : [];
    return metricText({ name: metric.name, type: types.get(metric.name) ?? '', labels: Array.isArray(labels) ? labels.map(String) : [] });
  });
}

test.each(programs)('a metric of the %s that only grows is a counter, and has the name of one', (program) => {
  expect(metricsOf(program).filter(({ name, type }) => (type === 'counter') !== name.endsWith('_total'))).toEqual([]);
});

/** Returns the registries of the two programs, filled with most of their metrics. */
async function fillRegistries(): Promise<readonly (readonly [Program, Registry])[]> {
  const sidecar = new Registry();
  exportSidecar(sidecar, await createTestSidecar());
  const plane = new Registry();
  createGrpcMetrics(plane);
  exportRoster(plane, () => new Map());
  countDecisions(plane);
  exportGovernor(plane, { shipping: () => new Map(), leasing: () => [], unrecorded: 0, dryDenials: 0 });
  createRunCounts({ registry: plane, find: () => null, now: () => 0, countWaiting: () => Promise.resolve(0) });
  return [
    ['sidecar', sidecar],
    ['control-plane', plane],
  ];
}

test('Prometheus reports no problem with the names, types and help texts', needs('promtool'), async () => {
  for (const [program, registry] of await fillRegistries()) {
    const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], { input: await registry.metrics(), encoding: 'utf8' });
    expect({ program, status, said: `${stdout}${stderr}` }).toEqual({ program, status: 0, said: '' });
  }
});

test('the registries hold the metrics that the sources declare', async () => {
  for (const [program, registry] of await fillRegistries()) {
    const held = await registered(registry);
    expect(held.length).toBeGreaterThan(15);
    expect(metricsOf(program).map(metricText)).toEqual(expect.arrayContaining([...held]));
  }
});
