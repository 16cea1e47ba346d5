// A control plane in this process, built as in main.ts: REST by injection, gRPC on loopback, a database of its own. The
// gRPC server can be stopped and started again on the same port.
import { policyNeeds } from '@tollgate/proto/contract';
import { type ChannelCredentials, type ClientDuplexStream, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import {
  type ApproveRequest,
  type ApproveResponse__Output,
  createApprovalClient,
  createAuditClient,
  createPolicyClient,
  createQuotaClient,
  type LeaseRequest,
  type LeaseResponse__Output,
  type ShipRequest,
  type ShipResponse__Output,
  type SyncRequest,
  type SyncResponse__Output,
} from '@tollgate/proto';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import type { AuditBatch } from '../../control-plane/audit/rules/audit-batch.ts';
import { createGrpcMetrics, exportRoster } from '../../control-plane/grpc/metrics.ts';
import { type GrpcServer, type GrpcTls, startGrpcServer } from '../../control-plane/grpc/server.ts';
import { authenticateSidecar, stillStands } from '../../control-plane/access/operations/authenticate.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { maintainPartitions } from '../../control-plane/audit/operations/maintain-partitions.ts';
import { createLedger } from '../../control-plane/quota/operations/ledger.ts';
import { createApprovalLedger } from '../../control-plane/approvals/operations/ledger.ts';
import { approvalChannel } from '../../control-plane/approvals/store/approvals.ts';
import { createRecalls } from '../../control-plane/quota/operations/recalls.ts';
import { createCrowdedKeys } from '../../control-plane/quota/operations/remove-excess-counters.ts';
import { createRoster } from '../../control-plane/sidecars/operations/roster.ts';
import { createStreamSeats } from '../../control-plane/grpc/stream-seats.ts';
import { createPublisher } from '../../control-plane/publish/publisher.ts';
import { watchQuotaPolicy } from '../../control-plane/publish/quota-policy.ts';
import { recallChannel } from '../../control-plane/quota/store.ts';
import { watchRevisions } from '../../control-plane/publish/store/watch-revisions.ts';
import { readWorkspace } from '../../control-plane/workspaces/store/workspace-state.ts';
import type { Sidecar } from '../../sidecar/doors/sidecar.ts';
import { type SidecarOptions, startSidecar } from '../../sidecar/app/start.ts';
import { createRest, field } from '../control-plane/rest.ts';
import { temporaryFolder } from './spools.ts';

export type Plane = Awaited<ReturnType<typeof startPlane>>;

/** The maximum for a workspace, small enough for a test to reach; for a key five fewer. */
export const leaseStreams = 20;

export async function startPlane(overrides: Parameters<typeof createRest>[0] = {}) {
  const rest = await createRest(overrides);
  rest.clock.now = new Date();
  await maintainPartitions(rest.deps, 90);
  const registry = new Registry();
  const metrics = createGrpcMetrics(registry);
  const log = { info: () => undefined, warn: () => undefined };
  const publisher = createPublisher({ read: (id, since) => readWorkspace(rest.pool, id, since), defaults: rest.deps.defaults, log });
  const connection = rest.pool.options;
  const now = (): number => performance.now();
  const recalls = createRecalls({ pool: rest.pool, now, log });
  const watch = watchRevisions({ pool: rest.pool, connection, log }, publisher, {
    [recallChannel]: (payload) => recalls.heard(payload),
    [approvalChannel]: (payload) => rest.approvalWatch.heard(payload),
  });
  const watchPolicy = (workspaceId: number) => watchQuotaPolicy({ publisher, defaults: rest.deps.defaults }, workspaceId);
  const ledger = createLedger({ pool: rest.pool, watchPolicy, recalls, metrics: metrics.quota, crowded: createCrowdedKeys(), now });
  const approvalLedger = createApprovalLedger({ ...rest.deps, watch: rest.approvalWatch, log });
  const ingest = createIngest(rest.deps);
  const newestOf = (workspaceId: number) => {
    const live = publisher.live(workspaceId);
    return live === null ? null : { epoch: live.epoch, number: live.revision };
  };
  const revision = async (): Promise<number> => {
    const { rows } = await rest.pool.query<{ revision: string }>("select revision from workspace where slug = 'acme'");
    return Number(rows[0]?.revision);
  };
  const roster = createRoster({ ...rest.deps, wallTime: Date.now, now, log }, 'plane-1');
  exportRoster(registry, () => roster.countByLag(newestOf));
  let grpc: GrpcServer | null = null;
  const plane = {
    ...rest,
    registry,
    publisher,
    ledger,
    approvalLedger,
    roster,
    watch,
    revision,
    port: 0,
    /** TLS of the gRPC server that is started next; null: none. */
    tls: null as GrpcTls | null,
    wallTime: (): number => Date.now() + plane.aheadMs,
    /** How far the gRPC edge's clock is ahead. */
    aheadMs: 0,
    ingest,
    address: () => `127.0.0.1:${plane.port}`,
    startGrpc: async () => {
      grpc = await startGrpcServer(
        {
          publisher,
          needs: policyNeeds,
          roster,
          wallTime: plane.wallTime,
          random: () => 0.5,
          metrics,
          log,
          authenticate: (...asked) => authenticateSidecar(rest.deps, ...asked),
          stillStands: (actor) => stillStands(rest.deps, actor),
          ingest: (batch: AuditBatch) => plane.ingest(batch),
          ledger,
          approvalLedger,
          seats: createStreamSeats({ ofWorkspace: leaseStreams, ofKey: leaseStreams - 5 }),
        },
        { host: '127.0.0.1', port: plane.port, tls: plane.tls },
      );
      plane.port = grpc.port;
    },
    stopGrpc: async () => {
      await grpc?.close();
      grpc = null;
    },
    /** Writes the workspace's document, and returns the revision that this made. */
    writePolicy: async (document: object): Promise<number> => {
      const { status: code, body } = await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: document });
      if (code !== 200) throw new Error(`the policy was not written: ${code} ${JSON.stringify(body)}`);
      return revision();
    },
    /** A new key, its text and its id. */
    issueKey: async (scopes: readonly string[], fields: object = {}): Promise<{ readonly key: string; readonly id: string }> => {
      const answer = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'sidecar', scopes, ...fields } });
      return { key: field(answer, 'key'), id: field(answer, 'id') };
    },
    close: async () => {
      await plane.stopGrpc();
      await roster.close();
      publisher.close();
      await watch.close();
      await rest.close();
    },
  };
  await plane.startGrpc();
  return plane;
}

