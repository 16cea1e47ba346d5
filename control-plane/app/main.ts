// The composition root: environment → configuration → wiring → listen → drain. `npm start` and `tollgate start` run
// `start`. A signal stops it.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  isLoopback,
  parseCommands,
  policyNeeds,
  printableConfig,
  programVariables,
  readConfig,
  type RevisionName,
} from '@tollgate/proto/contract';
import { systemClock } from '@tollgate/sidecar/engine';
import { readTelemetrySettings, startTelemetry, type Telemetry } from '@tollgate/sidecar/telemetry';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { AddressTaken, explainTaken } from './address-taken.ts';
import { startChores } from './chores.ts';
import {
  type Config,
  configSchema,
  exportProblems,
  injectProblems,
  modelProblems,
  secretKeysIn,
  signInProblems,
  tlsProblems,
} from './config.ts';
import type { Issuer } from '../access/rules/sign-in.ts';
import { connectDatabase } from './connect-database.ts';
import { dataDirProblem } from './data-dir.ts';
import { createCatalogue } from '../agents/rules/catalogue.ts';
import { parseModelEndpoints } from '../agents/rules/model-endpoints.ts';
import { microcentsFromCents } from '../runs/rules/money.ts';
import { createGrpcMetrics, exportRoster } from '../grpc/metrics.ts';
import { startGrpcServer } from '../grpc/server.ts';
import { createStreamSeats } from '../grpc/stream-seats.ts';
import { drain } from './drain.ts';
import { createApp } from '../http/app.ts';
import { watchConnections } from '../http/connections.ts';
import { callbackPath } from '../http/cookies.ts';
import { streamBounds } from '../http/streams.ts';
import { authenticate, stillStands } from '../access/operations/authenticate.ts';
import { createIngest } from '../audit/operations/ingest-batch.ts';
import { watchIngest } from '../audit/operations/watch-ingest.ts';
import { createNotary, openNotaryKey, readNotaryKey } from '../audit/operations/notary.ts';
import { createSealTending } from '../tool-servers/operations/tend-sealed.ts';
import type { Deps } from '../access/operation.ts';
import { createLedger } from '../quota/operations/ledger.ts';
import { createRecalls } from '../quota/operations/recalls.ts';
import { createCrowdedKeys } from '../quota/operations/tend-shares.ts';
import { createRoster } from '../sidecars/operations/roster.ts';
import { seedFirstWorkspace } from '../workspaces/operations/seed-first-workspace.ts';
import { createDiscover } from '../tool-servers/operations/discover.ts';
import { loggable } from '../base/loggable.ts';
import { createIssuer } from '../access/issuer.ts';
import { createPublisher, type LiveWorkspace } from '../publish/publisher.ts';
import { watchQuotaPolicy } from '../publish/quota-policy.ts';
import { createReach } from '../runs/mcp/reach.ts';
import { createModels } from '../runs/models/models.ts';
import { createProviders } from '../runs/models/providers.ts';
import { settingsFrom } from '../runs/models/settings.ts';
import { wireAuditExport } from './wire-audit-export.ts';
import { wireInjector } from './wire-injector.ts';
import { wireRuns } from './wire-runs.ts';
import { wireTls } from './wire-tls.ts';
import { migrate } from '../database/migrate.ts';
import { createPool, poolMax } from '../database/pool.ts';
import { recallChannel } from '../quota/store.ts';
import { createSealer } from '../tool-servers/store/sealed.ts';
import { watchHeads } from '../audit/store/watch-heads.ts';
import { watchRevisions } from '../publish/store/watch-revisions.ts';
import { readWorkspace } from '../workspaces/store/workspace-state.ts';
import { listenForStop } from './stop-signals.ts';
import { type Undo, undoAll } from '../base/undo.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Runs until SIGTERM or SIGINT. Returns the exit code. */
export async function runControlPlane(env: Env): Promise<number> {
  const read = readConfig(configSchema, env, programVariables);
  if ('problems' in read) return complain(read.problems);
  const { config } = read;
  const beyond = config.allowPlaintext === 'false' && !isLoopback(config.host);
  if (beyond)
    return complain([
      `TOLLGATE_HOST is ${config.host}, beyond loopback, where a connection needs TLS in front of it; set TOLLGATE_ALLOW_PLAINTEXT=true to listen without`,
    ]);

  const asked = readTelemetrySettings(env);
  const unmet = [
    ...signInProblems(config),
    ...injectProblems(config),
    ...tlsProblems(config),
    ...exportProblems(config),
    ...modelProblems(config, env),
    ...('problems' in asked ? asked.problems : []),
  ];
  if (unmet.length > 0 || 'problems' in asked) return complain(unmet);

  const undo: Undo = [];
  const stopped = listenForStop(
    process,
    () => performance.now(),
    (name) => {
      process.stderr.write(`tollgate ends at once: ${name} came again; runs under way are failed by the next start\n`);
      process.exit(1);
    },
  );
  const err = (error: unknown): unknown => (error instanceof Error ? loggable(error) : error);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instance = `${hostname()}-${process.pid}`;
  const telemetry = await startTelemetry(asked.settings, { registry, identity: { service: 'tollgate', instance }, clock: systemClock });
  const log = pino({ level: config.logLevel, serializers: { err } }, telemetry.logTo(pino.destination({ dest: 2, sync: true })));
  telemetry.sayTo(log);
  try {
    const started = await start({ config, env, undo, log, telemetry, registry, signal: stopped.signal });
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
    stopped.close();
    // Telemetry that is still being sent to a collector must not delay the exit.
    if (!(await telemetry.close())) setTimeout(() => process.exit(), 100).unref();
  }
}

