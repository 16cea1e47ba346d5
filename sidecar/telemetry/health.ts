// Logs when the collector stops or starts to accept data. Each change is logged only once.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Signal } from './settings.ts';

export interface TelemetryLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface Health {
  readonly sayTo: (log: TelemetryLog) => void;
  /** Returns a function to call with the result of each export. */
  told(signal: Signal): ExportListener;
}

/** Receives why an export was not accepted. Null: it was accepted. */
export type ExportListener = (problem: string | null) => void;

export function createHealth(): Health {
  let log: TelemetryLog | null = null;
  // The result of an export may arrive in the context of unrelated work. Therefore the log line is written in the
  // context that exists here. Otherwise the line would become part of the trace of that work.
  const outside = AsyncLocalStorage.snapshot();
  return {
    sayTo: (to) => {
      log = to;
    },
    told: (signal) => {
      let wasTaken = true;
      return (reason) => {
        const isTaken = reason === null;
        if (isTaken === wasTaken) return;
        wasTaken = isTaken;
        outside(() => {
          if (isTaken) log?.info({ signal }, 'the telemetry collector accepts data again');
          else log?.warn({ signal, reason }, 'the telemetry collector does not accept data; the data of failed exports is lost');
        });
      };
    },
  };
}

interface ExportOutcome {
  readonly code: number;
  readonly error?: Error;
}

interface Exporter<Items, Result extends ExportOutcome> {
  export(items: Items, done: (result: Result) => void): void;
}

/** Returns the exporter itself, which from now on reports the result of each export. */
export function reportExports<Items, Result extends ExportOutcome, T extends Exporter<Items, Result>>(
  exporter: T & Exporter<Items, Result>,
  told: ExportListener,
): T {
  const send: Exporter<Items, Result>['export'] = exporter.export.bind(exporter);
  exporter.export = (items: Items, done: (result: Result) => void): void =>
    send(items, (result) => {
      told(result.code === 0 ? null : reasonOf(result.error));
      done(result);
    });
  return exporter;
}

/**
 * Returns why an export failed. The text never contains a part of the collector's answer, which may repeat a header. An
 * error without a code comes from the SDK, so its message can be used.
 */
function reasonOf(error: Error | undefined): string {
  const code = error !== undefined && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `it answered ${code}`;
  return typeof code === 'string' ? code : (error?.message ?? 'not known');
}
