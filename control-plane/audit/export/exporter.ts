// Sends every audit log to a collector, at least once. One of all control planes sends; the others are on standby.
//
// States: standby (asks for the lease each second), sending (renews the lease), ending (pending work may finish for a
// moment) and ended. A lease that is not renewed expires, and another control plane continues from the stored cursors.
// A control plane that was frozen in the meantime detects the takeover when it tries to move a cursor.
import { setTimeout as delay } from 'node:timers/promises';
import { loggable, reasonOf } from '../../base/loggable.ts';
import type { Deliver } from '../rules/exported.ts';
import { readItems } from '../store/audit-chain.ts';
import { type ExportLag, readExportLag, releaseExportLease, takeExportLease } from '../store/audit-export.ts';
import { makeId } from '../../access/rules/key.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { inTurns } from '../../base/turns.ts';
import { type Pace, standardPace } from './pace.ts';
import type { ExportProgress } from './send-log.ts';
import { type ExportLog, sendLogs } from './send-logs.ts';
import { createSetbacks } from './setbacks.ts';

interface ExportMetrics {
  exported(records: number): void;
  lost(records: number): void;
  rejected(records: number): void;
  failed(kind: string): void;
}

export interface ExporterDeps extends Pick<OperationDeps, 'pool' | 'readingPool' | 'clock' | 'random'> {
  readonly deliver: Deliver;
  readonly metrics: ExportMetrics;
  /** In ms, monotonic. */
  readonly now: () => number;
  readonly log: ExportLog;
}

export interface Exporter {
  /** The value of the last read. */
  readonly lag: ExportLag;
  readonly isSending: boolean;
  /** Problems, in words for people; empty if there are none. It knows only the failures of this control plane. */
  problems(): readonly string[];
  close(): Promise<void>;
}

/** Of the connections for slow reads. The other connections are left for people. */
const readersMax = 2;

interface Term {
  readonly stop: AbortController;
  readonly cut: AbortController;
  readonly sending: Promise<void>;
}

export function createExporter(deps: ExporterDeps, pace: Pace = standardPace): Exporter {
  const { pool, readingPool, random, now, metrics, log } = deps;
  const holder = makeId(random);
  const closing = new AbortController();
  const setbacks = createSetbacks({ now, random: () => (random(1)[0] ?? 0) / 256 }, pace);
  const read = inTurns(readersMax, readItems);
  let lag: ExportLag = { records: 0, since: null };
  let lagReadAt = Number.NEGATIVE_INFINITY;
  let term: Term | null = null;
  let heldUntil = Number.NEGATIVE_INFINITY;

  const advanced = (one: { readonly workspaceId: number; readonly slug: string }, by: ExportProgress): void => {
    setbacks.succeeded(one.workspaceId);
    metrics.exported(by.records);
    metrics.lost(by.lost);
    metrics.rejected(by.rejected);
    const workspace = one.slug;
    if (by.lost > 0)
      log.error(
        { workspace, items: by.lost },
        'audit entries were removed before they could be exported; the export contains a record of which',
      );
    if (by.rejected > 0)
      log.error(
        { workspace, records: by.rejected, why: by.why },
        'the collector rejected some audit entries of a request that it accepted; they are not sent again',
      );
  };

  const begin = (): Term => {
    log.info({}, 'this control plane now exports audit entries');
    const [stop, cut] = [new AbortController(), new AbortController()];
    const sendDeps = { ...deps, read, advanced, setbacks, failed: (kind: string) => metrics.failed(kind) };
    return { stop, cut, sending: sendLogs(sendDeps, { stop: stop.signal, cut: cut.signal }, pace.lookMs) };
  };
  const end = async (graceMs: number): Promise<void> => {
    if (term === null) return;
    const { stop, cut, sending } = term;
    term = null;
    stop.abort();
    const grace = setTimeout(() => cut.abort(), graceMs);
    await sending;
    clearTimeout(grace);
    setbacks.clear();
  };

  const renew = async (): Promise<void> => {
    const askedAt = now();
    const holds = await takeExportLease(pool, holder, pace.leaseMs).catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'the lease of the audit export could not be requested');
      return null;
    });
    if (holds === true) heldUntil = askedAt + pace.leaseMs;
    if (holds === true) term ??= begin();
    else if (holds === false || now() >= heldUntil) await end(0);
  };
  const readLag = async (): Promise<void> => {
    if (now() - lagReadAt < pace.lagMs) return;
    lagReadAt = now();
    lag = await readExportLag(readingPool).catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'the lag of the audit export could not be read');
      return lag;
    });
  };
  const live = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await renew();
      await readLag();
      await delay(pace.renewMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
    await end(pace.closeMs);
    await releaseExportLease(pool, holder).catch((error: unknown) =>
      log.warn(loggable(error), 'the lease of the audit export could not be released; it expires by itself'),
    );
  };
  const living = live();

  return {
    get lag() {
      return lag;
    },
    get isSending() {
      return term !== null;
    },
    problems: () => {
      const { since, records } = lag;
      const isLate = since !== null && deps.clock().getTime() - since.getTime() > pace.lateMs;
      const waiting = isLate ? [`${records} wait for it, the oldest since ${since.toISOString()}`] : [];
      return [...setbacks.problems(), ...waiting].map((problem) => `audit entries are not exported: ${problem}`);
    },
    close: async () => {
      closing.abort();
      await living;
    },
  };
}
