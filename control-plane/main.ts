// The composition root: environment → configuration → wiring → listen → drain. `start` is what `npm start` and
// `tollgate start` run; it is told to stop by a signal.
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { isLoopback, printableConfig, programVariables, readConfig } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { type Config, configSchema, parseCommands, signInProblems } from './config.ts';
import type { Issuer } from './domain/access/sign-in.ts';
import { createGrpcMetrics } from './grpc/metrics.ts';
import { startGrpcServer } from './grpc/server.ts';
import { createApp } from './http/app.ts';
import { callbackPath } from './http/cookies.ts';
import { streamBounds } from './http/streams.ts';
import { authenticate, stillStands } from './operations/access/authenticate.ts';
import { createIngest } from './operations/audit/ingest-batch.ts';
import type { Deps } from './operations/operation.ts';
import { seedFirstWorkspace } from './operations/workspaces/seed-first-workspace.ts';
import { tendPartitions } from './operations/audit/tend-partitions.ts';
import { tendSessions } from './operations/access/tend-sessions.ts';
import { createDiscover } from './operations/tool-servers/discover.ts';
import { loggable } from './loggable.ts';
import { createIssuer } from './oidc/issuer.ts';
import { createPublisher } from './publish/publisher.ts';
import { createReach } from './runs/mcp/reach.ts';
import { startEmbedded } from './store/embedded/start.ts';
import { migrate } from './store/migrate.ts';
import { createPool, poolMax } from './store/pool.ts';
import { createSealer } from './store/sealed.ts';
import { watchHeads } from './store/watch-heads.ts';
import { watchRevisions } from './store/watch-revisions.ts';
import { readWorkspaceState } from './store/workspace-state.ts';
import { type Undo, undoAll } from './undo.ts';

const hourMs = 3_600_000;
/** How long requests under way may take to end. */
const drainMs = 5_000;

/** Runs until SIGTERM or SIGINT. Answers the exit code. */
export async function runControlPlane(env: Readonly<Record<string, string | undefined>>): Promise<number> {
  const read = readConfig(configSchema, env, programVariables);
  if ('problems' in read) return complain(read.problems);
  const { config } = read;
  const beyond = config.allowPlaintext === 'false' && !isLoopback(config.host);
  if (beyond)
    return complain([
      `TOLLGATE_HOST is ${config.host}, beyond loopback, where a connection needs TLS in front of it; set TOLLGATE_ALLOW_PLAINTEXT=true to listen without`,
    ]);

  const unmet = signInProblems(config);
  if (unmet.length > 0) return complain(unmet);

  const undo: Undo = [];
  const stopped = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort(signal));
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }));
  try {
    const started = await start(config, undo, log, stopped.signal);
    if (started !== null) return complain([started]);
    if (!stopped.signal.aborted) await new Promise((done) => stopped.signal.addEventListener('abort', done, { once: true }));
    log.info({ signal: stopped.signal.reason }, 'draining');
    return 0;
  } catch (error) {
    if (stopped.signal.aborted) return 0;
    if (error instanceof AddressTaken) return complain([error.message]);
    log.fatal(loggable(error), 'the control plane could not start');
    return 1;
  } finally {
    await undoAll(undo, log);
  }
}

