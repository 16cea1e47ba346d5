// A control plane with `AuditService` only, on loopback: it keeps each received record once, in order, and misbehaves
// on request.
import { credentials, Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import {
  type AuditServiceClient,
  type AuditServiceHandlers,
  auditService,
  type Batch__Output,
  createAuditClient,
  type ShipRequest__Output,
  type ShipResponse,
} from '@tollgate/proto';
import { onTestFinished } from 'vitest';
import type { ShipStream } from '../../sidecar/engine/ship/shipment.ts';

export type AuditStream = ServerDuplexStream<ShipRequest__Output, ShipResponse>;

export interface AuditServer {
  readonly port: number;
  /** `sequence: entry` or `sequence lost`, by spool. */
  readonly committed: ReadonlyMap<string, readonly string[]>;
  /** The sizes of all batches, including replayed ones. */
  readonly batchSizes: readonly number[];
  /** Of each batch, whether it can wait for batches of others. */
  readonly canWait: readonly boolean[];
  readonly hellos: readonly string[];
  /** Violations of the contract: holes, too many unacknowledged records, batches that are too large. */
  readonly violations: readonly string[];
  credit: number;
  /** How to handle a batch; by default it is committed and acknowledged. */
  onBatch: (stream: AuditStream, batch: Batch__Output) => void;
  onHello: (stream: AuditStream) => void;
  commit(batch: Batch__Output): number;
  acknowledge(stream: AuditStream, spoolId: string): void;
  /** Resolves when this many records of all spools are committed. */
  hasCommitted(records: number): Promise<void>;
  /** Ends a stream as a failing server does: later messages on it are ignored. */
  fail(stream: AuditStream, code?: status): void;
  readonly openStream: () => ShipStream;
}

export async function startAuditServer(port = 0): Promise<AuditServer> {
  const committed = new Map<string, string[]>();
  const batchSizes: number[] = [];
  const canWait: boolean[] = [];
  const hellos: string[] = [];
  const violations: string[] = [];
  const failed = new WeakSet<AuditStream>();
  let waiting: { readonly records: number; readonly resolve: () => void }[] = [];

  const total = (): number => [...committed.values()].reduce((sum, records) => sum + records.length, 0);

  function receive(stream: AuditStream, unacknowledged: Map<string, number>, { hello, batch }: ShipRequest__Output): void {
    if (failed.has(stream)) return;
    if (hello) {
      hellos.push(hello.sidecarId);
      audit.onHello(stream);
      return;
    }
    if (!batch) return;
    const newest = batch.records.at(-1);
    const last = newest?.lost?.last ?? newest?.sequence ?? 0;
    batchSizes.push(batch.records.length);
    canWait.push(batch.canWait);
    unacknowledged.set(batch.spoolId, Math.max(last, unacknowledged.get(batch.spoolId) ?? 0));
    const inFlight = [...unacknowledged].reduce((sum, [id, sent]) => sum + Math.max(0, sent - acknowledgedOf(id)), 0);
    if (inFlight > audit.credit) violations.push(`${inFlight} records for a credit of ${audit.credit}`);
    if (batch.records.length > 1_000) violations.push(`${batch.records.length} records in a batch`);
    audit.onBatch(stream, batch);
  }

  const acknowledged = new Map<string, number>();
  const acknowledgedOf = (spoolId: string): number => acknowledged.get(spoolId) ?? 0;

  const server = new Server({ 'grpc.max_receive_message_length': 4 * 1024 * 1024 });
  const handlers: AuditServiceHandlers = {
    Ship(stream) {
      const unacknowledged = new Map<string, number>();
      stream.on('data', (request: ShipRequest__Output) => receive(stream, unacknowledged, request));
      stream.on('end', () => stream.end());
      stream.on('error', () => {});
    },
  };
  server.addService(auditService, handlers);
  const boundPort = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  const client: AuditServiceClient = createAuditClient(`127.0.0.1:${boundPort}`, credentials.createInsecure(), {});
  onTestFinished(() => {
    client.close();
    server.forceShutdown();
  });

  const audit: AuditServer = {
    port: boundPort,
    committed,
    batchSizes,
    canWait,
    hellos,
    violations,
    credit: 4_000,
    onHello: (stream) => stream.write({ credit: { records: audit.credit } }),
    onBatch(stream, batch) {
      audit.commit(batch);
      audit.acknowledge(stream, batch.spoolId);
    },
    commit({ spoolId, records }) {
      const kept = committed.get(spoolId) ?? [];
      committed.set(spoolId, kept);
      for (const { sequence, content, entry, lost } of records) {
        if (sequence > kept.length + 1) violations.push(`${spoolId}: ${sequence} after ${kept.length}`);
        if (sequence === kept.length + 1 && content === 'entry') kept.push(`${sequence}: ${entry?.toString()}`);
        for (let at = Math.max(sequence, kept.length + 1); at <= (lost?.last ?? 0); at += 1) kept.push(`${at} lost: ${lost?.reason}`);
      }
      const now = total();
      for (const waiter of waiting) if (now >= waiter.records) waiter.resolve();
      waiting = waiting.filter((waiter) => waiter.records > now);
      return kept.length;
    },
    acknowledge(stream, spoolId) {
      const sequence = committed.get(spoolId)?.length ?? 0;
      acknowledged.set(spoolId, sequence);
      stream.write({ acknowledged: { spoolId, sequence } });
    },
    hasCommitted: (records) =>
      new Promise((resolve) => {
        if (total() >= records) resolve();
        else waiting.push({ records, resolve });
      }),
    fail(stream, code = status.UNAVAILABLE) {
      failed.add(stream);
      stream.emit('error', Object.assign(new Error('failed on request'), { code, details: 'failed on request' }));
    },
    openStream: () => client.ship(),
  };
  return audit;
}
