// Builds the parts that run agents, for main.ts and for tests: the run books and the heartbeat, which use the database;
// the governor, which uses the publisher and the audit log; models and tools. For everything that it starts, it adds a
// step to `undo`.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@tollgate/sidecar/engine';
import { type HookHost, type LostRefusals, refusalsLost } from '@tollgate/sidecar/hooks';
import { type CallTracing, countDecisions, type Tracing } from '@tollgate/sidecar/telemetry';
import type { Registry } from 'prom-client';
import { makeId } from '../access/rules/key.ts';
import type { ApprovalLedger } from '../approvals/operations/ledger.ts';
import type { ModelCatalogue } from '../agents/rules/catalogue.ts';
import { loggable } from '../base/loggable.ts';
import { createHookHost } from '../hooks/operations/hook-host.ts';
import type { OperationDeps } from '../access/operation.ts';
import type { Ledger } from '../quota/operations/ledger.ts';
import { requireDay } from '../runs/operations/books/require-day.ts';
import { createRunBooks } from '../runs/operations/books/run-books.ts';
import { startHeartbeat } from '../runs/operations/liveness/heartbeat.ts';
import { endAbandonedRuns } from '../runs/operations/liveness/end-abandoned-runs.ts';
import { takeOverRuns } from '../runs/operations/liveness/take-over-runs.ts';
import { createStartRun, type StartRun } from '../runs/operations/start-run.ts';
import { startResuming } from '../runs/operations/waiting/resume-waiting.ts';
import { countWaitingRuns } from '../runs/store/waiting-runs.ts';
import { createOpenToolbox } from '../tool-servers/operations/open-toolbox.ts';
import { createSeats } from '../base/turns.ts';
import type { Publisher } from '../publish/publisher.ts';
import { createGovernor, type GovernorDeps } from '../runs/governance/governor.ts';
import { exportGovernor } from '../runs/governance/metrics.ts';
import { type CountedModel, createRunCounts } from '../runs/metrics.ts';
import type { Models } from '../runs/model.ts';
import { createRefusalCounts } from '../runs/refused-money.ts';
import { belowBounds, createRunner, type Runner } from '../runs/runner.ts';
import { createAliases } from '../runs/tools/aliases.ts';
import { createArgumentsProblem } from '../runs/tools/arguments.ts';
import { createSchemaProblem } from '../runs/tools/schema-problem.ts';
import { readDeployment } from '../database/deployment.ts';
import { findWorkspaceId } from '../workspaces/store/workspaces.ts';
import type { Undo } from '../base/undo.ts';

