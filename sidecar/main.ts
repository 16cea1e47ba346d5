// The process form, for agents in any language: environment → configuration → sidecar → listen → drain.
import { isLoopback, programVariables, readConfig } from '@tollgate/proto/contract';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { type SidecarConfig, sidecarSchema } from './config.ts';
import { exportSidecar } from './gateway/metrics.ts';
import { buildServer } from './gateway/server.ts';
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
  const stopped = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort(signal));
  return serve({ ...config, key: config.key }, stopped.signal);
}

async function serve(config: SidecarConfig & { readonly key: string }, stopped: AbortSignal): Promise<number> {
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }));
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
  });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const app = buildServer({ sidecar, registry, metrics: exportSidecar(registry, sidecar), log });
  try {
    const address = await app.listen({ host: config.host, port: config.port });
    process.stdout.write(`Tollgate sidecar\n  hooks  ${address}/govern/tool-use\n`);
    if (!stopped.aborted) await new Promise((done) => stopped.addEventListener('abort', done, { once: true }));
    log.info({ signal: stopped.reason }, 'draining');
    return 0;
  } catch (error) {
    return complain([error instanceof Error ? error.message : String(error)]);
  } finally {
    // Connections that are still open then, with or without a request, are cut.
    const timer = setTimeout(() => app.server.closeAllConnections(), drainMs);
    await app.close();
    clearTimeout(timer);
    await sidecar.close();
  }
}

function complain(problems: readonly string[]): number {
  process.stderr.write(`tollgate-sidecar cannot start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
  return 2;
}
