// Starts the telemetry of a process. It is off, unless the environment names a destination. Traces, metrics and logs
// are sent to a collector in batches, in the background. If a collector is unavailable, only the data for it is lost.
// For a signal that is off, nothing is loaded.
import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { createHealth, type TelemetryLog } from './health.ts';
import type { LogStream } from './log-stream.ts';
import type { Identity } from './resource.ts';
import type { TelemetrySettings } from './settings.ts';
import type { CallTracing, Tracing } from './tracing.ts';
import { untraced } from './tracing.ts';

export interface Telemetry {
  readonly tracing: Tracing;
  /** Present only if calls are traced. */
  readonly calls?: CallTracing;
  /**
   * Runs the work as part of the trace that the headers of a request name. If they name none, the work starts a new
   * trace.
   */
  readonly inTrace: <T>(headers: Readonly<Record<string, unknown>>, work: () => T) => T;
  /** Returns the stream for the log: standard error, and also the collector if logs are sent there. */
  readonly logTo: (stderr: LogStream) => LogStream;
  /** Sets the log that receives a message when a collector stops accepting data, and when it accepts data again. */
  readonly sayTo: (log: TelemetryLog) => void;
  /**
   * Sends the pending data, for a few seconds at most. Resolves with false if some data was still being sent at the end
   * of this time. Data that is created after `close` is not sent.
   */
  close(): Promise<boolean>;
}

export interface TelemetryDeps {
  readonly registry: Registry;
  /** The identity of the process, if the environment does not set another. */
  readonly identity: Identity;
  readonly clock: Pick<Clock, 'after'>;
}

const closeMs = 3_000;

export async function startTelemetry(
  { on, metricIntervalMs }: TelemetrySettings,
  { registry, identity, clock }: TelemetryDeps,
): Promise<Telemetry> {
  const health = createHealth();
  if (on.size === 0) return { ...off, sayTo: health.sayTo };
  const { createResource } = await import('./resource.ts');
  const resource = createResource(identity);
  const closing: (() => Promise<void>)[] = [];
  const begun = <T extends { close(): Promise<void> }>(one: T): T => {
    closing.push(() => one.close());
    return one;
  };
  const traces = on.has('traces') ? begun((await import('./send-traces.ts')).sendTraces(resource, health.told('traces'))) : off;
  const { logTo } = on.has('logs') ? begun((await import('./send-logs.ts')).sendLogs(resource, health.told('logs'))) : off;
  if (on.has('metrics'))
    begun((await import('./send-metrics.ts')).sendMetrics(registry, metricIntervalMs, resource, health.told('metrics')));
  const { tracing, calls, inTrace } = traces;
  return {
    tracing,
    inTrace,
    ...(calls === undefined ? {} : { calls }),
    logTo,
    sayTo: health.sayTo,
    close: () => within(clock, closeMs, Promise.allSettled(closing.map((close) => close()))),
  };
}

const off: Telemetry = {
  tracing: untraced,
  inTrace: (_headers, work) => work(),
  logTo: (stderr) => stderr,
  sayTo: () => undefined,
  close: () => Promise.resolve(true),
};

async function within(clock: TelemetryDeps['clock'], ms: number, work: Promise<unknown>): Promise<boolean> {
  let giveUp = (): void => {};
  const late = new Promise<boolean>((done) => {
    giveUp = () => done(false);
  });
  const timer = clock.after(ms, () => giveUp());
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    timer.cancel();
  }
}
