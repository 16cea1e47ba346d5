// Runs a sidecar as a process, for agents in any language. Steps: environment → configuration → sidecar → listen →
// drain.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { isLoopback, isTier, parseCommands, programVariables, readConfig } from '@tollgate/proto/contract';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { type SidecarConfig, sidecarSchema } from './config.ts';
import { createEntrance } from '../doors/entrance/entrance.ts';
import type { Mesh } from '../doors/mesh/mesh.ts';
import { startIdleHeap } from './idle-heap.ts';
import { exportBounds } from './metrics/bounds.ts';
import { exportSidecar } from './metrics/sidecar.ts';
import { listenLocally, type LocalSocket } from './local-socket.ts';
import { listenForMetrics, type MetricsListener } from './metrics/listener.ts';
import type { Pins } from '../doors/entrance/pins.ts';
import { buildServer } from '../doors/server.ts';
import { type GatewayFile, noGatewayFile, readGatewayFile } from '../upstream/gateway-file.ts';
import { programEnvironment } from '../upstream/program.ts';
import { systemResolve } from '../upstream/public-only.ts';
import { createUpstreams } from '../upstream/tool-servers.ts';
import { systemClock } from '../base/clock.ts';
import { type LinkTls, readTls, variableNames } from '../engine/link/tls/options.ts';
import { logSerializers } from './log-serializers.ts';
import { startSidecar } from './start.ts';
import { readTelemetrySettings, startTelemetry, type Telemetry } from '../telemetry/index.ts';

/** How long the process waits for open requests when it ends. */
const drainMs = 5_000;

process.exitCode = await run();

async function run(): Promise<number> {
  const read = readConfig(sidecarSchema, process.env, programVariables);
  if ('problems' in read) return complain(read.problems);
  const { config } = read;
  if (config.key === null) return complain(['TOLLGATE_KEY is required: a workspace key of scope sidecar.sync']);
  if (config.allowPlaintext === 'false' && !isLoopback(config.host)) {
    return complain([
      `TOLLGATE_SIDECAR_HOST is ${config.host}, beyond loopback, where a connection needs TLS in front of it; set TOLLGATE_ALLOW_PLAINTEXT=true to listen without`,
    ]);
  }
  const link = readTls({ ca: config.ca, enrol: config.enrol, tokenFile: config.tokenFile, folder: config.tlsDir }, variableNames);
  if ('problems' in link) return complain(link.problems);
  const asked = readTelemetrySettings(process.env);
  if ('problems' in asked) return complain(asked.problems);
  const gateway = readGateway(config.gatewayFile);
  if ('problems' in gateway) return complain(gateway.problems.map((problem) => `TOLLGATE_GATEWAY_FILE ${config.gatewayFile}: ${problem}`));
  const stopped = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort(signal));
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instance = config.sidecarId ?? `${hostname()}-${process.pid}`;
  const telemetry = await startTelemetry(asked.settings, {
    registry,
    identity: { service: 'tollgate-sidecar', instance },
    clock: systemClock,
  });
  try {
    return await serve({ ...config, key: config.key, tls: link.tls, telemetry, registry }, gateway.file, stopped.signal);
  } finally {
    await telemetry.close();
    // Two things must not delay the exit: data that is still being sent to a collector, and a connection without an
    // answer.
    setTimeout(() => process.exit(), 100).unref();
  }
}

/**
 * Returns why the sidecar did not start. If it cannot write to the spool folder, the text tells the operator what to
 * fix. For example, the container may mount nothing at this path.
 */
function whyNotStarted(error: unknown, spoolDir: string): string {
  const { cause } = error instanceof Error ? error : {};
  const code = cause instanceof Error && 'path' in cause && 'code' in cause ? String(cause.code) : '';
  return ['EROFS', 'EACCES', 'EPERM'].includes(code)
    ? `TOLLGATE_SPOOL_DIR is ${spoolDir}, where user ${process.getuid?.() ?? ''} cannot write (${code}); mount or create a folder there that this user can write to`
    : messageOf(error);
}

/** Reads the gateway file once, at start, so that problems are reported before the process listens. */
function readGateway(path: string | null): ReturnType<typeof readGatewayFile> {
  if (path === null) return { file: noGatewayFile };
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { problems: [`the file cannot be read (${code})`] };
  }
  return readGatewayFile(bytes, process.env);
}

interface Serving extends SidecarConfig {
  readonly key: string;
  readonly tls: LinkTls | null;
  readonly telemetry: Telemetry;
  readonly registry: Registry;
}

