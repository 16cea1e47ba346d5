// Whether the collector takes what it is sent, for the log: said when it changes, and not again while it stays so.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Signal } from './settings.ts';

export interface TelemetryLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface Health {
  readonly sayTo: (log: TelemetryLog) => void;
  /** Told of each thing that was sent, whether it was taken. */
  told(signal: Signal): Told;
}

/** Why it was not taken; null: it was. */
export type Told = (problem: string | null) => void;

export function createHealth(): Health {
  let log: TelemetryLog | null = null;
  // What is sent begins with whatever was last done, whose trace it is no part of.
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
          if (isTaken) log?.info({ signal }, 'the telemetry collector takes what it is sent again');
          else log?.warn({ signal, reason }, 'the telemetry collector does not take what it is sent; that much of it is lost');
        });
      };
    },
  };
}

interface Taken {
  readonly code: number;
  readonly error?: Error;
}

interface Exporter<Items, Result extends Taken> {
  export(items: Items, done: (result: Result) => void): void;
}

/** The exporter itself, which tells from now on how each thing went. */
export function telling<Items, Result extends Taken, T extends Exporter<Items, Result>>(
  exporter: T & Exporter<Items, Result>,
  told: Told,
): T {
  const send: Exporter<Items, Result>['export'] = exporter.export.bind(exporter);
  exporter.export = (items: Items, done: (result: Result) => void): void =>
    send(items, (result) => {
      told(result.code === 0 ? null : reasonOf(result.error));
      done(result);
    });
  return exporter;
}

/** Nothing of what the collector said, which may repeat a header. What has no code are words of the SDK. */
function reasonOf(error: Error | undefined): string {
  const code = error !== undefined && 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `it answered ${code}`;
  return typeof code === 'string' ? code : (error?.message ?? 'not known');
}
