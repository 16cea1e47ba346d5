// Sends all logs that are behind, a few at a time. The log that has waited longest since its last turn is first. This
// work continues until it is stopped. There is no pause while there are items to send; otherwise the heads are checked
// periodically.
import { loggable } from '../../base/loggable.ts';
import { type BehindLog, listBehind } from '../store/audit-export.ts';
import { type SendDeps, sendLog, type Signals } from './send-log.ts';
import type { Setbacks } from './setbacks.ts';

export interface LogsDeps extends SendDeps {
  readonly setbacks: Setbacks;
  readonly log: ExportLog;
  readonly failed: (kind: string) => void;
}

/** The part of pino's interface that is needed. */
export interface ExportLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const logsAtOnce = 4;
const listedMax = 100;

export async function sendLogs(deps: LogsDeps, signals: Signals, lookMs: number): Promise<void> {
  const busy = new Map<number, Promise<void>>();
  const { stop } = signals;
  let wake = (): void => undefined;
  const wakeUp = (): void => wake();
  stop.addEventListener('abort', wakeUp, { once: true });
  while (!stop.aborted) {
    const free = logsAtOnce - busy.size;
    const behind = free === 0 || deps.setbacks.areAllBarred() ? [] : await listSafely(deps, [...busy.keys(), ...deps.setbacks.barred()]);
    for (const log of behind.slice(0, free)) {
      const sending = sendSafely(deps, log, signals).finally(() => {
        busy.delete(log.workspaceId);
        // Checks again at once: this log may be behind again, or another log may be waiting.
        wake();
      });
      busy.set(log.workspaceId, sending);
    }
    await new Promise<void>((done) => {
      const timer = setTimeout(done, lookMs);
      wake = () => {
        clearTimeout(timer);
        done();
      };
      if (stop.aborted) wake();
    });
  }
  await Promise.all(busy.values());
  stop.removeEventListener('abort', wakeUp);
}

async function listSafely({ pool, log }: LogsDeps, except: readonly number[]): Promise<readonly BehindLog[]> {
  try {
    return await listBehind(pool, except, listedMax);
  } catch (error) {
    log.warn(loggable(error), 'the list of audit logs to export could not be read');
    return [];
  }
}

/** Never rejects. */
async function sendSafely(deps: LogsDeps, log: BehindLog, signals: Signals): Promise<void> {
  const { setbacks, failed } = deps;
  const { workspaceId, slug } = log;
  if (log.stored !== null && log.position === null)
    deps.log.error(
      { workspace: slug, exported: log.stored, head: log.head },
      'the audit log was replaced or rolled back after the last export; the log is exported again from its beginning',
    );
  try {
    const sent = await sendLog(deps, log, signals);
    if (sent.kind === 'sent') return setbacks.succeeded(workspaceId);
    if (sent.kind === 'overtaken') return deps.log.info({ workspace: slug }, 'another control plane is exporting this audit log');
    const { kind, reason, words } = sent.failure;
    failed(kind);
    const againInMs = Math.round(setbacks.failed(workspaceId, sent.failure));
    const say = kind === 'refused' ? deps.log.error.bind(deps.log) : deps.log.warn.bind(deps.log);
    say({ workspace: slug, reason, words, againInMs }, 'audit entries were not exported; they are kept and sent again later');
  } catch (error) {
    if (signals.cut.aborted) return;
    failed('database');
    const againInMs = Math.round(
      setbacks.failed(workspaceId, { kind: 'unavailable', reason: 'the database could not be queried', words: '', retryAfterMs: null }),
    );
    deps.log.warn({ ...loggable(error), workspace: slug, againInMs }, 'an audit log could not be exported');
  }
}