/** A sidecar of that control plane, and what it logs. */
export async function followPlane(plane: Pick<Plane, 'address'>, options: Pick<SidecarOptions, 'key'> & Partial<SidecarOptions>) {
  const events: { readonly message: string; readonly fields: object }[] = [];
  let onEvent = (): void => {};
  const note = (fields: object, message: string): void => {
    events.push({ message, fields });
    onEvent();
  };
  const sidecar: Sidecar = await startSidecar({
    form: 'process',
    controlPlane: plane.address(),
    plaintext: true,
    spoolDir: temporaryFolder(),
    durability: 'kernel',
    spoolBytesMax: 64 * 1024 * 1024,
    keepInput: true,
    sidecarId: 'sidecar-1',
    log: { info: note, warn: note },
    ...options,
  });
  let closed = false;
  const close = async (deadlineMs = 0): Promise<void> => {
    if (closed) return;
    closed = true;
    await sidecar.close(deadlineMs);
  };
  onTestFinished(() => close());
  await sidecar.ready(20_000);
  /** Resolves as soon as the sidecar decides by that revision, or a later one. */
  const reaches = (revision: number): Promise<void> =>
    new Promise((done) => {
      const look = (): void => {
        if ((sidecar.cell.current?.revision ?? -1) >= revision) done();
      };
      sidecar.cell.onSwap(look);
      look();
    });
  /** Resolves once a message of that kind was logged, since the sidecar started. */
  const logs = (message: string): Promise<object> =>
    new Promise((done) => {
      onEvent = () => {
        const found = events.find((event) => event.message === message);
        if (found !== undefined) done(found.fields);
      };
      onEvent();
    });
  return { sidecar, close, reaches, logs, events };
}

