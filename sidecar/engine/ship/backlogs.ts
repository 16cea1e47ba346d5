// Manages everything that this process ships: its own spool while the process lives, and the spools of dead processes,
// from their adoption until they are acknowledged to the end. It searches for dead ones at the start and every
// `adoptEveryMs`, and more often while there may be more of them than it can hold at one time. Part of the shipper.
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Backlog, BacklogStatus } from '../spool/backlog.ts';

export interface Backlogs {
  /** The backlogs that are not refused. */
  readonly open: readonly Backlog[];
  /** Nothing is left to ship. */
  readonly isShipped: boolean;
  /** Call this when something of this backlog was acknowledged. */
  settle(backlog: Backlog): void;
  /** The control plane accepts nothing of this backlog: it stays on disk and is tried again later. */
  refuse(backlog: Backlog, code: string): void;
  status(): BacklogsStatus;
  /** Bytes on disk that dead processes left. */
  readonly adoptedBytes: number;
  stopAdopting(): void;
  close(): Promise<void>;
}

interface BacklogsStatus extends BacklogStatus {
  /** Number of spools of dead processes. */
  readonly adopted: number;
  /**
   * Spools that the control plane refuses, and their unacknowledged records. No other figure includes them, except for
   * the process's own spool.
   */
  readonly refusedSpools: number;
  readonly refusedRecords: number;
}

export interface BacklogsDeps {
  /** Finds at most `max` spools of dead processes, without those that must not be taken for now. */
  readonly adopt: (max: number, isLeft: (id: string) => boolean) => Promise<readonly Backlog[]>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onAdopted: (backlog: Backlog) => void;
  readonly onRetired: (backlog: Backlog) => void;
}

/** Each backlog holds a few file descriptors. */
const adoptedMax = 16;
/** Used when there may be more spools than could be taken. */
const adoptSoonMs = 1_000;
/**
 * A refused spool stays refused until a person has fixed the cause, for example with a restore. The own spool is
 * retried sooner, because it is needed.
 */
const refusedMs = { own: 30_000, adopted: 600_000 };

export function createBacklogs(deps: BacklogsDeps, { spool, adoptEveryMs }: { spool: Backlog; adoptEveryMs: number }): Backlogs {
  const { clock, log } = deps;
  let all: readonly Backlog[] = [spool];
  let lostBefore = 0;
  // This is read at each write, and changes only at an acknowledgement.
  let adoptedBytes = 0;
  /** The number of unacknowledged records, by the ids of refused spools. */
  const refused = new Map<string, number>();
  let isStopped = false;
  let timer: Timer | undefined;
  let retiring = Promise.resolve();
  let adopting = adopt();

  async function adopt(): Promise<void> {
    const room = adoptedMax - (all.length - 1);
    const found = room > 0 ? await deps.adopt(room, (id) => refused.has(id)).catch(adoptionFailed) : [];
    for (const backlog of found) {
      all = [...all, backlog];
      deps.onAdopted(backlog);
      settle(backlog);
    }
    if (isStopped) return;
    const mayBeMore = found.length >= room;
    timer = clock.after(mayBeMore ? Math.min(adoptSoonMs, adoptEveryMs) : adoptEveryMs, () => {
      adopting = adopt();
    });
    timer.unref();
  }

  function adoptionFailed(error: unknown): readonly Backlog[] {
    log.warn({ error: String(error) }, 'the folder of the spools could not be searched');
    return [];
  }

  function countAdopted(): void {
    adoptedBytes = all.reduce((sum, backlog) => (backlog === spool ? sum : sum + backlog.status().bytes), 0);
  }

  function settle(backlog: Backlog): void {
    if (backlog === spool) return;
    countAdopted();
    if (isShipped(backlog) && all.includes(backlog)) retire(backlog);
  }

  function retire(backlog: Backlog): void {
    all = all.filter((other) => other !== backlog);
    countAdopted();
    // A refused spool will be read again, so its losses are not counted yet.
    if (isShipped(backlog)) lostBefore += backlog.status().lost;
    deps.onRetired(backlog);
    retiring = retiring.then(() => close(backlog));
  }

  function refuse(backlog: Backlog, code: string): void {
    const { id } = backlog;
    const { records } = backlog.status();
    const againMs = backlog === spool ? refusedMs.own : refusedMs.adopted;
    refused.set(id, records);
    log.warn({ spool: id, code, records, againMs }, 'the control plane refuses this spool; it is kept on disk');
    if (backlog !== spool) retire(backlog);
    const again = clock.after(againMs, () => {
      refused.delete(id);
      if (backlog === spool) deps.onAdopted(spool);
    });
    again.unref();
  }

  async function close(backlog: Backlog): Promise<void> {
    await backlog.close().catch((error: unknown) => log.warn({ spool: backlog.id, error: String(error) }, 'a spool was not closed'));
  }

  function status(): BacklogsStatus {
    const each = all.map((backlog) => backlog.status());
    const oldest = each.flatMap(({ oldestAt }) => oldestAt ?? []);
    return {
      records: each.reduce((sum, { records }) => sum + records, 0),
      bytes: each.reduce((sum, { bytes }) => sum + bytes, 0),
      oldestAt: oldest.length > 0 ? Math.min(...oldest) : undefined,
      lost: each.reduce((sum, { lost }) => sum + lost, lostBefore),
      adopted: all.length - 1,
      refusedSpools: refused.size,
      refusedRecords: [...refused.values()].reduce((sum, records) => sum + records, 0),
    };
  }

  return {
    get open() {
      return all.filter(({ id }) => !refused.has(id));
    },
    get isShipped() {
      return all.every((backlog) => isShipped(backlog) || refused.has(backlog.id));
    },
    settle,
    refuse,
    status,
    get adoptedBytes() {
      return adoptedBytes;
    },
    stopAdopting() {
      isStopped = true;
      timer?.cancel();
    },
    async close() {
      await adopting;
      await retiring;
      for (const backlog of all) await close(backlog);
    },
  };
}

function isShipped(backlog: Backlog): boolean {
  return backlog.acknowledged >= backlog.last;
}
