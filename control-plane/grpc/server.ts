// The gRPC server. It authenticates every stream by its key before it reads a message, and with TLS also by the
// client's certificate.
import { type handleBidiStreamingCall, logVerbosity, Server, ServerCredentials, setLogVerbosity, status } from '@grpc/grpc-js';
import {
  type ApproveRequest__Output,
  type ApproveResponse,
  approvalService,
  auditService,
  type LeaseRequest__Output,
  type LeaseResponse,
  policyService,
  quotaService,
  type ShipResponse,
  type SyncRequest__Output,
} from '@tollgate/proto';
import { bounds } from '@tollgate/proto/contract';
import type { Actor } from '../access/rules/actor.ts';
import { mayServe } from '../sidecars/rules/forms.ts';
import { grpcStatusOf } from '../base/errors.ts';
import { type ApprovalEdgeDeps, serveApproval } from './approval.ts';
import { type AuditEdgeDeps, serveShip } from './audit.ts';
import { addressOf, type ConnectionBounds, connectionBounds, type Connections, listenForConnections } from './connections.ts';
import { createTlsCredentials, type TlsSource } from './credentials.ts';
import { createIntake } from './intake.ts';
import { atExpiry, peerProblem } from './peer.ts';
import { encodeSyncResponse, type PolicyEdgeDeps, serveSync } from './policy.ts';
import type { Encodable } from './pushes.ts';
import { type QuotaEdgeDeps, serveLease } from './quota.ts';
import { readOnlyWhileFlowing } from './read-ahead.ts';
import { shareLooks } from './shared-looks.ts';
import { decodeShipRequest, type ShipMessage } from './ship-request.ts';
import { lookMs } from './watch-key.ts';
import { shareTimer } from '../base/shared-timer.ts';
import { createStreamSeats } from './stream-seats.ts';

interface GrpcServerDeps
  extends PolicyEdgeDeps,
    Omit<AuditEdgeDeps, 'looks'>,
    Omit<QuotaEdgeDeps, 'looks'>,
    Omit<ApprovalEdgeDeps, 'looks' | 'approvalSeats'> {
  /** Throws a refusal if the header contains no valid key. */
  readonly authenticate: (authorization: string | undefined, address: string) => Promise<Actor>;
  readonly log: PolicyEdgeDeps['log'];
}

export interface GrpcTls {
  readonly source: TlsSource;
  /** The maximum age of a connection, and how long its streams can take to end after that. */
  readonly connectionMs: number;
  readonly graceMs: number;
}

interface GrpcAddress {
  readonly host: string;
  readonly port: number;
  /** Null: connections are not encrypted. */
  readonly tls?: GrpcTls | null;
  readonly bounds?: ConnectionBounds;
}

/**
 * The maximum number of streams of one connection. A sidecar has one stream on each of its connections. A client with
 * more streams, such as a proxy, must open another connection.
 */
const streamsOfConnection = 100;

