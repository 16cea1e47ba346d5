// Agents that call tools continuously, through every sidecar, and record their requests and the answers.
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from './random.ts';
import { casedLimitTool, casedTool, freeTool, limitedTools, switchedTools } from './rules.ts';
import { type Agents, agentNames, type World } from './world.ts';

/** The answer to a call, when it arrived completely. */
interface CallAnswer {
  readonly decision: 'allow' | 'deny';
  readonly reason: string;
  readonly requestId: string;
}

export interface Call {
  /** This id is in its input, and in no other call's input. */
  readonly id: string;
  readonly tool: string;
  readonly through: Agents;
  readonly key: number;
  /** Wall clock, ms. */
  readonly sentAt: number;
  /** Null: no answer arrived. */
  heard: CallAnswer | null;
  heardAt: number | null;
  /**
   * `told`: its outcome was sent. `heard`: the answer said that it was recorded. `refused`: the answer said that it
   * could not be recorded.
   */
  outcome: 'none' | 'told' | 'heard' | 'refused';
}

/** What an endpoint answered before it looked at the call: no decision, and no entry. */
export type RefusalCounts = Map<string, number>;

export interface Load {
  readonly calls: readonly Call[];
  readonly barred: RefusalCounts;
  /** Requests that ended without an answer. */
  readonly unanswered: () => number;
  /** Makes one call, now. */
  call(through: Agents, tool: string): Promise<Call>;
  stop(): Promise<void>;
}

const patienceMs = 10_000;
const outcomeShare = 0.25;
/** The pause of each lane between two calls. */
const restMs = { least: 40, below: 360 };
const lanesOfAgent = 2;
const burstEveryMs = 4_000;
const burstCalls = 24;

export const inputOf = (id: string): object => ({ call: id });

export function keepCalling(world: World, keys: readonly string[], random: Random): Load {
  const calls: Call[] = [];
  const barred: RefusalCounts = new Map();
  const stopping = new AbortController();
  let unanswered = 0;

  const post = async (url: string, key: number, body: object): Promise<Readonly<Record<string, unknown>> | null> => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys[key] ?? ''}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(patienceMs),
      });
      const answered: unknown = await response.json();
      if (response.status !== 200) {
        const why = `${response.status} ${String(Object(answered)['reason'] ?? Object(answered)['error']).slice(0, 60)}`;
        barred.set(why, (barred.get(why) ?? 0) + 1);
        return null;
      }
      // Before there is policy no key is known, and such a denial leaves no entry.
      const { reason } = Object(answered);
      if (!String(reason).startsWith('snapshot_missing: no policy')) return Object(answered);
      barred.set(String(reason).slice(0, 60), (barred.get(String(reason).slice(0, 60)) ?? 0) + 1);
      return null;
    } catch {
      unanswered += 1;
      return null;
    }
  };
  const ask = async (through: Agents, tool: string, key: number): Promise<Call> => {
    const id = `call-${calls.length}`;
    const call: Call = { id, tool, through, key, sentAt: Date.now(), heard: null, heardAt: null, outcome: 'none' };
    const url = world.agentAt(through)?.url;
    if (url === undefined) return call;
    calls.push(call);
    const body = {
      tool_name: tool,
      tool_input: inputOf(id),
      session_id: `session-${calls.length % 20}`,
      agent_name: 'bot',
      agent_tier: 'api',
      call_id: id,
    };
    const answer = await post(`${url}/govern/tool-use`, key, body);
    if (answer === null) return call;
    const { decision, reason, request_id: requestId } = answer;
    call.heard = { decision: decision === 'allow' ? 'allow' : 'deny', reason: String(reason), requestId: String(requestId) };
    call.heardAt = Date.now();
    if (decision !== 'allow' || random.next() > outcomeShare) return call;
    call.outcome = 'told';
    const told = await post(`${url}/govern/tool-output`, key, { ...body, tool_output: 'done' });
    if (told !== null) call.outcome = told['action'] === 'block' ? 'refused' : 'heard';
    return call;
  };
  const countedTools = [...limitedTools, casedLimitTool] as const;
  const tools = [freeTool, casedTool, ...switchedTools, ...countedTools] as const;
  const keyFor = (through: Agents): number => (through === 'library' ? 0 : random.whole(0, keys.length - 1));
  const running: Promise<unknown>[] = [];
  const rest = (ms: number): Promise<unknown> => delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  const keepOn = async (through: Agents): Promise<void> => {
    while (!stopping.signal.aborted) {
      await ask(through, random.pick(tools), keyFor(through));
      await rest(random.between(restMs.least, restMs.below));
    }
  };
  const burst = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const tool = random.pick(countedTools);
      await Promise.all(Array.from({ length: burstCalls }, (_, at) => ask(agentNames[at % agentNames.length] ?? 'library', tool, 0)));
      await rest(random.between(0.5, 1.5) * burstEveryMs);
    }
  };
  for (const through of agentNames) for (let lane = 0; lane < lanesOfAgent; lane += 1) running.push(keepOn(through));
  running.push(burst());
  return {
    calls,
    barred,
    unanswered: () => unanswered,
    call: (through, tool) => ask(through, tool, 0),
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
