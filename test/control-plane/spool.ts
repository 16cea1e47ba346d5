// Batches as a sidecar ships them.
import type { AuditEntry } from '@tollgate/proto/contract';
import type { ShippedRecord } from '../../control-plane/domain/audit/audit-batch.ts';
import { createIngest } from '../../control-plane/operations/audit/ingest-batch.ts';
import type { Rest } from './rest.ts';

export const spool = (letter: string): string => letter.repeat(32);

export function entry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    hookEvent: 'PreToolUse',
    tool: 'github.create_issue',
    decision: 'allow',
    code: 'allowed',
    decisionReason: 'allowed: nothing says otherwise',
    agentName: 'bot',
    agentTier: 'api',
    agentType: 'claude-code::api::bot',
    role: 'member',
    sub: 'ann',
    keyId: 'key-1',
    userEmail: 'ann@acme.test',
    sessionId: 'session-1',
    requestId: 'request-1',
    ts: '2026-06-25T12:00:00.000Z',
    client: { name: 'claude-code' },
    depth: 0,
    epoch: 'e',
    revision: 1,
    policyAgeMs: 5,
    transform: 'log',
    inputDigest: '0'.repeat(64),
    input: { title: 'tab\there, line\nthere, back\\slash, quote", \\N and \\.' },
    ...fields,
  };
}

export const record = (sequence: number, content: unknown): ShippedRecord => ({
  sequence,
  content: { entry: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)) },
});

export const records = (from: number, to: number, of: (sequence: number) => unknown = () => entry()): readonly ShippedRecord[] =>
  Array.from({ length: to - from + 1 }, (_, at) => record(from + at, of(from + at)));

export async function workspaceIdOf(rest: Rest, slug = 'acme'): Promise<number> {
  const { rows } = await rest.pool.query<{ id: string }>('select id from workspace where slug = $1', [slug]);
  return Number(rows[0]?.id);
}

/** Each by an ingest of its own, so that those at once meet in the database. */
export const ship = async (rest: Rest, spoolId: string, batch: readonly ShippedRecord[], slug = 'acme'): Promise<number> =>
  createIngest(rest.deps)({ workspaceId: await workspaceIdOf(rest, slug), spoolId, records: batch });
