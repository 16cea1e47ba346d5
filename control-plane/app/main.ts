// Starts the control plane and stops it: environment → configuration → wiring → listen → drain. This file connects all
// parts (composition root). `npm start` and `tollgate-control-plane start` run it. A signal stops it.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { parseCommands, policyNeeds, printableConfig, programVariables, readConfig } from '@tollgate/proto/contract';
import { systemClock } from '@tollgate/sidecar/engine';
import { readTelemetrySettings, startTelemetry, type Telemetry } from '@tollgate/sidecar/telemetry';
import { programEnvironment } from '@tollgate/sidecar/upstream';
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
  plaintextProblems,
  secretKeysIn,
  signInProblems,
  tlsProblems,
} from './config.ts';
import { dataDirProblem } from './data-dir.ts';
import { createCatalogue } from '../agents/rules/catalogue.ts';
import { parseModelEndpoints } from '../agents/rules/model-endpoints.ts';
import { microcentsFromCents } from '../runs/rules/money.ts';
import { createGrpcMetrics } from '../grpc/metrics.ts';
import { authenticateSidecar } from '../access/operations/authenticate.ts';
import { createKeyLookups, type KeyLookups } from '../access/operations/key-lookups.ts';
import { createIngest } from '../audit/operations/ingest-batch.ts';
import { watchIngest } from '../audit/operations/watch-ingest.ts';
import { restWarnings } from '../certificates/tls/rest-material.ts';
import { createNotary, openNotaryKey, readNotaryKey } from '../audit/operations/notary.ts';
import { createResealChore } from '../tool-servers/operations/reseal-chore.ts';
import type { OperationDeps } from '../access/operation.ts';
import { createCrowdedKeys } from '../quota/operations/remove-excess-counters.ts';
import { seedFirstWorkspace } from '../workspaces/operations/seed-first-workspace.ts';
import { createDiscover } from '../tool-servers/operations/discover.ts';
import { loggable } from '../base/loggable.ts';
import { createRevisionChanges, listeningTogether } from '../publish/revision-changes.ts';
import { createReach } from '../runs/mcp/reach.ts';
import type { RevisionListener } from '../publish/store/watch-revisions.ts';
import { createModels } from '../runs/models/models.ts';
import { createProviders } from '../runs/models/providers.ts';
import { settingsFrom } from '../runs/models/settings.ts';
import type { Models } from '../runs/model.ts';
import { wireApprovals } from './wire-approvals.ts';
import { wireAuditExport } from './wire-audit-export.ts';
import { wireDatabase } from './wire-database.ts';
import { wireGrpc } from './wire-grpc.ts';
import { wireHttp } from './wire-http.ts';
import type { wireInjector, WireInjectorDeps } from './wire-injector.ts';
import { wirePolicy } from './wire-policy.ts';
import { wireRuns } from './wire-runs.ts';
import { openRestTls, wireTls } from './wire-tls.ts';
import { createSealer } from '../tool-servers/store/sealed.ts';
import { listenForStop } from './stop-signals.ts';
import { type Undo, undoAll } from '../base/undo.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Runs until SIGTERM or SIGINT. Returns the exit code. */
export async function runControlPlane(env: Env): Promise<number> {
  const read = readConfig(configSchema, env, programVariables);
  if ('problems' in read) return complain(read.problems);
  const { config } = read;
  const beyond = plaintextProblems(config);
  if (beyond.length > 0) return complain(beyond);

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
      process.stderr.write(`tollgate stops immediately after a second ${name}; the next start ends its active runs as failed\n`);
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
    // `bin.js` prevents the growth of the young generation during the start. 2 is the default of V8.
    setFlagsFromString('--semi-space-growth-factor=2');
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

interface StartContext {
  readonly config: Config;
  readonly env: Env;
  readonly undo: Undo;
  readonly log: pino.Logger;
  readonly telemetry: Telemetry;
  readonly registry: Registry;
  readonly signal: AbortSignal;
}

/** Starts all parts. Returns null when everything listens, otherwise the reason why it does not. */
async function start({ config, env, undo, log, telemetry, registry, signal }: StartContext): Promise<string | null> {
  log.debug({ config: printableConfig(configSchema, config) }, 'configuration');
  const signing = openSigningKey(config);
  if ('problem' in signing) return signing.problem;
  const clock = (): Date => new Date();
  const restTls = await openRestTls({ config, clock, log }, undo);
  if ('problem' in restTls) return restTls.problem;
  const database = await wireDatabase({ config, log, signal }, undo);
  const keyLookups = createKeyLookups({ ...database, clock });
  const parts = { ...database, clock, keyLookups, random: (size: number) => randomBytes(size) };
  const seeded = await seedFirstWorkspace(parts, config);
  if (seeded.kind === 'refused') return seeded.reason;
  const sealer = config.secretKey === null ? null : createSealer(secretKeysIn(config.secretKey), randomBytes);
  const tls = await wireTls(
    { ...parts, ...restTls, sealer, config, env, authenticate: (...asked) => authenticateSidecar(parts, ...asked), registry, log },
    undo,
  ).catch(explainTaken(config.host, Number(config.enrolPort), 'TOLLGATE_ENROL_PORT'));
  const toolServers = toolServersOf({ config, env });
  const asking = wireApprovals({ ...parts, sealer, reach: toolServers.reach, registry, log }, undo);
  const revisions = createRevisionChanges();
  const deps: OperationDeps = {
    ...parts,
    revisions,
    approvals: asking.approvals,
    ...toolServers,
    sealer,
    defaults: { defaultPermission: config.defaultPermission, windowSeconds: config.windowSeconds },
    needs: policyNeeds,
    catalogue: createCatalogue(parseModelEndpoints(config.modelEndpoints)),
    dailyCap: microcentsFromCents(config.dailyCapCents),
    authorities: tls.authorities,
    notary: createNotary(signing.key, config.auditRetentionDays),
  };
  const resealChore = createResealChore({ ...deps, log });
  const crowded = createCrowdedKeys();
  await startChores(
    { ...deps, log, resealChore, crowded, isExporting: config.auditExportEndpoint !== null },
    config.auditRetentionDays,
    undo,
  );
  const auditExport = await wireAuditExport({ ...deps, config, registry, log }, undo);
  const metrics = createGrpcMetrics(registry);
  const heard = listeningTogether(revisions, outdating(keyLookups));
  const policy = wirePolicy({ ...deps, ...asking, revisions: heard, database, crowded, metrics: metrics.quota, log }, undo);
  const intake = watchIngest(
    createIngest({ ...deps, committed: (records) => metrics.ingested(records), isWatched: (id) => deps.heads.isWatched(id) }),
    () => performance.now(),
  );
  const { startRun, hooks, runner, answerHeld } = await wireRuns(
    {
      ...deps,
      ...policy,
      ingest: intake.ingest,
      approvalLedger: asking.approvalLedger,
      registry,
      hears: () => policy.watch.problem === null,
      models: await modelsOf(deps.catalogue, { config, env }, undo),
      tracing: telemetry.tracing,
      ...(telemetry.calls === undefined ? {} : { calls: telemetry.calls }),
      log,
    },
    { spoolFolder: join(resolve(config.dataDir), 'runs-spool'), atOnce: config.runsAtOnce, requestsPerSecond: config.requestsPerSecond },
    undo,
  );
  const grpc = await wireGrpc(
    { ...deps, ...policy, ...asking, config, ingest: intake.ingest, tls: tls.grpc, metrics, registry, log },
    undo,
  );
  const injecting = await injectorOf({ config, env, authorities: tls.grpc === null ? null : tls.authorities, registry, log }, undo);
  if ('problem' in injecting) return injecting.problem;
  const rest = await wireHttp(
    {
      ...deps,
      config,
      startRun,
      hooks,
      runner,
      inTrace: telemetry.inTrace,
      log,
      registry,
      readiness: () => [
        ...problem('this control plane does not receive notifications of new revisions', policy.watch.problem),
        ...problem('there is no valid server certificate for sidecars', tls.problem),
        ...problem('the injection webhook is not listening', injecting.injector?.problem),
      ],
      tls: restTls.rest,
      warnings: () => [...restWarnings(restTls.rest), ...intake.problems(), ...(auditExport?.problems() ?? []), ...resealChore.problems()],
    },
    undo,
  );
  undo.push(answerHeld);
  const enrol = tls.enrolPort === null ? null : `${config.host}:${tls.enrolPort}`;
  announce({ ...rest, grpc: `${config.host}:${grpc.port}`, enrol }, seeded.kind === 'created' ? seeded.key : null);
  return null;
}

/** Any write may have added a key, also one of another control plane. */
function outdating({ outdate }: Pick<KeyLookups, 'outdate'>): RevisionListener {
  return { raised: outdate, removed: () => undefined, restored: outdate };
}

const problem = (what: string, why: string | null | undefined): readonly string[] => (why == null ? [] : [`${what}: ${why}`]);

/** Starts the injection webhook. It is loaded only if it is configured. */
async function injectorOf(deps: WireInjectorDeps, undo: Undo): ReturnType<typeof wireInjector> {
  const { config } = deps;
  if (config.injectPort === null) return { injector: null };
  const wire = await import('./wire-injector.ts');
  return wire.wireInjector(deps, undo).catch(explainTaken(config.host, Number(config.injectPort), 'TOLLGATE_INJECT_PORT'));
}

/** Returns the models that agents can run on, with the providers that are configured. */
async function modelsOf(
  catalogue: OperationDeps['catalogue'],
  { config, env }: Pick<StartContext, 'config' | 'env'>,
  undo: Undo,
): Promise<Models> {
  const providers = await createProviders(settingsFrom(config, env), {
    wait: (ms, until) => delay(ms, undefined, { signal: until }),
    random: Math.random,
    now: Date.now,
  });
  undo.push(() => providers.close());
  return createModels(catalogue, providers.byName);
}

/**
 * Returns the key that signs checkpoints of the audit log. Creates the data folder if something is to be stored in it.
 */
function openSigningKey({ databaseUrl, dataDir, checkpointKeyFile }: Config): ReturnType<typeof readNotaryKey> {
  // If database and key are elsewhere, only runs need the data folder, and they report problems with it themselves.
  const problem = databaseUrl === null || checkpointKeyFile === null ? dataDirProblem(resolve(dataDir)) : null;
  if (problem !== null) return { problem };
  return checkpointKeyFile === null ? openNotaryKey(join(resolve(dataDir), 'checkpoint-key.pem')) : readNotaryKey(checkpointKeyFile);
}

/** Returns which tool servers may be reached, and how their tools are listed. */
function toolServersOf({ config, env }: Pick<StartContext, 'config' | 'env'>): Pick<OperationDeps, 'reach' | 'discover'> {
  const { allowPrivateToolServers, toolCommands, toolTimeoutMs } = config;
  const rules = { allowPrivate: allowPrivateToolServers === 'true', commands: parseCommands(toolCommands) };
  const reach = createReach(rules, programEnvironment(env), toolTimeoutMs);
  return { reach, discover: createDiscover(reach) };
}

interface Addresses {
  readonly rest: string;
  readonly grpc: string;
  readonly enrol: string | null;
  /** Opens the console, once. */
  readonly link: string | null;
}

/** Prints the addresses on standard output, for people and scripts. The log uses standard error. */
function announce({ rest, grpc, enrol, link }: Addresses, ownerKey: string | null): void {
  process.stdout.write(
    `Tollgate control plane\n  REST  ${rest}\n  gRPC  ${grpc}\n${enrol === null ? '' : `  enrolment  https://${enrol}\n`}`,
  );
  if (link !== null) process.stdout.write(`  console, as the owner, for 60 s and once:\n  ${link}\n`);
  if (ownerKey !== null) process.stdout.write(`  owner key, shown this once:\n  ${ownerKey}\n`);
}

function complain(problems: readonly string[]): number {
  process.stderr.write(`tollgate cannot start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
  return 2;
}