export interface GrpcServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function startGrpcServer(
  given: GrpcServerDeps,
  { host, port, tls = null, bounds: ofConnections = connectionBounds }: GrpcAddress,
): Promise<GrpcServer> {
  const deps = { ...given, isTls: tls !== null, letIn: (peer: string) => connections.letIn(peer) };
  // Turns off the log of grpc-js, because everything in it is also thrown.
  setLogVerbosity(logVerbosity.NONE);
  const intake = createIntake();
  const seats = createStreamSeats();
  const approvalSeats = createStreamSeats();
  const beats = shareTimer(bounds.heartbeatMs);
  const looks = shareTimer(lookMs);
  const stillStands = shareLooks(deps.stillStands, () => performance.now());
  const server = new Server({
    'grpc.max_receive_message_length': 2 * bounds.auditBatchBytes + bounds.auditEntryBytes,
    'grpc.max_send_message_length': bounds.grpcMessageBytes,
    'grpc.max_concurrent_streams': streamsOfConnection,
    'grpc.keepalive_time_ms': 20_000,
    'grpc.keepalive_timeout_ms': 10_000,
    ...(tls === null ? {} : { 'grpc.max_connection_age_ms': tls.connectionMs, 'grpc.max_connection_age_grace_ms': tls.graceMs }),
  });
  server.addService(
    { ...policyService, Sync: { ...policyService.Sync, responseSerialize: encodeSyncResponse } },
    {
      Sync: authenticated<SyncRequest__Output, Encodable>(deps, (stream, actor) => serveSync({ ...deps, seats, beats }, stream, actor)),
    },
  );
  server.addService(
    { ...auditService, Ship: { ...auditService.Ship, requestDeserialize: decodeShipRequest } },
    {
      Ship: authenticated<ShipMessage, ShipResponse>(deps, (stream, actor) =>
        serveShip({ ...deps, intake, stillStands, looks }, stream, actor),
      ),
    },
  );
  server.addService(
    { ...quotaService },
    {
      Lease: authenticated<LeaseRequest__Output, LeaseResponse>(deps, (stream, actor) =>
        serveLease({ ...deps, stillStands, looks }, stream, actor),
      ),
    },
  );
  server.addService(
    { ...approvalService },
    {
      Approve: authenticated<ApproveRequest__Output, ApproveResponse>(deps, (stream, actor) =>
        serveApproval({ ...deps, approvalSeats, stillStands, looks }, stream, actor),
      ),
    },
  );
  // Uses our own listeners, because those of grpc-js accept every connection.
  const injector = server.createConnectionInjector(tls === null ? ServerCredentials.createInsecure() : createTlsCredentials(tls.source));
  const connections: Connections = await listenForConnections(given, { host, port, bounds: ofConnections }, (socket) =>
    injector.injectConnection(socket),
  );
  return {
    port: connections.port,
    close: () => {
      connections.close();
      return closeServer(server);
    },
  };
}

/**
 * Closes the server without waiting for streams, because they are open as long as sidecars run. Unacknowledged records
 * stay in the sidecar.
 */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.tryShutdown(() => resolve());
    server.forceShutdown();
    resolve();
  });
}

function authenticated<Request, Response>(
  { authenticate, wallTime, isTls, letIn }: GrpcServerDeps & Pick<Connections, 'letIn'> & { readonly isTls: boolean },
  serve: (stream: Parameters<handleBidiStreamingCall<Request, Response>>[0], actor: Actor) => void,
): handleBidiStreamingCall<Request, Response> {
  return (stream) => {
    // Nothing is read before the key is authenticated.
    stream.pause();
    readOnlyWhileFlowing(stream);
    const [header] = stream.metadata.get('authorization');
    authenticate(typeof header === 'string' ? header : undefined, addressOf(stream.getPeer()))
      .then((actor) => {
        // The stream has already emitted its end events and will not emit them again.
        if (stream.cancelled || stream.destroyed) return;
        if (!mayServe(actor, 'library')) {
          const details = 'the key lacks the scope "sidecar.sync" (for a library: "sidecar.library")';
          return void stream.emit('error', { code: status.PERMISSION_DENIED, details });
        }
        const problem = isTls ? peerProblem(stream, actor.slug) : null;
        if (problem !== null) return void stream.emit('error', problem);
        if (isTls)
          onceOver(
            stream,
            atExpiry(stream, wallTime, (how) => stream.emit('error', how)),
          );
        onceOver(stream, letIn(stream.getPeer()));
        serve(stream, actor);
        stream.resume();
      })
      .catch((error: unknown) => stream.emit('error', grpcStatusOf(error)));
  };
}

function onceOver<Request, Response>(stream: Parameters<handleBidiStreamingCall<Request, Response>>[0], call: () => void): void {
  for (const over of ['end', 'cancelled', 'error', 'close']) stream.once(over, call);
}
