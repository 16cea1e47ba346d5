// Sends every audit log to a collector, at least once. Only one control plane sends at a time; the others are on
// standby.
//
// States: standby (asks for the lease each second), sending (renews the lease), ending (pending work may finish for a
// moment) and ended. A lease that is not renewed expires, and another control plane continues from the stored cursors.
// A control plane that was frozen in the meantime detects this when it tries to move a cursor.
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
import { createSetbacks, type Setbacks } from './setbacks.ts';

interface ExportMetrics {
  exported(records: number): void;
  lost(records: number): void;
  rejected(records: number): void;
  failed(kind: string): void;
}

export interface ExporterDeps extends Pick<OperationDeps, 'pool' | 'readingPool' | 'clock' | 'random'> {
  readonly deliver: Deliver;
  readonly metrics: ExportMetrics;
  /** A monotonic clock, in ms. */
  readonly now: () => number;
  readonly log: ExportLog;
}

export interface Exporter {
  /** How far the export is behind, at the time of the last read. */
  readonly lag: ExportLag;
  readonly isSending: boolean;
  /** Problems, in words for people; empty if there are none. Failures of other control planes are not known here. */
  problems(): readonly string[];
  close(): Promise<void>;
}

/** The export uses at most this many connections for slow reads. The other connections stay free for people. */
const readersMax = 2;

type SentLog = { readonly workspaceId: number; readonly slug: string };

interface Term {
  readonly stop: AbortController;
  readonly cut: AbortController;
  readonly sending: Promise<void>;
}

export const createExporter = (deps: ExporterDeps, pace: Pace = standardPace): Exporter => new LeasedExporter(deps, pace);

class LeasedExporter implements Exporter {
  readonly #deps: ExporterDeps;
  readonly #pace: Pace;
  readonly #holder: string;
  readonly #closing = new AbortController();
  readonly #setbacks: Setbacks;
  readonly #read = inTurns(readersMax, readItems);
  #lag: ExportLag = { records: 0, since: null };
  #lagReadAt = Number.NEGATIVE_INFINITY;
  #term: Term | null = null;
  #heldUntil = Number.NEGATIVE_INFINITY;
  readonly #running: Promise<void>;

  constructor(deps: ExporterDeps, pace: Pace) {
    this.#deps = deps;
    this.#pace = pace;
    this.#holder = makeId(deps.random);
    this.#setbacks = createSetbacks({ now: deps.now, random: () => (deps.random(1)[0] ?? 0) / 256 }, pace);
    this.#running = this.#run();
  }

  get lag(): ExportLag {
    return this.#lag;
  }

  get isSending(): boolean {
    return this.#term !== null;
  }

  problems(): readonly string[] {
    const { since, records } = this.#lag;
    const isLate = since !== null && this.#deps.clock().getTime() - since.getTime() > this.#pace.lateMs;
    const waiting = isLate ? [`${records} wait for it, the oldest since ${since.toISOString()}`] : [];
    return [...this.#setbacks.problems(), ...waiting].map((problem) => `audit entries are not exported: ${problem}`);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#renewLease();
      await this.#readLag();
      await delay(this.#pace.renewMs, undefined, { signal }).catch(() => undefined);
    }
    await this.#endTerm(this.#pace.closeMs);
    await releaseExportLease(this.#deps.pool, this.#holder).catch((error: unknown) =>
      this.#deps.log.warn(loggable(error), 'the lease of the audit export could not be released; it expires by itself'),
    );
  }

  async #renewLease(): Promise<void> {
    const { pool, now, log } = this.#deps;
    const { leaseMs } = this.#pace;
    const askedAt = now();
    const holds = await takeExportLease(pool, this.#holder, leaseMs).catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'the lease of the audit export could not be requested');
      return null;
    });
    if (holds === true) this.#heldUntil = askedAt + leaseMs;
    if (holds === true) this.#term ??= this.#beginTerm();
    else if (holds === false || now() >= this.#heldUntil) await this.#endTerm(0);
  }

  async #readLag(): Promise<void> {
    const { readingPool, now, log } = this.#deps;
    if (now() - this.#lagReadAt < this.#pace.lagMs) return;
    this.#lagReadAt = now();
    try {
      this.#lag = await readExportLag(readingPool);
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, 'the lag of the audit export could not be read');
    }
  }

  #beginTerm(): Term {
    this.#deps.log.info({}, 'this control plane now exports audit entries');
    const [stop, cut] = [new AbortController(), new AbortController()];
    const sendDeps = {
      ...this.#deps,
      read: this.#read,
      advanced: (log: SentLog, by: ExportProgress) => this.#countProgress(log, by),
      setbacks: this.#setbacks,
      failed: (kind: string) => this.#deps.metrics.failed(kind),
    };
    return { stop, cut, sending: sendLogs(sendDeps, { stop: stop.signal, cut: cut.signal }, this.#pace.lookMs) };
  }

  async #endTerm(graceMs: number): Promise<void> {
    if (this.#term === null) return;
    const { stop, cut, sending } = this.#term;
    this.#term = null;
    stop.abort();
    const grace = setTimeout(() => cut.abort(), graceMs);
    await sending;
    clearTimeout(grace);
    this.#setbacks.clear();
  }

  #countProgress({ workspaceId, slug: workspace }: SentLog, by: ExportProgress): void {
    const { metrics, log } = this.#deps;
    this.#setbacks.succeeded(workspaceId);
    metrics.exported(by.records);
    metrics.lost(by.lost);
    metrics.rejected(by.rejected);
    if (by.lost > 0)
      log.error(
        { workspace, items: by.lost },
        'audit entries were removed before they were exported; a record in the export says which entries are missing',
      );
    if (by.rejected > 0)
      log.error(
        { workspace, records: by.rejected, why: by.why },
        'the collector accepted a request but rejected some of its audit entries; the rejected entries are not sent again',
      );
  }
}
