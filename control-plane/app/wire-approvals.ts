// Builds the parts that ask persons about calls: the keys, the watch that tells who waits, the ledger, and the deliveries
// that send messages to channels.
import type { PoolConfig } from 'pg';
import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { OperationDeps } from '../access/operation.ts';
import { createApprovalMetrics } from '../approvals/operations/metrics.ts';
import { expireDue } from '../approvals/operations/expire.ts';
import { type ApprovalLedger, createApprovalLedger } from '../approvals/operations/ledger.ts';
import { createDeliveries } from '../channels/operations/deliveries.ts';
import { countApprovals, countMessagesOf } from '../approvals/operations/list.ts';
import type { ApprovalParts } from '../approvals/operations/parts.ts';
import { createApprovalKeys } from '../approvals/operations/secrets.ts';
import { type ApprovalWatch, createApprovalWatch } from '../approvals/operations/watch.ts';
import { fatigueBounds } from '../approvals/rules/fatigue.ts';
import type { Undo } from '../base/undo.ts';

interface ApprovalWireDeps extends Pick<OperationDeps, 'pool' | 'random' | 'sealer' | 'reach'> {
  readonly connection: PoolConfig;
  readonly registry: Registry;
  readonly log: Pick<Logger, 'warn' | 'error'>;
}

export interface WiredApprovals {
  readonly approvals: ApprovalParts;
  /** Receives the notifications of `approvalChannel`. */
  readonly approvalWatch: ApprovalWatch;
  readonly approvalLedger: ApprovalLedger;
}

export function wireApprovals(deps: ApprovalWireDeps, undo: Undo, fatigue: ApprovalParts['fatigue'] = fatigueBounds): WiredApprovals {
  const { pool, connection, random, reach, registry, log } = deps;
  const metrics = createApprovalMetrics(
    registry,
    () => countApprovals(pool),
    () => countMessagesOf(pool),
  );
  const approvalWatch = createApprovalWatch({ pool, log, expire: () => expireDue({ pool, approvals: { metrics } }) });
  undo.push(() => approvalWatch.close());
  const keys = createApprovalKeys(deps);
  const ended = (result: Parameters<typeof metrics.messaged>[0]): void => metrics.messaged(result);
  const deliveries = createDeliveries({ pool, connection, keys, rules: reach, chance: Math.random, ended, log });
  undo.push(() => deliveries.close());
  const approvals: ApprovalParts = { keys, metrics, fatigue, changes: approvalWatch, deliveries };
  return { approvals, approvalWatch, approvalLedger: createApprovalLedger({ pool, random, approvals, watch: approvalWatch, log }) };
}
