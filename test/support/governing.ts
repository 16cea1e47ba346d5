// A sidecar without a control plane: a cell that receives snapshots from the test, a real spool in a temporary folder,
// and clocks that the test advances. The library's runs and the hook endpoint are tested with it.
import type { AuditEntry } from '@tollgate/proto/contract';
import { type DestinationStream, pino } from 'pino';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { exportSidecar } from '../../sidecar/app/metrics/sidecar.ts';
import { createOwedEntries } from '../../sidecar/engine/govern/owed-entries.ts';
import { createEntrance } from '../../sidecar/doors/entrance/entrance.ts';
import { buildServer } from '../../sidecar/doors/server.ts';
import { logSerializers } from '../../sidecar/app/log-serializers.ts';
import { type Counters, createCounters } from '../../sidecar/engine/limits/counters.ts';
import type { ApprovalKeeper } from '../../sidecar/engine/approvals/approval-keeper.ts';
import type { Clock } from '../../sidecar/base/clock.ts';
import type { Sidecar } from '../../sidecar/doors/sidecar.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import type { Durability } from '../../sidecar/engine/spool/append.ts';
import { AuditUnavailable } from '../../sidecar/engine/spool/unavailable.ts';
import type { CallTracing } from '../../sidecar/telemetry/tracing.ts';
import { snapshotMessage, type World } from './snapshots.ts';
import { openTestSpool, readAll, temporaryFolder } from './spools.ts';

interface Options {
  readonly world?: World | null;
  readonly durability?: Durability;
  readonly keepInput?: boolean;
  /** Absent: its own windows, without a ledger. */
  readonly counters?: Counters;
  /** Absent: the clock of `time`. */
  readonly clock?: Pick<Clock, 'now' | 'wallTime'>;
  /** Absent: no one can be asked. */
  readonly approvals?: ApprovalKeeper;
}

export interface TestSidecar extends Sidecar {
  readonly time: { now: number; wallTime: number };
  /** Offers the next revision; throws where it is refused. */
  take(world: World): void;
  /**
   * The reason why writes to the spool fail now: no space, or an internal error; or they are written, but not
   * confirmed.
   */
  spoolFault: 'full' | 'bug' | 'unconfirmed' | null;
  /** Everything recorded so far, in order. */
  entries(): Promise<readonly AuditEntry[]>;
}

export async function createTestSidecar({
  world = {},
  durability = 'kernel',
  keepInput = true,
  counters = createCounters(60),
  clock: ownClock,
  approvals,
}: Options = {}): Promise<TestSidecar> {
  const time = { now: 1_000_000, wallTime: Date.UTC(2026, 5, 25, 12) };
  const clock = ownClock ?? { now: () => time.now, wallTime: () => time.wallTime };
  const cell = createPolicyCell(clock, 'acme');
  cell.onSwap(({ settings }) => counters.setWindow(settings.windowSeconds));
  const spool = await openTestSpool({ folder: temporaryFolder(), durability: durability === 'remote' ? 'kernel' : durability });
  onTestFinished(() => spool.close());
  let ids = 0;
  let outageDecisions = 0;
  let revision = 0;
  const fault = (): Error | null => {
    if (sidecar.spoolFault === null || sidecar.spoolFault === 'unconfirmed') return null;
    return sidecar.spoolFault === 'bug' ? new Error('a bug') : new AuditUnavailable('unwritable', 'no space left on device');
  };
  const sidecar: TestSidecar = {
    time,
    cell,
    counters,
    govern: {
      cell,
      clock,
      newId: () => `id-${(ids += 1)}`,
      keepInput,
      onOutage: () => {
        outageDecisions += 1;
      },
      ...(approvals === undefined ? {} : { approvals }),
    },
    spool: {
      append: (json) => {
        const problem = fault();
        if (problem !== null) throw problem;
        return spool.append(json);
      },
      appendAsync: async (json) => {
        const problem = fault();
        if (problem !== null) throw problem;
        const sequence = await spool.appendAsync(json);
        if (sidecar.spoolFault === 'unconfirmed') throw new AuditUnavailable('unconfirmed', 'the entry is not confirmed');
        return sequence;
      },
    },
    durability,
    owed: createOwedEntries(),
    unrecorded: 0,
    unconfirmed: 0,
    get outageDecisions() {
      return outageDecisions;
    },
    spoolFault: null,
    take: (next) => {
      revision += 1;
      cell.heard(revision);
      const offered = cell.offer(snapshotMessage({ revision, ...next }));
      if (!offered.ok) throw new Error(`${offered.code}: ${offered.message}`);
    },
    entries: async () => {
      // Work in progress in this turn of the event loop is written at the end of it, or of the next.
      for (let turn = 0; turn < 2; turn += 1) await new Promise((ended) => setImmediate(ended));
      return (await readAll(spool.backlog)).map((record) =>
        'entry' in record ? parseEntry(record.entry.toString()) : lost(record.lost.reason),
      );
    },
    approvals: approvals ?? null,
    linkCredentials: null,
    leasing: {
      status: () => ({ link: 'open', problem: null, counters: 0, waiting: 0, waits: 0, dryDenials: 0, granted: 0, used: 0 }),
      onWaited: () => undefined,
    },
    shipping: () => ({
      link: 'connected',
      records: 0,
      bytes: 0,
      oldestAgeMs: 0,
      lost: 0,
      adopted: 0,
      refusedSpools: 0,
      refusedRecords: 0,
      lastError: undefined,
    }),
    notReady: () => (cell.current === null ? ['no policy is held'] : []),
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  if (world !== null) sidecar.take(world);
  return sidecar;
}

// Parses what `entryText` writes; the tests that read it check its fields.
const parseEntry = (text: string): AuditEntry => JSON.parse(text) as AuditEntry;

const lost = (why: string): never => {
  throw new Error(`an entry was lost: ${why}`);
};

/** The process's HTTP server over it, not listening; `lines` is all that it logs, at the most verbose level. */
export function createTestServer(
  sidecar: Sidecar,
  {
    requestsPerSecond,
    tracing,
    ...doors
  }: Pick<Parameters<typeof buildServer>[0], 'httpTools' | 'toolServers' | 'requestTimeoutMs' | 'hookStatus'> & {
    readonly requestsPerSecond?: number;
    readonly tracing?: CallTracing;
  } = {},
) {
  const lines: string[] = [];
  const stream: DestinationStream = { write: (line) => void lines.push(line) };
  const registry = new Registry();
  const log = pino({ level: 'trace', serializers: logSerializers }, stream);
  const metrics = exportSidecar(registry, sidecar);
  const entrance = createEntrance({ sidecar, metrics, log, tracing, ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }) });
  const app = buildServer({ entrance, registry, log, ...doors });
  onTestFinished(() => app.close());
  return { app, entrance, registry, lines };
}
