// The process form, for agents in any language: environment → configuration → sidecar → listen → drain.
import { readFileSync } from 'node:fs';
import { isLoopback, parseCommands, programVariables, readConfig } from '@tollgate/proto/contract';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { type SidecarConfig, sidecarSchema } from './config.ts';
import { createEntrance } from './gateway/entrance.ts';
import { type Mesh, startMesh } from './gateway/mesh/mesh.ts';
import { exportSidecar } from './gateway/metrics.ts';
import { buildServer } from './gateway/server.ts';
import { type GatewayFile, noGatewayFile, readGatewayFile } from './gateway/upstreams/gateway-file.ts';
import { programEnvironment } from './gateway/upstreams/program.ts';
import { systemResolve } from './gateway/upstreams/public-only.ts';
import { createUpstreams } from './gateway/upstreams/tool-servers.ts';
import { systemClock } from './clock.ts';
import { logSerializers } from './log-serializers.ts';
import { startSidecar } from './start.ts';

/** How long requests under way may take to end. */
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
  const gateway = readGateway(config.gatewayFile);
  if ('problems' in gateway) return complain(gateway.problems.map((problem) => `TOLLGATE_GATEWAY_FILE ${config.gatewayFile}: ${problem}`));
  const stopped = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort(signal));
  return serve({ ...config, key: config.key }, gateway.file, stopped.signal);
}

/** Read once, at start: what is wrong with it is said before anything listens. */
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

async function serve(config: SidecarConfig & { readonly key: string }, file: GatewayFile, stopped: AbortSignal): Promise<number> {
  const log = pino({ level: config.logLevel, serializers: logSerializers }, pino.destination({ dest: 2, sync: true }));
  const sidecar = await startSidecar({
    form: 'process',
    controlPlane: config.controlPlane,
    key: config.key,
    plaintext: config.allowPlaintext === 'true',
    spoolDir: config.spoolDir,
    durability: config.durability,
    spoolBytesMax: config.spoolMaxMb * 1024 ** 2,
    keepInput: config.auditInput === 'full',
    sidecarId: config.sidecarId,
    log,
  }).catch((error: unknown) => messageOf(error));
  if (typeof sidecar === 'string') return complain([sidecar]);
  const toolServers = createUpstreams({
    file,
    rules: { allowPrivate: config.allowPrivateToolServers === 'true', commands: parseCommands(config.toolCommands) },
    resolve: systemResolve,
    clock: systemClock,
    env: programEnvironment(process.env),
  });
  sidecar.cell.onSwap((index) => toolServers.follow(index));
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = exportSidecar(registry, sidecar);
  const entrance = createEntrance({ sidecar, metrics, requestsPerSecond: config.requestsPerSecond });
  const { httpTools } = file;
  const app = buildServer({ entrance, registry, log, toolServers, httpTools });
  let mesh: Mesh | null = null;
  try {
    const address = await app.listen({ host: config.host, port: config.port });
    const failed = (error: unknown): void => log.error({ err: error }, 'a request of another gateway failed');
    if (config.meshPort !== null)
      mesh = await startMesh({ ...entrance, httpTools, failed }, { host: config.host, port: Number(config.meshPort) });
    process.stdout.write(`Tollgate sidecar\n  hooks  ${address}/govern/tool-use\n${mesh === null ? '' : `  mesh   ${mesh.address}\n`}`);
    if (!stopped.aborted) await new Promise((done) => stopped.addEventListener('abort', done, { once: true }));
    log.info({ signal: stopped.reason }, 'draining');
    return 0;
  } catch (error) {
    return complain([messageOf(error)]);
  } finally {
    // Connections that are still open then, with or without a request, are cut.
    const timer = setTimeout(() => app.server.closeAllConnections(), drainMs);
    await Promise.all([app.close(), mesh?.close(drainMs)]);
    clearTimeout(timer);
    await toolServers.close();
    await sidecar.close();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function complain(problems: readonly string[]): number {
  process.stderr.write(`tollgate-sidecar cannot start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
  return 2;
}
