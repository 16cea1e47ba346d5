// Exports how many approvals wait, for how long, and how they end.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ApprovalMetrics } from './parts.ts';

type CountMessages = () => Promise<{ readonly waiting: number; readonly failed: number }>;
type CountPending = () => Promise<{ readonly pending: number; readonly oldestSeconds: number }>;

/** `count` is called when the metrics are read. If it rejects, the last values stay. */
export function createApprovalMetrics(registry: Registry, count: CountPending, countMessages: CountMessages): ApprovalMetrics {
  const registers = [registry];
  exportPending(registers, count);
  exportMessages(registers, countMessages);
  const asks = new Counter({
    name: 'tollgate_approval_asks_total',
    help: 'Asks of sidecars, by result: new, met, refused',
    labelNames: ['result'],
    registers,
  });
  const decided = new Counter({
    name: 'tollgate_approvals_decided_total',
    help: 'Approvals that are no longer pending, by outcome: approved, denied, expired, cancelled',
    labelNames: ['outcome'],
    registers,
  });
  const waited = new Histogram({
    name: 'tollgate_approval_answer_seconds',
    help: 'Time from an ask to the answer of a person',
    buckets: [5, 15, 30, 60, 120, 300, 900, 3_600, 14_400, 86_400, 604_800],
    registers,
  });
  const claims = new Counter({
    name: 'tollgate_approval_claims_total',
    help: 'Claims of uses, by result: granted, refused',
    labelNames: ['result'],
    registers,
  });
  const messages = new Counter({
    name: 'tollgate_approval_message_attempts_total',
    help: 'Attempts to send a message about an approval, by result: sent, retried, failed',
    labelNames: ['result'],
    registers,
  });
  return {
    asked: (result) => asks.inc({ result }),
    decided: (outcome, waitedMs) => {
      decided.inc({ outcome });
      if (waitedMs !== null) waited.observe(waitedMs / 1_000);
    },
    claimed: (granted) => claims.inc({ result: granted ? 'granted' : 'refused' }),
    messaged: (result) => messages.inc({ result }),
  };
}

function exportMessages(registers: Registry[], count: CountMessages): void {
  const messages = new Gauge({
    name: 'tollgate_approval_messages',
    help: 'Messages about approvals in the whole database, by state: waiting to be sent, failed',
    labelNames: ['state'],
    registers,
    async collect() {
      const now = await count().catch(() => null);
      if (now === null) return;
      messages.set({ state: 'waiting' }, now.waiting);
      messages.set({ state: 'failed' }, now.failed);
    },
  });
}

function exportPending(registers: Registry[], count: CountPending): void {
  let last = { pending: 0, oldestSeconds: 0 };
  let reading: Promise<void> | null = null;
  // Both gauges are read at the same time, and share one query.
  const read = (): Promise<void> =>
    (reading ??= count()
      .then(
        (now) => void (last = now),
        () => undefined,
      )
      .finally(() => {
        reading = null;
      }));
  const pending = new Gauge({
    name: 'tollgate_approvals_pending',
    help: 'Approvals that wait for a person, in the whole database',
    registers,
    async collect() {
      await read();
      pending.set(last.pending);
    },
  });
  const oldest = new Gauge({
    name: 'tollgate_approvals_oldest_seconds',
    help: 'Age of the oldest approval that waits for a person; 0: none waits',
    registers,
    async collect() {
      await read();
      oldest.set(last.oldestSeconds);
    },
  });
}
