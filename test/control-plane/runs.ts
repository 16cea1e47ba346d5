// The REST surface with real runs behind it, built as main.ts does: policy from the publisher, entries into the audit
// log, costs in the database. Models are a test's own, or those that need no network.
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HookHost, noPolicy } from '@tollgate/sidecar/hooks';
import { Registry } from 'prom-client';
import { request } from 'undici';
import { createGrpcMetrics } from '../../control-plane/grpc/metrics.ts';
import { eventsOf, type SentEvent } from '../../cli/api/streams.ts';
import { createCatalogue } from '../../control-plane/agents/rules/catalogue.ts';
import { maintainPartitions } from '../../control-plane/audit/operations/maintain-partitions.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { createLedger } from '../../control-plane/quota/operations/ledger.ts';
import { createRecalls } from '../../control-plane/quota/operations/recalls.ts';
import { createCrowdedKeys } from '../../control-plane/quota/operations/remove-excess-counters.ts';
import type { StartRun } from '../../control-plane/runs/operations/start-run.ts';
import { createPublisher } from '../../control-plane/publish/publisher.ts';
import { watchQuotaPolicy } from '../../control-plane/publish/quota-policy.ts';
import type { Models } from '../../control-plane/runs/model.ts';
import { createModels } from '../../control-plane/runs/models/models.ts';
import { createProviders } from '../../control-plane/runs/models/providers.ts';
import { type Telemetry, untraced } from '@tollgate/sidecar/telemetry';
import { wireRuns } from '../../control-plane/app/wire-runs.ts';
import { recallChannel } from '../../control-plane/quota/store.ts';
import { watchRevisions } from '../../control-plane/publish/store/watch-revisions.ts';
import { readWorkspace } from '../../control-plane/workspaces/store/workspace-state.ts';
import { type Undo, undoAll } from '../../control-plane/base/undo.ts';
import { createRest } from './rest.ts';

type Overrides = NonNullable<Parameters<typeof createRest>[0]>;

interface Options extends Omit<Overrides, 'startRun' | 'inTrace' | 'hooks'> {
  readonly models?: Models;
  readonly atOnce?: number;
  readonly requestsPerSecond?: number;
  readonly telemetry?: Telemetry;
  readonly leaseWaitMs?: number;
}

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

const unkeyed = async (): Promise<Models> => {
  const { byName } = await createProviders(
    { openai: null, anthropic: null, endpoints: [] },
    { wait: () => Promise.resolve(), random: () => 0, now: () => 0 },
  );
  return createModels(createCatalogue([]), byName);
};

export type RunsRest = Awaited<ReturnType<typeof createRunsRest>>;

export async function createRunsRest({
  models: given,
  atOnce = 100,
  requestsPerSecond = 1_000,
  telemetry,
  leaseWaitMs,
  ...overrides
}: Options = {}) {
  // Runs need the objects that the surface is built with, and the surface needs the runs.
  let started: StartRun | null = null;
  const late = (...asked: Parameters<StartRun>): ReturnType<StartRun> =>
    started === null ? Promise.reject(new Error('too early')) : started(...asked);
  const startRun: StartRun = Object.assign(late, { action: 'run.start' as const });
  let hooks: HookHost | null = null;
  const lateHooks: HookHost = {
    enter: (shown) => hooks?.enter(shown) ?? noPolicy,
    crowded: (entered) => hooks?.crowded(entered),
    decided: (decision, ms) => hooks?.decided(decision, ms),
  };
  const rest = await createRest({
    ...overrides,
    startRun,
    hooks: lateHooks,
    ...(telemetry === undefined ? {} : { inTrace: telemetry.inTrace }),
  });
  rest.clock.now = new Date();
  await maintainPartitions(rest.deps, 90);
  const publisher = createPublisher({ read: (id, since) => readWorkspace(rest.pool, id, since), defaults: rest.deps.defaults, log });
  const now = (): number => performance.now();
  const recalls = createRecalls({ pool: rest.pool, now, log });
  const heard = { [recallChannel]: (payload: string) => recalls.heard(payload) };
  const watch = watchRevisions({ pool: rest.pool, connection: rest.pool.options, log }, publisher, heard);
  const watchPolicy = (workspaceId: number) => watchQuotaPolicy({ publisher, defaults: rest.deps.defaults }, workspaceId);
  const metrics = createGrpcMetrics(new Registry()).quota;
  const ledger = createLedger({ pool: rest.pool, watchPolicy, recalls, metrics, crowded: createCrowdedKeys(), now });
  const ingest = createIngest(rest.deps);
  const spoolFolder = mkdtempSync(join(tmpdir(), 'tollgate-runs-'));
  const undo: Undo = [];
  const tracing = telemetry?.tracing ?? untraced;
  const runs = await wireRuns(
    {
      ...rest.deps,
      publisher,
      ingest,
      registry: rest.deps.registry,
      ledger,
      hears: () => true,
      models: given ?? (await unkeyed()),
      tracing,
      log,
    },
    { spoolFolder, atOnce, requestsPerSecond, ...(leaseWaitMs === undefined ? {} : { leaseWaitMs }) },
    undo,
  );
  started = runs.startRun;
  hooks = runs.hooks;

  /** Every event must be as the API document says. */
  async function* valid(events: AsyncIterable<SentEvent>): AsyncGenerator<SentEvent> {
    for await (const one of events) {
      if (one.data !== null)
        rest.document.checkEvent({ method: 'POST', url: '/api/v1/agents/x/run' }, { ...one, data: JSON.parse(one.data) as unknown });
      yield one;
    }
  }

  /** Resolves once the run has begun to send events. */
  async function stream(agentId: string, body: object, headers: Readonly<Record<string, string>> = {}) {
    const answer = await request(`${rest.origin}/api/v1/agents/${agentId}/run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${rest.owner}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ stream: true, ...body }),
      bodyTimeout: 0,
    });
    const events = valid(eventsOf(textOf(answer.body)))[Symbol.asyncIterator]();
    const first: SentEvent | undefined = (await events.next()).value;
    return {
      status: answer.statusCode,
      headers: answer.headers,
      /** The id is in the first comment. */
      id: /^run (.+)$/.exec(first?.comment ?? '')?.[1] ?? '',
      next: async (): Promise<SentEvent | null> => (await events.next()).value ?? null,
      all: async (): Promise<readonly SentEvent[]> => {
        const found: SentEvent[] = [];
        for await (const event of { [Symbol.asyncIterator]: () => events }) found.push(event);
        return found;
      },
      leave: () => void answer.body.on('error', () => undefined).destroy(),
    };
  }

  return {
    ...rest,
    publisher,
    ledger,
    ingest,
    runner: runs.runner,
    spoolFolder,
    run: (agentId: string, body: object, key = rest.owner) => rest.ask('POST', `/api/v1/agents/${agentId}/run`, { body, key }),
    stream,
    /** The runs of an agent, newest first. */
    runsOf: async (agentId: string): Promise<readonly Shown[]> => {
      const { body } = await rest.ask('GET', `/api/v1/agents/${agentId}/runs`);
      return (body as { readonly runs: readonly Shown[] }).runs;
    },
    close: async () => {
      await runs.runner.close(0);
      // After an abort undici opens a new connection and sends nothing on it, which the server counts as busy.
      rest.app.server.closeAllConnections();
      await undoAll(undo, log);
      publisher.close();
      await watch.close();
      await rest.close();
      await rm(spoolFolder, { recursive: true, force: true });
    },
  };
}

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly stopReason?: string;
}

async function* textOf(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const bytes of body) yield decoder.decode(bytes, { stream: true });
}