export interface RunsDeps extends OperationDeps {
  readonly publisher: Pick<Publisher, 'follow'>;
  /** Whether this process receives new revisions. */
  readonly hears: () => boolean;
  /** The only queue of this process into the audit log. */
  readonly ingest: GovernorDeps['ingest'];
  /** The ledger of leases of this process. */
  readonly ledger: Ledger;
  /** Absent: no one can be asked about the calls of runs and hooks. */
  readonly approvalLedger?: ApprovalLedger;
  readonly registry: Registry;
  readonly models: Models;
  readonly tracing: Tracing;
  /** Traces the calls that hooks ask about. Absent: these calls are not traced. */
  readonly calls?: CallTracing;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export interface RunsConfig {
  /**
   * The folder where entries of tool calls wait for the audit log. It has a subfolder for each database, because
   * workspaces of different databases can have the same names.
   */
  readonly spoolFolder: string;
  readonly atOnce: number;
  /** Hooks a second that this process accepts for each key. */
  readonly requestsPerSecond: number;
  /** See `WorkspaceSidecarConfig`. */
  readonly leaseWaitMs?: number;
}

export interface Runs {
  readonly startRun: StartRun;
  readonly hooks: HookHost;
  /** Must be closed before the parts that it uses. */
  readonly runner: Runner;
  /** Answers the hooks that wait for a person. Call it before requests are drained. */
  readonly answerHeld: () => void;
}

const abandonedCheckMs = 10_000;
const shipMs = 5_000;
const spoolBytesMax = 256 * 1_048_576;

export async function wireRuns(
  deps: RunsDeps,
  { spoolFolder: root, atOnce, requestsPerSecond, ...waiting }: RunsConfig,
  undo: Undo,
): Promise<Runs> {
  const { pool, publisher, hears, log, catalogue, clock, random, models, tracing, ingest, registry, ledger, approvalLedger } = deps;
  const deployment = await readDeployment(pool);
  if (deployment === null) throw new Error('the table "deployment" of the database must have a row with the epoch, but it has no row');
  const spoolFolder = join(root, deployment.firstEpoch);
  const heartbeat = await startHeartbeat(deps);
  undo.push(await takeOverRuns(deps, heartbeat.instance, join(spoolFolder, 'instances')));
  undo.push(() => heartbeat.close());
  const books = createRunBooks(deps, heartbeat.instance);
  undo.push(() => books.close());
  const self = { instance: heartbeat.instance, holds: books.holds, isSteady: heartbeat.isSteady };
  await endAbandonedRuns(deps, self);
  const abandonedCheck = setInterval(
    () => void endAbandonedRuns(deps, self).catch((error: unknown) => log.error(loggable(error), 'the search for abandoned runs failed')),
    abandonedCheckMs,
  );
  undo.push(() => clearInterval(abandonedCheck));
  const governor = createGovernor(
    {
      publisher,
      hears,
      ingest,
      clock: systemClock,
      random: Math.random,
      newId: randomUUID,
      openLedger: (holder, onRecall) => ledger.open(holder, onRecall),
      ...(approvalLedger === undefined
        ? {}
        : { openApprovals: (workspaceId, onDecided) => approvalLedger.openLocal(workspaceId, onDecided) }),
      log,
      findWorkspace: (slug) => findWorkspaceId(pool, slug),
    },
    { spoolFolder, spoolBytesMax, ...waiting },
  );
  exportGovernor(registry, governor);
  undo.push(() => governor.close(shipMs));
  // If the spool folder is not writable, each run is refused with the reason, and everything else works.
  await governor
    .adopt()
    .catch((error: unknown) =>
      log.error(
        loggable(error),
        'the spools that an earlier process left could not be taken over; the audit entries in these spools stay on disk',
      ),
    );
  const schemaProblem = createSchemaProblem();
  const decided = countDecisions(registry);
  const { countRuns, countSpend, countResumed } = createRunCounts({
    registry,
    find: (model) => countedModel(catalogue, model),
    now: () => systemClock.now(),
    countWaiting: () => countWaitingRuns(pool),
  });
  const { countRefusals, countRefusedDays } = createRefusalCounts(registry);
  const runner = createRunner({
    records: countRuns(books.records),
    money: countRefusals(countSpend(books.money)),
    admit: countRefusedDays((caller, least) => requireDay(deps, caller, least)),
    decided,
    resumed: countResumed,
    seatsBelow: createSeats(belowBounds),
    watch: (run, halt) => heartbeat.watch(run, halt),
    governor,
    models,
    rates: { of: (model) => catalogue.ratesOf(model, clock()), dearestOf: (model) => catalogue.dearestRatesOf(model, clock()) },
    workbench: { aliases: createAliases, argumentsProblem: createArgumentsProblem(schemaProblem) },
    openToolbox: createOpenToolbox({ ...deps, schemaProblem }),
    newId: () => makeId(random),
    clock: systemClock,
    log,
    tracing: namingProviders(tracing, catalogue),
  });
  const lost = (refusals: LostRefusals): void => {
    governor.countUnrecorded(refusals.requests);
    log.warn({ ...refusals }, refusalsLost);
  };
  const hooks = createHookHost({ ...deps, governor, requestsPerSecond, decided, lost });
  undo.push(() => hooks.close());
  const seats = createSeats<number>({ each: atOnce });
  const resuming = startResuming({ ...deps, books, runner, seats, instance: heartbeat.instance });
  undo.push(() => resuming.close());
  return { startRun: createStartRun(runner, { atOnce, seats }), hooks, runner, answerHeld: () => governor.drain() };
}

function countedModel(catalogue: Pick<ModelCatalogue, 'find'>, name: string): CountedModel | null {
  const found = catalogue.find(name);
  return found === null ? null : { provider: found.provider, model: found.name };
}

/** The conventions of telemetry require the provider together with each model. */
const namingProviders = (tracing: Tracing, catalogue: Pick<ModelCatalogue, 'find'>): Tracing => ({
  span: (operation, subject, attributes, work) => {
    const provider = catalogue.find(String(attributes['gen_ai.request.model']))?.provider;
    return tracing.span(
      operation,
      subject,
      provider === undefined ? attributes : { ...attributes, 'gen_ai.provider.name': provider },
      work,
    );
  },
});