/** One end of a stream, controlled by a test: the received messages, and how it ended. */
export interface Wire<Request, Response> {
  write(request: Request): void;
  /** The next message that is not a heartbeat. */
  next(): Promise<Response>;
  /** All received messages, including heartbeats. */
  readonly received: readonly Response[];
  /** The status that it ended with. */
  readonly ended: Promise<string>;
  close(): void;
}

/** Within a test it is closed at the end of the test; elsewhere the code that opened it closes it. */
function wireOf<Request, Response>(
  stream: ClientDuplexStream<Request, Response>,
  client: { close(): void },
  skips: (message: Response) => boolean,
): Wire<Request, Response> {
  const received: Response[] = [];
  const queue: Response[] = [];
  let waiting: ((message: Response) => void) | null = null;
  stream.on('data', (message: Response) => {
    received.push(message);
    if (skips(message)) return;
    if (waiting === null) queue.push(message);
    else waiting(message);
    waiting = null;
  });
  const ended = new Promise<string>((resolve) => {
    stream.on('error', ({ code, details }: ServiceError) => resolve(`${status[code]}: ${details}`));
    stream.on('end', () => setImmediate(() => resolve('ended')));
  });
  const close = (): void => {
    stream.cancel();
    client.close();
  };
  try {
    onTestFinished(close);
  } catch {
    // Opened outside of a test: the file closes it itself.
  }
  return {
    write: (request) => void stream.write(request),
    next: () => {
      const message = queue.shift();
      if (message !== undefined) return Promise.resolve(message);
      return new Promise((resolve, reject) => {
        waiting = resolve;
        void ended.then((how) => reject(new Error(`the stream ended before the next message: ${how}`)));
      });
    },
    received,
    ended,
    close,
  };
}

function metadataOf(key: string | null): Metadata {
  const metadata = new Metadata();
  if (key !== null) metadata.set('authorization', `Bearer ${key}`);
  return metadata;
}

const plainText: ChannelCredentials = credentials.createInsecure();

export function openSync(plane: Pick<Plane, 'address'>, key: string | null, by = plainText): Wire<SyncRequest, SyncResponse__Output> {
  const client = createPolicyClient(plane.address(), by, {});
  return wireOf<SyncRequest, SyncResponse__Output>(client.sync(metadataOf(key)), client, ({ message }) => message === 'heartbeat');
}

export function openShip(plane: Pick<Plane, 'address'>, key: string | null, by = plainText): Wire<ShipRequest, ShipResponse__Output> {
  const client = createAuditClient(plane.address(), by, {});
  return wireOf<ShipRequest, ShipResponse__Output>(client.ship(metadataOf(key)), client, () => false);
}

export function openLease(plane: Pick<Plane, 'address'>, key: string | null, by = plainText): Wire<LeaseRequest, LeaseResponse__Output> {
  const client = createQuotaClient(plane.address(), by, {});
  return wireOf<LeaseRequest, LeaseResponse__Output>(client.lease(metadataOf(key)), client, () => false);
}

export function openApprove(
  plane: Pick<Plane, 'address'>,
  key: string | null,
  by = plainText,
): Wire<ApproveRequest, ApproveResponse__Output> {
  const client = createApprovalClient(plane.address(), by, {});
  return wireOf<ApproveRequest, ApproveResponse__Output>(client.approve(metadataOf(key)), client, () => false);
}
