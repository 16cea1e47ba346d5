// Checks the resident sidecar from outside: whether it answers, which policy it has, and whether the key is valid.
import { isRow } from '../api/answer.ts';
import { explainNetworkError } from '../api/refusals.ts';
import type { World } from '../world.ts';
import { canaryOf, proveHere } from './canary.ts';
import { readConnection, socketIn } from './connection.ts';

export interface SidecarSeen {
  readonly url: string | null;
  /** Null: there is no problem. */
  readonly problem: string | null;
  /** The policy with which the sidecar decides, in words. */
  readonly policy: string | null;
  /** The source of the key. */
  readonly key: string | null;
}

const timeoutMs = 4_000;

export async function lookAt(world: World): Promise<SidecarSeen> {
  const connection = readConnection(world);
  if ('problem' in connection) return { url: null, problem: connection.problem, policy: null, key: null };
  const { sidecar: url, keyFrom: key } = connection;
  try {
    const { ok, body } = await askHealth(url);
    if (!ok || !isRow(body) || !isRow(body['policy']))
      return { url, problem: 'the program that answers there is not a sidecar', policy: null, key };
    const proof = await proveHere(world, 'claude-code', canaryOf('claude-code'));
    return { url, problem: proof.decided ? null : proof.words, policy: policyWords(body['policy']), key };
  } catch (error) {
    const { message } = explainNetworkError(error, { url, timeoutMs, answered: false, perhapsDone: [] });
    return { url, problem: message, policy: null, key };
  }
}

async function askHealth(url: string): Promise<{ readonly ok: boolean; readonly body: unknown }> {
  const { Agent, request } = await import('undici');
  const socketPath = socketIn(url);
  const dispatcher = new Agent(socketPath === null ? {} : { connect: { socketPath } });
  try {
    const where = socketPath === null ? `${url}/healthz` : 'http://localhost/healthz';
    const { statusCode, body } = await request(where, { dispatcher, signal: AbortSignal.timeout(timeoutMs) });
    return { ok: statusCode === 200, body: await body.json().catch(() => null) };
  } finally {
    await dispatcher.destroy();
  }
}

/** Clocks that NTP keeps do not differ by so much. */
const clockMsMax = 60_000;

function clockWords(aheadMs: unknown): string {
  if (typeof aheadMs !== 'number' || Math.abs(aheadMs) <= clockMsMax) return '';
  return `; its clock is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the control plane: set it`;
}

function policyWords({ revision, ageMs, connected, clockAheadMs }: Readonly<Record<string, unknown>>): string {
  if (typeof revision !== 'number') return 'no policy has been received';
  const seconds = typeof ageMs === 'number' ? Math.round(ageMs / 1_000) : null;
  const heard = connected === true ? 'connected' : `not connected; the last message of the control plane came ${seconds ?? '?'} s ago`;
  return `policy of revision ${revision}, ${heard}${clockWords(clockAheadMs)}`;
}
