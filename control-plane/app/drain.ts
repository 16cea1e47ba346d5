// Ends the work that callers have started, after the control plane received a signal to stop.
import type { FastifyInstance } from 'fastify';
import type { Connections } from '../http/connections.ts';
import type { Runner } from '../runs/runner.ts';

/** The maximum time for pending requests to end after the last run has ended. */
const requestsDrainMs = 5_000;
/**
 * The minimum time for pending requests to end: if a request has just been processed, its response must still be sent.
 */
const lastAnswersMs = 300;

interface DrainTargets {
  readonly app: FastifyInstance;
  readonly connections: Connections;
  readonly runner: Runner;
}

/**
 * Stops listening. Runs and requests can finish within `ms`. Connections without a request are closed immediately.
 * Connections that are still open after that time are cut, with or without a request.
 */
export async function drain({ app, connections, runner }: DrainTargets, ms: number): Promise<void> {
  const until = performance.now() + ms;
  const closed = app.close();
  connections.closeIdle();
  await runner.close(ms);
  const leftMs = Math.min(requestsDrainMs, Math.max(lastAnswersMs, until - performance.now()));
  const timer = setTimeout(() => app.server.closeAllConnections(), leftMs);
  await closed;
  clearTimeout(timer);
}
