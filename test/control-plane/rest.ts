// The REST surface over a database of its own, with a clock that the test controls.
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { AppError, policyNeeds, type Role, type Scope } from '@tollgate/proto/contract';
import { noPolicy } from '@tollgate/sidecar/hooks';
import { Pool } from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { request } from 'undici';
import { expireDue } from '../../control-plane/approvals/operations/expire.ts';
import { createDeliveries } from '../../control-plane/channels/operations/deliveries.ts';
import { type ApprovalParts, noApprovalMetrics } from '../../control-plane/approvals/operations/parts.ts';
import { createApprovalKeys } from '../../control-plane/approvals/operations/secrets.ts';
import { createApprovalWatch } from '../../control-plane/approvals/operations/watch.ts';
import { fatigueBounds } from '../../control-plane/approvals/rules/fatigue.ts';
import { createCatalogue } from '../../control-plane/agents/rules/catalogue.ts';
import { microcentsFromCents } from '../../control-plane/runs/rules/money.ts';
import { createKeyLookups } from '../../control-plane/access/operations/key-lookups.ts';
import { createSessionLinks } from '../../control-plane/access/operations/session-link.ts';
import { createApp } from '../../control-plane/http/app.ts';
import type { AppDeps } from '../../control-plane/http/deps.ts';
import { streamBounds } from '../../control-plane/http/streams.ts';
import { createNotary, newNotaryKey } from '../../control-plane/audit/operations/notary.ts';
import { createStartRun } from '../../control-plane/runs/operations/start-run.ts';
import { createDiscover } from '../../control-plane/tool-servers/operations/discover.ts';
import { createWorkspace } from '../../control-plane/workspaces/operations/create-workspace.ts';
import { seedFirstWorkspace } from '../../control-plane/workspaces/operations/seed-first-workspace.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { watchHeads } from '../../control-plane/audit/store/watch-heads.ts';
import { type ApiDocument, createApiDocument } from '../support/api-document.ts';
import { createRevisionChanges } from '../../control-plane/publish/revision-changes.ts';
import { createTestDatabase } from '../support/database.ts';
import { createSeats } from '../../control-plane/base/turns.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, number | string | string[] | undefined>>;
}

interface Question {
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';

export const operatorKey = 'operator-key-of-at-least-32-characters';

export async function createRest(
  overrides: Partial<
    Pick<
      AppDeps,
      | 'catalogue'
      | 'defaults'
      | 'readiness'
      | 'warnings'
      | 'issuer'
      | 'config'
      | 'reach'
      | 'sealer'
      | 'notary'
      | 'authorities'
      | 'streamBounds'
      | 'dailyCap'
      | 'approvals'
      | 'registry'
      | 'startRun'
      | 'hooks'
      | 'inTrace'
      | 'consoleFolder'
    >
  > = {},
) {
  const database = await createTestDatabase();
  const clock = { now: new Date('2026-06-25T12:00:00.000Z') };
  const lines: string[] = [];
  const readingPool = new Pool({ ...database.connection, max: 2 });
  readingPool.on('error', () => {});
  const heads = watchHeads(database.pool);
  const revisions = createRevisionChanges();
  const approvalWatch = createApprovalWatch({
    pool: database.pool,
    log: { warn: () => undefined },
    expire: () => expireDue({ pool: database.pool, approvals: { metrics: noApprovalMetrics } }),
  });
  const sealer = overrides.sealer ?? null;
  const reach = overrides.reach ?? createReach({ allowPrivate: false, commands: [] }, {});
  const keys = createApprovalKeys({ pool: database.pool, random: randomBytes, sealer });
  const workerLog: string[] = [];
  const logWorker = (fields: object, message: string): void => void workerLog.push(`${message} ${JSON.stringify(fields)}`);
  const openDeliveries = () =>
    createDeliveries({
      pool: database.pool,
      connection: database.connection,
      keys,
      rules: reach,
      chance: () => 0,
      ended: () => undefined,
      log: { warn: logWorker, error: logWorker },
    });
  const deliveries = openDeliveries();
  const approvals: ApprovalParts = {
    keys,
    metrics: noApprovalMetrics,
    fatigue: fatigueBounds,
    changes: approvalWatch,
    deliveries,
  };
  const deps: AppDeps = {
    pool: database.pool,
    readingPool,
    heads,
    revisions,
    clock: () => clock.now,
    keyLookups: createKeyLookups({ pool: database.pool, clock: () => clock.now }),
    random: randomBytes,
    defaults: { defaultPermission: 'allow', windowSeconds: 60 },
    needs: policyNeeds,
    catalogue: createCatalogue([]),
    reach,
    discover: createDiscover(reach),
    streamBounds,
    sealer: null,
    authorities: () => Promise.reject(new AppError({ code: 'not_found', publicMessage: 'there are no authorities here' })),
    notary: createNotary(newNotaryKey(), 90),
    dailyCap: microcentsFromCents(5_000),
    approvals,
    config: { publicUrl: null, operatorKey, patchPerMinute: 30, hookStatus: 'decision', traceUrl: null },
    issuer: null,
    tls: null,
    links: createSessionLinks({ clock: () => clock.now, random: randomBytes }),
    consoleFolder: null,
    startRun: noRuns,
    hooks: { enter: () => noPolicy, crowded: () => undefined, decided: () => undefined },
    inTrace: (_headers, work) => work(),
    log: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
    registry: new Registry(),
    readiness: () => [],
    warnings: () => [],
    ...overrides,
  };
  const seeded = await seedFirstWorkspace(deps, { workspace: 'acme', ownerEmail: 'owner@acme.test', ownerKey: null });
  const owner = seeded.kind === 'created' ? (seeded.key ?? '') : '';
  const other = (await createWorkspace(deps, { slug: 'other', owner: { uid: 'olga', email: 'olga@other.test' } })).key;
  const app = createApp(deps);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const document = await documentOf(origin, deps.config);

  /** Sends a request over real HTTP; every answer is validated by the API document. */
  async function ask(method: Method, url: string, { key = owner, body, headers = {} }: Question = {}): Promise<Answer> {
    const sent = {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined || isRaw(body) ? {} : { 'content-type': 'application/json' }),
      ...headers,
    };
    const payload = body === undefined ? null : isRaw(body) ? body : JSON.stringify(body);
    const { statusCode: status, headers: answered, body: stream } = await request(origin + url, { method, headers: sent, body: payload });
    const type = String(answered['content-type'] ?? '').split(';', 1)[0] ?? '';
    // A stream would not end.
    const text = type === 'text/event-stream' ? await leave(stream) : await stream.text();
    const answer = { status, body: type === 'application/json' && text !== '' ? (JSON.parse(text) as unknown) : text, headers: answered };
    if (method !== 'HEAD' && method !== 'OPTIONS') document.check({ method, url, type, ...answer });
    return answer;
  }

