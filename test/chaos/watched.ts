// A control plane and a sidecar, each a separate process, PostgreSQL and a collector of audit entries, agents that call
// continuously, and a Prometheus that watches all of it, with our rules whose times are divided by 600.
import { createServer } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rulesText } from '../deploy/monitoring/rules.ts';
import { issue, makeAuthority } from '../support/authorities.ts';
import { ask, type ControlPlane, eventually, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { freePort, type Prometheus, startPrometheus } from '../support/prometheus.ts';
import { keepBusy, policyOf } from './busy.ts';
import { type Postgres, startPostgres } from './postgres.ts';
import { askAsOwner, putPolicy } from './world.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const intervalMs = 200;
/** Ten minutes become one second, which is five scrapes. */
const shortening = 600;

export interface WatchedPlane {
  readonly prometheus: Prometheus;
  readonly postgres: Postgres;
  /** The texts of both `/metrics`. */
  readMetrics(): Promise<readonly string[]>;
  /** Kills the process of the control plane immediately. */
  killPlane(): Promise<void>;
  /** On the same ports. */
  startPlane(): Promise<void>;
  close(): Promise<void>;
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Shortens every time of the rules; a window holds at least three scrapes. */
function shorten(rules: string): string {
  const cut = (amount: string, unit: string, leastMs: number): string =>
    `${Math.max(leastMs, Math.round((Number(amount) * (unitMs[unit] ?? 0)) / shortening))}ms`;
  return rules
    .replaceAll(/\[(\d+)([smh])\]/g, (_, amount: string, unit: string) => `[${cut(amount, unit, 4 * intervalMs)}]`)
    .replaceAll(/\b(offset|for:) (\d+)([smh])\b/g, (_, what: string, amount: string, unit: string) => `${what} ${cut(amount, unit, 0)}`)
    .replaceAll(/(_age_seconds\)? > )(\d+)\b/g, (_, before: string, seconds: string) => `${before}${Number(seconds) / shortening}`);
}

export async function startWatched(): Promise<WatchedPlane> {
  const undo: (() => Promise<unknown> | void)[] = [];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    return await start(undo, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(undo: (() => Promise<unknown> | void)[], close: () => Promise<void>): Promise<WatchedPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-watched-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = await startPostgres();
  undo.push(() => postgres.close());
  const [restPort, grpcPort, enrolPort, metricsPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const collector = await startCollector();
  undo.push(() => collector.close());
  const launch = (): Promise<ControlPlane> =>
    startControlPlane({
      DATABASE_URL: postgres.url('watched'),
      TOLLGATE_DATA_DIR: join(folder, 'plane'),
      TOLLGATE_OWNER_KEY: ownerKey,
      TOLLGATE_PORT: String(restPort),
      TOLLGATE_GRPC_PORT: String(grpcPort),
      TOLLGATE_SECRET_KEY: 's'.repeat(40),
      TOLLGATE_ENROL_PORT: String(enrolPort),
      TOLLGATE_AUDIT_EXPORT_ENDPOINT: collector.url,
      ...writeInjecting(folder),
    });
  let plane = await launch();
  undo.push(() => plane.end('SIGKILL'));
  const { body } = await askAsOwner(plane, '/default/admin/keys', { body: { name: 'edge', scopes: ['sidecar.sync', 'govern'] } });
  const key = String(body['key']);
  const { authorities } = (await askAsOwner(plane, '/api/v1/authorities')).body;
  await putPolicy(plane, policyOf(0));
  const sidecar = await startSidecarProgram({
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_KEY: key,
    TOLLGATE_SPOOL_DIR: join(folder, 'sidecar'),
    TOLLGATE_SIDECAR_ID: 'edge',
    TOLLGATE_METRICS_PORT: String(metricsPort),
    TOLLGATE_CA: String(authorities),
    TOLLGATE_ENROL: `127.0.0.1:${enrolPort}`,
  });
  undo.push(() => sidecar.end('SIGKILL'));
  await eventually(
    () => ask(`${sidecar.url}/readyz`, key),
    ({ status }) => status === 200,
  );
  undo.push(await keepBusy({ plane: () => plane, sidecar: sidecar.url, key, ownerKey }));
  const prometheus = await startPrometheus({
    rules: shorten(rulesText),
    jobs: { 'tollgate-control-plane': [`127.0.0.1:${restPort}`], 'tollgate-sidecar': [`127.0.0.1:${metricsPort}`] },
    intervalMs,
  });
  undo.push(() => prometheus.close());
  return {
    prometheus,
    postgres,
    readMetrics: async () => [await textOf(`${plane.rest}/metrics`), await textOf(`http://127.0.0.1:${metricsPort}/metrics`)],
    killPlane: async () => void (await plane.end('SIGKILL')),
    startPlane: async () => {
      plane = await launch();
    },
    close,
  };
}

/** A webhook that receives no requests: only its settings must exist. */
function writeInjecting(folder: string): Readonly<Record<string, string>> {
  const { certificate, key } = issue(makeAuthority('webhook'), { names: ['localhost'], until: new Date(Date.now() + 30 * 86_400_000) });
  writeFileSync(join(folder, 'tls.crt'), certificate);
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'inject.yaml'), JSON.stringify({ image: 'tollgate/sidecar', controlPlane: 'tollgate:8081' }));
  return { TOLLGATE_INJECT_PORT: '0', TOLLGATE_INJECT_CERT_DIR: folder, TOLLGATE_INJECT_SETTINGS: join(folder, 'inject.yaml') };
}

const textOf = async (url: string): Promise<string> => (await fetch(url)).text();

/** Accepts all logs that it receives. */
async function startCollector() {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
