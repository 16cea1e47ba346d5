// Holders and runs of the ledger, by names that a test chooses.
import { hash } from 'node:crypto';
import { type QuotaCounter, runIdOf, type RunOf } from '@tollgate/proto/contract';

/** The secret that the process of that name sends. */
export const holderSecret = (name: string): Buffer => hash('sha256', `secret of ${name}`, 'buffer');

/** The id by which the ledger knows it. */
export const holderOf = (name: string): string => hash('sha256', holderSecret(name));

/** A session of one agent. */
export function runOf(agentId: string, of: Partial<RunOf> = {}): Extract<QuotaCounter, { readonly kind: 'run' }> & { readonly of: RunOf } {
  const run = { keyId: 'key-1', sub: 'ann', sessionId: 'session', agents: [agentId], ...of };
  return { kind: 'run', id: runIdOf(run), agentId, of: run };
}