async function serve({ telemetry, registry, ...config }: Serving, file: GatewayFile, stopped: AbortSignal): Promise<number> {
  const stderr = pino.destination({ dest: 2, sync: true });
  const log = pino({ level: config.logLevel, serializers: logSerializers }, telemetry.logTo(stderr));
  telemetry.sayTo(log);
  const sidecar = await startSidecar({
    form: 'process',
    controlPlane: config.controlPlane,
    key: config.key,
    plaintext: config.allowPlaintext === 'true',
    tls: config.tls,
    spoolDir: config.spoolDir,
    durability: config.durability,
    leaseWaitMs: config.leaseWaitMs,
    spoolBytesMax: config.spoolMaxMb * 1024 ** 2,
    keepInput: config.auditInput === 'full',
    sidecarId: config.sidecarId,
    log,
  }).catch((error: unknown) => whyNotStarted(error, config.spoolDir));
  if (typeof sidecar === 'string') return complain([sidecar]);
  const toolServers = createUpstreams({
    file,
    rules: { allowPrivate: config.allowPrivateToolServers === 'true', commands: parseCommands(config.toolCommands) },
    resolve: systemResolve,
    clock: systemClock,
    env: programEnvironment(process.env),
  });
  sidecar.cell.onSwap((index) => toolServers.follow(index));
  const metrics = exportSidecar(registry, sidecar);
  exportBounds(registry, sidecar, config.spoolMaxMb * 1024 ** 2);
  const { calls: tracing } = telemetry;
  const entrance = createEntrance({ sidecar, metrics, log, tracing, requestsPerSecond: config.requestsPerSecond, pins: pinsOf(config) });
  const { httpTools } = file;
  const app = buildServer({ entrance, registry, log, toolServers, httpTools, hookStatus: config.hookStatus });
  let local: LocalSocket | null = null;
  let mesh: Mesh | null = null;
  let scraped: MetricsListener | null = null;
  let idleHeap: ReturnType<typeof startIdleHeap> | null = null;
  try {
    const address = await app.listen({ host: config.host, port: config.port });
    if (config.socket !== null) local = await listenLocally(app.server, config.socket, log);
    const failed = (error: unknown): void => log.error({ err: error }, 'a gRPC request of a gateway (ext_authz, ExtMcp) failed');
    if (config.meshPort !== null) {
      const { startMesh } = await import('../doors/mesh/mesh.ts');
      mesh = await startMesh({ ...entrance, httpTools, failed }, { host: config.host, port: Number(config.meshPort) });
    }
    if (config.metricsPort !== null) scraped = await listenForMetrics(registry, Number(config.metricsPort));
    const also = [
      ...(local === null ? [] : [`  socket  ${config.socket}\n`]),
      ...(mesh === null ? [] : [`  mesh   ${mesh.address}\n`]),
      ...(scraped === null ? [] : [`  metrics  http://localhost:${scraped.port}/metrics\n`]),
    ];
    // `bin.js` prevents the growth of the young generation and the optimizing of code during the start. 2 is the default
    // of V8.
    setFlagsFromString('--semi-space-growth-factor=2');
    setFlagsFromString('--opt');
    idleHeap = startIdleHeap((error) => log.error({ err: error }, 'the heap cannot be collected when the process is quiet'));
    process.stdout.write(`Tollgate sidecar\n  hooks  ${address}/govern/tool-use\n${also.join('')}`);
    if (!stopped.aborted) await new Promise((done) => stopped.addEventListener('abort', done, { once: true }));
    log.info({ signal: stopped.reason }, 'draining');
    return 0;
  } catch (error) {
    return complain([messageOf(error)]);
  } finally {
    idleHeap?.close();
    // After `drainMs`, connections that are still open are closed, with or without a request.
    const timer = setTimeout(() => app.server.closeAllConnections(), drainMs);
    // Held calls are answered now: they wait for people, and may wait for hours.
    sidecar.approvals?.drain();
    await Promise.all([app.close(), local?.close(), mesh?.close(drainMs)]);
    clearTimeout(timer);
    await entrance.close();
    await toolServers.close();
    await sidecar.close();
    await scraped?.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * This must be a function declaration. `run` is awaited at the top of the file, when a constant at this place would
 * have no value yet.
 */
function pinsOf({ pinAgent, pinTier }: SidecarConfig): Pins {
  return { agent: pinAgent, tier: isTier(pinTier) ? pinTier : null };
}

function complain(problems: readonly string[]): number {
  process.stderr.write(`tollgate-sidecar cannot start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
  return 2;
}