  /** A key of a member with that role, made at its first use. */
  async function keyOf(role: Role, scopes: readonly Scope[] = ['*'], uid = `${role}-1`): Promise<string> {
    await ask('POST', '/acme/admin/members', { body: { uid, email: `${uid}@acme.test`, role } });
    return field(await ask('POST', '/acme/admin/keys', { body: { name: 'test', scopes, uid } }), 'key');
  }

  async function createAgent(body: object = {}): Promise<string> {
    return field(await ask('POST', '/api/v1/agents', { body: { name: 'agent', model: 'demo/echo', ...body } }), 'id');
  }

  const close = async (): Promise<void> => {
    await app.close();
    await deliveries.close();
    approvalWatch.close();
    heads.close();
    await readingPool.end();
    await database.close();
  };
  return {
    app,
    origin,
    document,
    deps,
    approvalWatch,
    connection: database.connection,
    revisions,
    deliveries,
    openDeliveries,
    workerLog,
    pool: database.pool,
    clock,
    lines,
    owner,
    other,
    ask,
    keyOf,
    createAgent,
    close,
  };
}

const documents = new Map<string, ApiDocument>();

/** Built once: it depends only on the configuration, and its validators take longer than most tests. */
async function documentOf(origin: string, config: AppDeps['config']): Promise<ApiDocument> {
  const key = JSON.stringify(config);
  const known = documents.get(key) ?? createApiDocument(await (await request(`${origin}/openapi.json`)).body.json());
  documents.set(key, known);
  return known;
}

/** For tests without runs; runs.ts builds those with runs. */
const noRuns = createStartRun(
  { start: () => Promise.reject(new AppError({ code: 'unavailable', publicMessage: 'nothing runs here' })) },
  { atOnce: 1, seats: createSeats({ each: 1 }) },
);

export type Rest = Awaited<ReturnType<typeof createRest>>;

async function leave(stream: Readable): Promise<string> {
  stream.on('error', () => undefined).destroy();
  return '';
}

/** Text and bytes are sent as they are, an object as JSON. */
const isRaw = (body: unknown): body is string | Buffer => typeof body === 'string' || Buffer.isBuffer(body);

/** A text in an answer's body. */
export function field({ status, body }: Answer, name: string): string {
  const value = typeof body === 'object' && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined;
  if (typeof value !== 'string') throw new Error(`no text ${name} in ${status} ${JSON.stringify(body)}`);
  return value;
}

export const errorOf = (answer: Answer): string => field(answer, 'error');