interface Starting {
  readonly config: Config;
  readonly env: Env;
  readonly undo: Undo;
  readonly log: pino.Logger;
  readonly telemetry: Telemetry;
  readonly registry: Registry;
  readonly signal: AbortSignal;
}

/** Null when everything listens; otherwise the reason why it does not. */
async function start({ config, env, undo, log, telemetry, registry, signal }: Starting): Promise<string | null> {
  log.debug({ config: printableConfig(configSchema, config) }, 'configuration');
  // If the database and the key are elsewhere, the folder is not needed to start. Only runs need it then.
  const isFolderNeeded = config.databaseUrl === null || config.checkpointKeyFile === null;
  const unmade = isFolderNeeded ? dataDirProblem(resolve(config.dataDir)) : null;
  if (unmade !== null) return unmade;
  const notaryKey =
    config.checkpointKeyFile === null
      ? openNotaryKey(join(resolve(config.dataDir), 'checkpoint-key.pem'))
      : readNotaryKey(config.checkpointKeyFile);
  if ('problem' in notaryKey) return notaryKey.problem;
  const connection = await connectDatabase(config, { undo, log: (line) => log.info(line), warn: (line) => log.warn(line), signal });
  await migrate(connection, signal);
  const pool = createPool(connection, log);
  undo.push(() => pool.end());
  const readingPool = createPool(connection, log, poolMax.reading);
  undo.push(() => readingPool.end());
  const heads = watchHeads(pool);
  undo.push(() => heads.close());
  const rules = { allowPrivate: config.allowPrivateToolServers === 'true', commands: parseCommands(config.toolCommands) };
  const reach = createReach(rules, config.toolTimeoutMs);
  const deps: Deps = {
    pool,
    readingPool,
    heads,
    clock: () => new Date(),
    random: (size) => randomBytes(size),
    defaults: { defaultPermission: config.defaultPermission, windowSeconds: config.windowSeconds },
    needs: policyNeeds,
    reach,
    catalogue: createCatalogue(parseModelEndpoints(config.modelEndpoints)),
    discover: createDiscover(reach),
    sealer: config.secretKey === null ? null : createSealer(secretKeysIn(config.secretKey), randomBytes),
    dailyCap: microcentsFromCents(config.dailyCapCents),
    authorities: () => tls.authorities(),
    notary: createNotary(notaryKey.key, config.auditRetentionDays),
  };
  const { workspace, ownerEmail, ownerKey } = config;
  const seeded = await seedFirstWorkspace(deps, { workspace, ownerEmail, ownerKey });
  if (seeded.kind === 'refused') return seeded.reason;
  const sealTending = createSealTending({ ...deps, log });
  const crowded = createCrowdedKeys();
  await startChores(
    { ...deps, log, sealTending, crowded, isExporting: config.auditExportEndpoint !== null },
    config.auditRetentionDays,
    undo,
  );

  const tls = await wireTls({ ...deps, config, env, authenticate: (header) => authenticate(deps, header), registry, log }, undo).catch(
    explainTaken(config.host, Number(config.enrolPort), 'TOLLGATE_ENROL_PORT'),
  );
  const auditExport = wireAuditExport({ ...deps, config, registry, log }, undo);
  const publisher = createPublisher({
    read: (id, since) => readWorkspace(pool, id, since),
    defaults: deps.defaults,
    needs: deps.needs,
    log,
  });
  undo.push(() => publisher.close());
  const recalls = createRecalls({ pool, now: () => performance.now(), log });
  const watch = watchRevisions({ pool, connection, log }, publisher, { [recallChannel]: (payload) => recalls.heard(payload) });
  undo.push(() => watch.close());
  const providers = createProviders(settingsFrom(config, env), {
    wait: (ms, until) => delay(ms, undefined, { signal: until }),
    random: Math.random,
    now: Date.now,
  });
  undo.push(() => providers.close());
  const metrics = createGrpcMetrics(registry);
  const intake = watchIngest(createIngest({ ...deps, committed: (records) => metrics.ingested(records) }), () => performance.now());
  const ledger = createLedger({
    pool,
    watchPolicy: (workspaceId) => watchQuotaPolicy({ publisher, defaults: deps.defaults }, workspaceId),
    recalls,
    metrics: metrics.quota,
    crowded,
    now: () => performance.now(),
  });
  const { startRun, hooks, runner } = await wireRuns(
    {
      ...deps,
      publisher,
      ingest: intake.ingest,
      ledger,
      registry,
      hears: () => watch.problem === null,
      models: createModels(deps.catalogue, providers.byName),
      tracing: telemetry.tracing,
      ...(telemetry.calls === undefined ? {} : { calls: telemetry.calls }),
      log,
    },
    { spoolFolder: join(resolve(config.dataDir), 'runs-spool'), atOnce: config.runsAtOnce, requestsPerSecond: config.requestsPerSecond },
    undo,
  );
  const roster = createRoster({ ...deps, wall: Date.now, now: () => performance.now(), log }, `${hostname()}-${process.pid}`);
  undo.push(() => roster.close());
  exportRoster(registry, () => roster.countByLag((workspaceId) => nameOf(publisher.live(workspaceId))));
  const grpc = await startGrpcServer(
    {
      publisher,
      needs: deps.needs,
      roster,
      wall: Date.now,
      random: Math.random,
      metrics,
      log,
      authenticate: (header) => authenticate(deps, header),
      stillStands: (actor) => stillStands(deps, actor),
      ingest: intake.ingest,
      ledger,
      seats: createStreamSeats(),
    },
    { host: config.host, port: config.grpcPort, tls: tls.grpc },
  ).catch(explainTaken(config.host, config.grpcPort, 'TOLLGATE_GRPC_PORT'));
  undo.push(() => grpc.close());
  const injecting = await wireInjector({ config, env, authorities: tls.grpc === null ? null : tls.authorities, registry, log }, undo).catch(
    explainTaken(config.host, Number(config.injectPort), 'TOLLGATE_INJECT_PORT'),
  );
  if ('problem' in injecting) return injecting.problem;
  const app = createApp({
    ...deps,
    config,
    startRun,
    hooks,
    inTrace: telemetry.inTrace,
    streamBounds,
    issuer: issuerOf(config),
    log,
    registry,
    readiness: () => [
      ...(watch.problem === null ? [] : [`revisions are not listened for: ${watch.problem}`]),
      ...(tls.problem === null ? [] : [`the certificate that sidecars are shown cannot be had: ${tls.problem}`]),
      ...(injecting.injector?.problem == null ? [] : [`the injection webhook does not listen: ${injecting.injector.problem}`]),
    ],
    warnings: () => [...intake.problems(), ...(auditExport?.problems() ?? []), ...sealTending.problems()],
  });
  const connections = watchConnections(app.server);
  undo.push(() => drain({ app, connections, runner }, config.drainMs));
  const rest = await app.listen({ host: config.host, port: config.port }).catch(explainTaken(config.host, config.port, 'TOLLGATE_PORT'));
  announce(
    { rest, grpc: `${config.host}:${grpc.port}`, enrol: tls.enrolPort === null ? null : `${config.host}:${tls.enrolPort}` },
    seeded.kind === 'created' ? seeded.key : null,
  );
  return null;
}

const nameOf = (live: LiveWorkspace | null): RevisionName | null => (live === null ? null : { epoch: live.epoch, number: live.revision });

function issuerOf({ publicUrl, oidcIssuer, oidcClientId, oidcClientSecret }: Config): Issuer | null {
  if (publicUrl === null || oidcIssuer === null || oidcClientId === null) return null;
  const redirectUri = new URL(callbackPath, publicUrl).href;
  return createIssuer({ issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret, redirectUri });
}

interface Addresses {
  readonly rest: string;
  readonly grpc: string;
  readonly enrol: string | null;
}

/** This output is for people and scripts, on standard output. The log uses standard error. */
function announce({ rest, grpc, enrol }: Addresses, ownerKey: string | null): void {
  process.stdout.write(
    `Tollgate control plane\n  REST  ${rest}\n  gRPC  ${grpc}\n${enrol === null ? '' : `  enrolment  https://${enrol}\n`}`,
  );
  if (ownerKey !== null) process.stdout.write(`  owner key, shown this once:\n  ${ownerKey}\n`);
}

function complain(problems: readonly string[]): number {
  process.stderr.write(`tollgate cannot start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
  return 2;
}