/** Null once everything listens; why not, otherwise. */
async function start(config: Config, undo: Undo, log: pino.Logger, signal: AbortSignal): Promise<string | null> {
  log.debug({ config: printableConfig(configSchema, config) }, 'configuration');
  const connection = await connectionOf(config, undo, log, signal);
  await migrate(connection);
  const pool = createPool(connection, log);
  undo.push(() => pool.end());
  const readingPool = createPool(connection, log, poolMax.reading);
  undo.push(() => readingPool.end());
  const heads = watchHeads(pool);
  undo.push(() => heads.close());
  const reach = createReach({ allowPrivate: config.allowPrivateToolServers === 'true', commands: parseCommands(config.toolCommands) });
  const deps: Deps = {
    pool,
    readingPool,
    heads,
    clock: () => new Date(),
    random: (size) => randomBytes(size),
    defaults: { defaultPermission: config.defaultPermission, windowSeconds: config.windowSeconds },
    reach,
    discover: createDiscover(reach),
    sealer: config.secretKey === null ? null : createSealer(config.secretKey, randomBytes),
  };
  const { workspace, ownerEmail, ownerKey } = config;
  const seeded = await seedFirstWorkspace(deps, { workspace, ownerEmail, ownerKey });
  if (seeded.kind === 'refused') return seeded.reason;
  const tending = { ...deps, log };
  await tendPartitions(tending, config.auditRetentionDays);
  const tend = async (): Promise<void> => {
    await tendPartitions(tending, config.auditRetentionDays).catch((error: unknown) =>
      log.error(loggable(error), 'partitions were not tended'),
    );
    await tendSessions(deps).catch((error: unknown) => log.error(loggable(error), 'expired sessions were not removed'));
  };
  const chores = setInterval(() => void tend(), hourMs);
  undo.push(() => clearInterval(chores));

  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const publisher = createPublisher({ readState: (id) => readWorkspaceState(pool, id), defaults: deps.defaults, log });
  undo.push(() => publisher.close());
  const watch = watchRevisions({ pool, connection, log }, publisher);
  undo.push(() => watch.close());
  const grpc = await startGrpcServer(
    {
      publisher,
      wall: Date.now,
      random: Math.random,
      metrics: createGrpcMetrics(registry),
      log,
      authenticate: (header) => authenticate(deps, header),
      stillStands: (actor) => stillStands(deps, actor),
      ingest: createIngest(deps),
    },
    { host: config.host, port: config.grpcPort },
  ).catch(explainTaken(config.host, config.grpcPort, 'TOLLGATE_GRPC_PORT'));
  undo.push(() => grpc.close());
  const app = createApp({
    ...deps,
    config,
    streamBounds,
    issuer: issuerOf(config),
    log,
    registry,
    readiness: () => (watch.problem === null ? [] : [`revisions are not listened for: ${watch.problem}`]),
  });
  undo.push(() => closeWithin(app, drainMs));
  const rest = await app.listen({ host: config.host, port: config.port }).catch(explainTaken(config.host, config.port, 'TOLLGATE_PORT'));
  announce(rest, `${config.host}:${grpc.port}`, seeded.kind === 'created' ? seeded.key : null);
  return null;
}

function issuerOf({ publicUrl, oidcIssuer, oidcClientId, oidcClientSecret }: Config): Issuer | null {
  if (publicUrl === null || oidcIssuer === null || oidcClientId === null) return null;
  const redirectUri = new URL(callbackPath, publicUrl).href;
  return createIssuer({ issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret, redirectUri });
}

async function connectionOf(config: Config, undo: Undo, log: pino.Logger, signal: AbortSignal): Promise<pg.PoolConfig> {
  if (config.databaseUrl !== null) return { connectionString: config.databaseUrl };
  const embedded = await startEmbedded({ dataDir: resolve(config.dataDir), log: (line) => log.info(line), signal });
  undo.push(() => embedded.close());
  return embedded.connection;
}

/** Ends listening; connections that are still open after `ms`, with or without a request, are cut. */
async function closeWithin(app: FastifyInstance, ms: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), ms);
  await app.close();
  clearTimeout(timer);
}

/** For people and scripts, on standard output; the log goes to standard error. */
function announce(rest: string, grpc: string, ownerKey: string | null): void {
  process.stdout.write(`Tollgate control plane\n  REST  ${rest}\n  gRPC  ${grpc}\n`);
  if (ownerKey !== null) process.stdout.write(`  owner key, shown this once:\n  ${ownerKey}\n`);
}

class AddressTaken extends Error {
  override readonly name = 'AddressTaken';
}

/** gRPC has the code of it in its message only. */
const explainTaken =
  (host: string, port: number, variable: string) =>
  (error: unknown): never => {
    if (!(error instanceof Error && /\bEADDRINUSE\b/.test(error.message))) throw error;
    throw new AddressTaken(`${host}:${port} is taken by another program; set ${variable} to another port`, { cause: error });
  };

function complain(problems: readonly string[]): number {
  process.stderr.write(`tollgate cannot start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
  return 2;
}
