// All that this process ships: its own spool, for as long as it lives, and the spools of dead processes, from their
// adoption until they are acknowledged to the end. Looks for dead ones at the start and every `adoptEveryMs`, and oftener
// while there may be more of them than it holds at one time. Part of the shipper.
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Backlog, BacklogStatus } from '../spool/backlog.ts';

export interface Backlogs {
  /** Those that are not refused. */
  readonly open: readonly Backlog[];
  /** Nothing is left to ship. */
  readonly isShipped: boolean;
  /** Something of this one was acknowledged. */
  settle(backlog: Backlog): void;
  /** The control plane takes nothing of this one: it stays on disk, and is tried again later. */
  refuse(backlog: Backlog, code: string): void;
  status(): BacklogsStatus;
  /** What dead processes left, on disk. */
  readonly adoptedBytes: number;
  stopAdopting(): void;
  close(): Promise<void>;
}

interface BacklogsStatus extends BacklogStatus {
  /** Spools of dead processes. */
  readonly adopted: number;
  /** Spools that the control plane does not take, and what is unacknowledged in them; they are in no other figure, but for the own one. */
  readonly refusedSpools: number;
  readonly refusedRecords: number;
}

export interface BacklogsDeps {
  /** Finds spools of dead processes, at most `max`, but those that are left alone for now. */
  readonly adopt: (max: number, isLeft: (id: string) => boolean) => Promise<readonly Backlog[]>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onAdopted: (backlog: Backlog) => void;
  readonly onRetired: (backlog: Backlog) => void;
}

/** Each holds a few file descriptors. */
const adoptedMax = 16;
/** Where there may be more than could be taken. */
const adoptSoonMs = 1_000;
/** What is refused is so until somebody has done something about it, such as a restore; the own one is needed. */
const refusedMs = { own: 30_000, adopted: 600_000 };

export function createBacklogs(deps: BacklogsDeps, { spool, adoptEveryMs }: { spool: Backlog; adoptEveryMs: number }): Backlogs {
  const { clock, log } = deps;
  let all: readonly Backlog[] = [spool];
  let lostBefore = 0;
  // Asked for at each write, and changes at an acknowledgement only.
  let adoptedBytes = 0;
  /** Records that are not acknowledged, by the ids of spools that were refused. */
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
    log.warn({ error: String(error) }, 'spools could not be looked for');
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
    // What is refused will be read again.
    if (isShipped(backlog)) lostBefore += backlog.status().lost;
    deps.onRetired(backlog);
    retiring = retiring.then(() => close(backlog));
  }

  function refuse(backlog: Backlog, code: string): void {
    const { id } = backlog;
    const { records } = backlog.status();
    const againMs = backlog === spool ? refusedMs.own : refusedMs.adopted;
    refused.set(id, records);
    log.warn({ spool: id, code, records, againMs }, 'the control plane does not take this spool; it is kept on disk');
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
