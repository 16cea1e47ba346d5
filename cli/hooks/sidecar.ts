// Checks the resident sidecar from outside: whether it answers, which policy it has, and whether the key is valid.
import { isRow } from '../api/answer.ts';
import { explainNetworkError } from '../api/refusals.ts';
import type { World } from '../world.ts';
import { canaryOf, proveHere } from './canary.ts';
import { readConnection } from './connection.ts';

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
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' });
    const body: unknown = await response.json().catch(() => null);
    if (!response.ok || !isRow(body) || !isRow(body['policy']))
      return { url, problem: 'the program that answers there is not a sidecar', policy: null, key };
    const proof = await proveHere(world, 'claude-code', canaryOf('claude-code'));
    return { url, problem: proof.decided ? null : proof.words, policy: policyWords(body['policy']), key };
  } catch (error) {
    const { message } = explainNetworkError(error, { url, timeoutMs, answered: false, perhapsDone: [] });
    return { url, problem: message, policy: null, key };
  }
}

function policyWords({ revision, ageMs, connected }: Readonly<Record<string, unknown>>): string {
  if (typeof revision !== 'number') return 'no policy has been received';
  const seconds = typeof ageMs === 'number' ? Math.round(ageMs / 1_000) : null;
  const heard = connected === true ? 'connected' : `not connected; the last message of the control plane came ${seconds ?? '?'} s ago`;
  return `policy of revision ${revision}, ${heard}`;
}
