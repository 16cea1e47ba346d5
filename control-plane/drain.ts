// How a control plane that was told to stop ends what callers have begun.
import type { FastifyInstance } from 'fastify';
import type { Connections } from './http/connections.ts';
import type { Runner } from './runs/runner.ts';

/** How long requests under way may take to end, once no run goes on. */
const requestsDrainMs = 5_000;
/** And how long at least: what ended last has yet to be answered. */
const lastAnswersMs = 300;

interface Draining {
  readonly app: FastifyInstance;
  readonly connections: Connections;
  readonly runner: Runner;
}

/**
 * Ends listening; runs and requests may finish for so long, and connections without one are closed at once. What is open after that is
 * cut, with or without a request.
 */
export async function drain({ app, connections, runner }: Draining, ms: number): Promise<void> {
  const until = performance.now() + ms;
  const closed = app.close();
  connections.closeIdle();
  await runner.close(ms);
  const leftMs = Math.min(requestsDrainMs, Math.max(lastAnswersMs, until - performance.now()));
  const timer = setTimeout(() => app.server.closeAllConnections(), leftMs);
  await closed;
  clearTimeout(timer);
}
