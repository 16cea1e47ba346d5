// All endpoints that can be asked about a call of one workspace, in one process and over real connections: a control
// plane with its hook endpoint and its runs, a sidecar process's HTTP server and mesh port, a library for each caller,
// and the tool's servers behind them.
import { credentials } from '@grpc/grpc-js';
import { policyNeeds } from '@tollgate/proto/contract';
import { createAuthorizationClient, createExtMcpClient } from '@tollgate/proto/mesh';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { createGrpcMetrics } from '../../../control-plane/grpc/metrics.ts';
import { startGrpcServer } from '../../../control-plane/grpc/server.ts';
import { createApprovalLedger } from '../../../control-plane/approvals/operations/ledger.ts';
import { createStreamSeats } from '../../../control-plane/grpc/stream-seats.ts';
import { authenticate, stillStands } from '../../../control-plane/access/operations/authenticate.ts';
import { createRoster } from '../../../control-plane/sidecars/operations/roster.ts';
import { createReach } from '../../../control-plane/runs/mcp/reach.ts';
import { systemClock } from '../../../sidecar/base/clock.ts';
import { createEntrance } from '../../../sidecar/doors/entrance/entrance.ts';
import { methods as httpMethods } from '../../../sidecar/upstream/http-tool-definition.ts';
import { type Run, startRun } from '../../../sidecar/doors/library/library.ts';
import { startMesh } from '../../../sidecar/doors/mesh/mesh.ts';
import { buildServer } from '../../../sidecar/doors/server.ts';
import { noGatewayFile } from '../../../sidecar/upstream/gateway-file.ts';
import { systemResolve } from '../../../sidecar/upstream/public-only.ts';
import { createUpstreams } from '../../../sidecar/upstream/tool-servers.ts';
import { exportSidecar } from '../../../sidecar/app/metrics/sidecar.ts';
import type { Sidecar } from '../../../sidecar/doors/sidecar.ts';
import { startSidecar } from '../../../sidecar/app/start.ts';
import { type FakeServer, startFakeServer, tool } from '../../support/mcp-servers.ts';
import { temporaryFolder } from '../../support/spools.ts';
import { field, operatorKey } from '../rest.ts';
import { createRunsRest, type RunsRest } from '../runs.ts';
import { agent, type Caller, callers, client, methods, server } from './policies.ts';
import { silentLog } from '../../support/silent-log.ts';

/** A caller with its connections. */
export interface Armed extends Caller {
  readonly keyId: string;
  /** Pins agent, tier and client. */
  readonly key: string;
  readonly run: Run;
}

const log = { info: () => undefined, warn: () => undefined };
/** No call waits this long. A call below its limit must not be denied because two cores are busy. */
const leaseWaitMs = 20_000;
const requestsPerSecond = 1_000_000;

/** Caps of the agent: none is reached. */
export const caps = { maxToolCalls: 10_000, maxToolRounds: 1_000, maxDurationMs: 86_400_000, maxBudgetCents: 1_000_000 };

export type Stand = Awaited<ReturnType<typeof startStand>>;

export async function startStand() {
  const tools = await startToolServers();
  const rest = await createRunsRest({
    reach: createReach({ allowPrivate: true, commands: [] }, {}),
    config: { publicUrl: null, operatorKey, patchPerMinute: 1_000_000, hookStatus: 'decision', traceUrl: null },
    requestsPerSecond,
    leaseWaitMs,
  });
  onTestFinished(() => rest.close());
  const controlPlane = await startGrpc(rest);
  const agentId = await registerAll(rest, tools.mcp);
  const join = (form: 'process' | 'library', key: string, sidecarId: string): Promise<Sidecar> =>
    startFollowing({ form, key, sidecarId, controlPlane });
  const { sidecar, ...process } = await startProcess(
    await join('process', (await issueKey(rest, { scopes: ['sidecar.sync'] })).key, 'process'),
    tools.http.url,
  );
  const libraries: Sidecar[] = [];
  const armed: Armed[] = [];
  for (const [at, caller] of callers.entries()) {
    const { id, key } = await issueKey(rest, {
      scopes: ['govern', 'sidecar.library', 'agents.write'],
      ...(caller.uid === null ? {} : { uid: caller.uid }),
      tier: caller.tier,
      agent,
      client,
    });
    const library = await join('library', key, `library-${at}`);
    libraries.push(library);
    // `connect` does the same over such a sidecar, but cannot report which revision it holds. The claims differ from
    // those that the key pins.
    const run = startRun(library, { agent: 'other', tier: 'subagent', client: { name: 'other' }, sessionId: 'library' });
    armed.push({ ...caller, keyId: id, key, run });
  }
  return { rest, agentId, ...process, callers: armed, reached: whenAllHold([sidecar, ...libraries]), made: () => tools.made };
}

async function issueKey(rest: RunsRest, fields: object): Promise<{ readonly id: string; readonly key: string }> {
  const answer = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'every door', ...fields } });
  return { id: field(answer, 'id'), key: field(answer, 'key') };
}

