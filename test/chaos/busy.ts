// Agents that never stop calling, and somebody who changes policy and starts runs, so that there is something to see of everything.
import { setTimeout as delay } from 'node:timers/promises';
import { ask, type ControlPlane } from '../support/programs.ts';
import { putPolicy } from './world.ts';

/** What the outage rule allows: half of it is more than a heartbeat. */
const maxStalenessSeconds = 3;

interface Busy {
  /** The one that is there now. */
  readonly plane: () => ControlPlane;
  /** Its URL. */
  readonly sidecar: string;
  readonly key: string;
  readonly ownerKey: string;
}

/** Answers what ends it. */
export async function keepBusy({ plane, sidecar, key, ownerKey }: Busy): Promise<() => Promise<void>> {
  const agent = await furnish(plane(), ownerKey);
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

/** A tool is denied, and of another the calls are limited, for all sidecars together: each round another one. */
export const policyOf = (round: number): object => ({
  outage: { maxStalenessSeconds, then: { api: 'last_known' } },
  tools: { denied: { api: { permission: 'deny' } }, [limitedIn(round)]: { api: { rateLimit: 1_000_000 } } },
});

/** An agent, by its id. */
async function furnish(plane: ControlPlane, ownerKey: string): Promise<string> {
  const { status, body } = await ask(`${plane.rest}/api/v1/agents`, ownerKey, { body: { name: 'seen', model: 'demo/echo' } });
  if (status !== 200) throw new Error(`the agent was answered ${status}: ${JSON.stringify(body)}`);
  return String(body['id']);
}

async function callTools(url: string, key: string, tools: readonly string[]): Promise<void> {
  const call = (tool: string) =>
    ask(`${url}/govern/tool-use`, key, { body: { tool_name: tool, tool_input: {}, session_id: 'watched', agent_tier: 'api' } });
  await Promise.all(tools.map(call));
}

/** Again and again, also where it fails, as while the control plane is gone. Answers what ends it. */
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
