// Builds the server that sidecars connect to: the streams of policy, audit entries and limits, and the list of connected sidecars.
import { hostname } from 'node:os';
import type { RevisionName } from '@tollgate/proto/contract';
import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { OperationDeps } from '../access/operation.ts';
import { authenticateSidecar, stillStands } from '../access/operations/authenticate.ts';
import type { Undo } from '../base/undo.ts';
import { exportRoster, type GrpcMetrics } from '../grpc/metrics.ts';
import { type GrpcServer, type GrpcTls, startGrpcServer } from '../grpc/server.ts';
import { createStreamSeats } from '../grpc/stream-seats.ts';
import type { LiveWorkspace } from '../publish/publisher.ts';
import { createRoster } from '../sidecars/operations/roster.ts';
import { explainTaken } from './address-taken.ts';
import type { Config } from './config.ts';
import type { WiredApprovals } from './wire-approvals.ts';
import type { PolicyParts } from './wire-policy.ts';

interface GrpcDeps extends OperationDeps, Pick<PolicyParts, 'publisher' | 'ledger'>, Pick<WiredApprovals, 'approvalLedger'> {
  readonly config: Pick<Config, 'host' | 'grpcPort'>;
  readonly ingest: Parameters<typeof startGrpcServer>[0]['ingest'];
  /** Null: sidecars connect in plain text. */
  readonly tls: GrpcTls | null;
  readonly metrics: GrpcMetrics;
  readonly registry: Registry;
  readonly log: Logger;
}

/** Starts the server. Rejects with `AddressTaken` if another program has the port. */
export async function wireGrpc(deps: GrpcDeps, undo: Undo): Promise<GrpcServer> {
  const { config, publisher, ledger, approvalLedger, needs, ingest, tls, metrics, registry, log } = deps;
  const roster = createRoster({ ...deps, wallTime: Date.now, now: () => performance.now(), log }, `${hostname()}-${process.pid}`);
  undo.push(() => roster.close());
  exportRoster(registry, () => roster.countByLag((workspaceId) => nameOf(publisher.live(workspaceId))));
  const server = await startGrpcServer(
    {
      publisher,
      needs,
      roster,
      wallTime: Date.now,
      random: Math.random,
      metrics,
      log,
      authenticate: (header, address) => authenticateSidecar(deps, header, address),
      stillStands: (actor) => stillStands(deps, actor),
      ingest,
      ledger,
      approvalLedger,
      seats: createStreamSeats(),
    },
    { host: config.host, port: config.grpcPort, tls },
  ).catch(explainTaken(config.host, config.grpcPort, 'TOLLGATE_GRPC_PORT'));
  undo.push(() => server.close());
  return server;
}

const nameOf = (live: LiveWorkspace | null): RevisionName | null => (live === null ? null : { epoch: live.epoch, number: live.revision });
