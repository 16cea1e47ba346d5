// A control plane with `PolicyService` only, on loopback, which sends only what a test says.
import { Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import {
  type PolicyServiceHandlers,
  policyService,
  type Status__Output,
  type SyncRequest__Output,
  type SyncResponse,
} from '@tollgate/proto';
import { onTestFinished } from 'vitest';

export interface PolicyStream {
  readonly authorization: string;
  /** SHA-256 of the sidecar's client certificate; null: none. */
  readonly shown: string | null;
  /** The next message of the sidecar that is not a status. */
  next(): Promise<SyncRequest__Output>;
  /** The next status of the sidecar. */
  nextStatus(): Promise<Status__Output>;
  send(message: SyncResponse): void;
  fail(code: status, details: string): void;
  end(): void;
  /** Resolves once the sidecar has disconnected. */
  readonly gone: Promise<void>;
}

export interface PolicyServer {
  readonly address: string;
  /** The next stream that a sidecar opens. */
  accept(): Promise<PolicyStream>;
  stop(): void;
}

/** Every item is returned once, in order; an early reader waits. */
function createQueue<T>() {
  const items: T[] = [];
  const waiting: ((item: T) => void)[] = [];
  return {
    put: (item: T): void => {
      const next = waiting.shift();
      if (next === undefined) items.push(item);
      else next(item);
    },
    take: (): Promise<T> => {
      const item = items.shift();
      return item === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(item);
    },
  };
}

interface Options {
  readonly port?: number;
  /** Absent: plain text. */
  readonly credentials?: ServerCredentials;
  /** The bytes that are sent for a message. */
  readonly encode?: (message: SyncResponse) => Buffer;
}

export async function startPolicyServer({
  port = 0,
  encode = policyService.Sync.responseSerialize,
  credentials = ServerCredentials.createInsecure(),
}: Options = {}): Promise<PolicyServer> {
  const streams = createQueue<PolicyStream>();
  const handlers: PolicyServiceHandlers = { Sync: (stream) => streams.put(streamOf(stream)) };
  const server = new Server({ 'grpc.max_send_message_length': -1 });
  server.addService({ ...policyService, Sync: { ...policyService.Sync, responseSerialize: encode } }, handlers);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, actual) => (error === null ? resolve(actual) : reject(error)));
  });
  const stop = (): void => server.forceShutdown();
  onTestFinished(stop);
  return { address: `127.0.0.1:${bound}`, accept: streams.take, stop };
}

function streamOf(stream: ServerDuplexStream<SyncRequest__Output, SyncResponse>): PolicyStream {
  const messages = createQueue<SyncRequest__Output>();
  const statuses = createQueue<Status__Output>();
  stream.on('data', (message: SyncRequest__Output) => {
    if (message.status == null) messages.put(message);
    else statuses.put(message.status);
  });
  const gone = new Promise<void>((resolve) => {
    stream.on('cancelled', resolve);
    stream.on('end', resolve);
    stream.on('error', () => resolve());
  });
  return {
    shown: stream.getAuthContext().sslPeerCertificate?.fingerprint256 ?? null,
    authorization: String(stream.metadata.get('authorization')[0]),
    next: messages.take,
    nextStatus: statuses.take,
    send: (message) => void stream.write(message),
    fail: (code, details) => void stream.emit('error', { code, details }),
    end: () => void stream.end(),
    gone,
  };
}
