// Shows the other door: a program in any language asks the sidecar process next to it over HTTP, with the key of its
// user.
import { setTimeout as delay } from 'node:timers/promises';

export interface HookAnswer {
  readonly at: number;
  /** The time of the whole round trip, in microseconds. */
  readonly waitedUs: number;
  readonly body: {
    readonly decision: 'allow' | 'deny';
    readonly reason: string;
    readonly request_id: string;
    readonly modified_input?: unknown;
    readonly findings?: { readonly pii: { readonly types: readonly string[] } };
  };
}

export interface Question {
  readonly agent: string;
  readonly tool: string;
  readonly input: object;
  readonly signal: AbortSignal;
}

/** `url`: the address of `POST /govern/tool-use`. */
export async function askSidecar(url: string, key: string, { agent, tool, input, signal }: Question): Promise<HookAnswer> {
  const question = {
    session_id: `${agent}-1`,
    agent_name: agent,
    agent_tier: 'api',
    tool_name: tool,
    tool_input: input,
    accepts: ['modified_input'],
  };
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-gs-client': 'nightly-job/1.0' };
  const at = Date.now();
  const startedAt = performance.now();
  const response = await fetch(url, { method: 'POST', signal, headers, body: JSON.stringify(question) });
  const text = await response.text();
  const waitedUs = (performance.now() - startedAt) * 1000;
  if (response.status !== 200) throw new Error(`the sidecar answered ${response.status}: ${text}`);
  return { at, waitedUs, body: JSON.parse(text) as HookAnswer['body'] };
}

const readyMs = 10_000;

/** Waits until the sidecar holds policy. The sidecar listens before that. */
export async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + readyMs;
  for (;;) {
    const response = await fetch(new URL('/readyz', url), { signal });
    const text = await response.text();
    if (response.ok) return;
    if (performance.now() > deadline) throw new Error(`the sidecar is not ready: ${text}`);
    await delay(20, undefined, { signal });
  }
}
