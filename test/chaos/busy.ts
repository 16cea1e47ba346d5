// Agents that call continuously, and a person who changes policy and starts runs, so that every metric has data.
import { setTimeout as delay } from 'node:timers/promises';
import { ask, type ControlPlane } from '../support/programs.ts';
import { putPolicy } from './world.ts';

/** The staleness that the outage rule allows: half of it is more than a heartbeat. */
const maxStalenessSeconds = 3;

interface Busy {
  /** The current control plane. */
  readonly plane: () => ControlPlane;
  /** Its URL. */
  readonly sidecar: string;
  readonly key: string;
  readonly ownerKey: string;
}

/** Returns a function that ends it. */
export async function keepBusy({ plane, sidecar, key, ownerKey }: Busy): Promise<() => Promise<void>> {
  const agent = await prepareRuns(plane(), ownerKey);
  let limited = limitedIn(0);
  const stops = [
    keepDoing(() => callTools(sidecar, key, ['allowed', 'denied', limited]), 50),
    keepDoing(async (round) => {
      await putPolicy(plane(), policyOf(round));
      limited = limitedIn(round);
      await ask(`${plane().rest}/api/v1/agents/${agent}/run`, ownerKey, { body: { input: 'hello' } });
    }, 300),
  ];
  return async () => {
    for (const stop of stops) await stop();
  };
}

const limitedIn = (round: number): string => `limited${round}`;

/** One tool is denied, and calls of another are limited over all sidecars together; both differ in each round. */
export const policyOf = (round: number): object => ({
  outage: { maxStalenessSeconds, then: { api: 'last_known' } },
  tools: { denied: { api: { permission: 'deny' } }, [limitedIn(round)]: { api: { rateLimit: 1_000_000 } } },
});

/** Creates an agent; returns its id. */
async function prepareRuns(plane: ControlPlane, ownerKey: string): Promise<string> {
  const { status, body } = await ask(`${plane.rest}/api/v1/agents`, ownerKey, { body: { name: 'seen', model: 'demo/echo' } });
  if (status !== 200) throw new Error(`the agent was answered ${status}: ${JSON.stringify(body)}`);
  return String(body['id']);
}

async function callTools(url: string, key: string, tools: readonly string[]): Promise<void> {
  const call = (tool: string) =>
    ask(`${url}/govern/tool-use`, key, { body: { tool_name: tool, tool_input: {}, session_id: 'watched', agent_tier: 'api' } });
  await Promise.all(tools.map(call));
}

/**
 * Repeats `what`, also where it fails, for example while the control plane is gone. Returns a function that ends it.
 */
function keepDoing(what: (round: number) => Promise<void>, restMs: number): () => Promise<void> {
  const stopped = new AbortController();
  const loop = async (): Promise<void> => {
    for (let round = 1; !stopped.signal.aborted; round++) {
      await what(round).catch(() => undefined);
      await delay(restMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const going = loop();
  return () => {
    stopped.abort();
    return going;
  };
}