/** The address that the sidecars connect to. */
async function startGrpc(rest: RunsRest): Promise<string> {
  const metrics = createGrpcMetrics(new Registry());
  const roster = createRoster({ ...rest.deps, wallTime: Date.now, now: () => performance.now(), log }, 'plane-1');
  onTestFinished(() => roster.close());
  const { publisher, ingest, ledger } = rest;
  const grpc = await startGrpcServer(
    {
      publisher,
      needs: policyNeeds,
      roster,
      wallTime: Date.now,
      random: Math.random,
      metrics,
      log,
      authenticate: (header) => authenticate(rest.deps, header),
      stillStands: (actor) => stillStands(rest.deps, actor),
      ingest,
      ledger,
      approvalLedger: createApprovalLedger({ ...rest.deps, watch: rest.approvalWatch, log }),
      seats: createStreamSeats({ ofWorkspace: 20, ofKey: 15 }),
    },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(() => grpc.close());
  return `127.0.0.1:${grpc.port}`;
}

/** Creates members, the agent, and the server with its tools; returns the agent's id. */
async function registerAll(rest: RunsRest, mcp: FakeServer): Promise<string> {
  const done = async (...asked: Parameters<RunsRest['ask']>): Promise<void> => {
    const { status, body } = await rest.ask(...asked);
    if (status !== 200) throw new Error(`${asked[0]} ${asked[1]}: ${status} ${JSON.stringify(body)}`);
  };
  const members = new Map(callers.flatMap(({ uid, role }) => (uid === null ? [] : [[uid, role] as const])));
  for (const [uid, role] of members) await done('POST', '/acme/admin/members', { body: { uid, email: `${uid}@acme.test`, role } });
  const agentId = await rest.createAgent({ name: agent, enabledTools: [`${server}.*`], ...caps });
  const tools = Object.fromEntries(methods.map((name) => [name, { requiredScopes: [] }]));
  await done('POST', '/acme/admin/toolServers', { body: { name: server, url: mcp.url, tools } });
  return agentId;
}

/** An MCP server in both revisions, and one that receives the requests to the HTTP tool. */
async function startToolServers(): Promise<{ readonly mcp: FakeServer; readonly http: FakeServer; readonly made: readonly object[] }> {
  const made: object[] = [];
  const [mcp, http] = [await startFakeServer(), await startFakeServer()];
  onTestFinished(() => mcp.close());
  onTestFinished(() => http.close());
  mcp.modern = true;
  mcp.pages = [methods.map((name) => tool(name))];
  mcp.instead = ({ rpc: { id, method, params } }, response) => {
    if (method !== 'tools/call') return false;
    made.push({ method: params?.name, ...params?.arguments });
    const result = { resultType: 'complete', content: [{ type: 'text', text: 'done' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return true;
  };
  http.instead = ({ method, url }, response) => {
    made.push({ method, case: Number(new URL(url, 'http://tool').searchParams.get('case')) });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    return true;
  };
  return { mcp, http, made };
}

interface Following {
  readonly form: 'process' | 'library';
  readonly key: string;
  readonly sidecarId: string;
  readonly controlPlane: string;
}

async function startFollowing(following: Following): Promise<Sidecar> {
  const sidecar = await startSidecar({
    ...following,
    plaintext: true,
    spoolDir: temporaryFolder(),
    durability: 'kernel',
    spoolBytesMax: 256 * 1024 ** 2,
    leaseWaitMs,
    keepInput: true,
    log,
  });
  onTestFinished(() => sidecar.close(0));
  await sidecar.ready(20_000);
  return sidecar;
}

/** The endpoints of a process, as its main.ts opens them. */
async function startProcess(sidecar: Sidecar, toolUrl: string) {
  const toolServers = createUpstreams({
    file: noGatewayFile,
    rules: { allowPrivate: true, commands: [] },
    resolve: systemResolve,
    clock: systemClock,
    env: {},
  });
  sidecar.cell.onSwap((index) => toolServers.follow(index));
  onTestFinished(() => toolServers.close());
  const registry = new Registry();
  const entrance = createEntrance({ sidecar, log: silentLog, metrics: exportSidecar(registry, sidecar), requestsPerSecond });
  onTestFinished(() => entrance.close());
  const { origin, pathname } = new URL(toolUrl);
  const httpTool = {
    origin,
    basePath: pathname,
    headers: {},
    forwardHeaders: [],
    methods: httpMethods,
    nameByMethod: true,
    timeoutMs: 20_000,
  };
  const httpTools = new Map([[server, httpTool]]);
  const app = buildServer({ entrance, registry, log: pino({ level: 'silent' }), toolServers, httpTools });
  onTestFinished(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const failures: unknown[] = [];
  const mesh = await startMesh({ ...entrance, httpTools, failed: (error) => failures.push(error) }, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => mesh.close(0));
  const envoy = createAuthorizationClient(mesh.address, credentials.createInsecure());
  const agentgateway = createExtMcpClient(mesh.address, credentials.createInsecure());
  onTestFinished(() => {
    envoy.close();
    agentgateway.close();
  });
  return { sidecar, origin: address, envoy, agentgateway, failures };
}

/** Resolves as soon as all of them decide by that revision, or a later one. */
function whenAllHold(sidecars: readonly Sidecar[]): (revision: number) => Promise<void> {
  let look = (): void => undefined;
  for (const { cell } of sidecars) cell.onSwap(() => look());
  return (revision) =>
    new Promise((done) => {
      look = () => {
        if (sidecars.every(({ cell }) => (cell.current?.revision ?? -1) >= revision)) done();
      };
      look();
    });
}
