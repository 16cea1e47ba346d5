// Batches as a sidecar ships them.

import type { AuditEntry } from '@tollgate/proto/contract';
import { hash } from 'node:crypto';
import { type AuditBatch, type IngestResult, measureRecords, type ShippedRecord } from '../../control-plane/audit/rules/audit-batch.ts';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import type { Rest } from './rest.ts';

export const spool = (letter: string): string => letter.repeat(32);

/** The secret of the spool with that id, 32 bytes. */
const spoolSecret = (spoolId: string): Buffer => hash('sha256', `secret of ${spoolId}`, 'buffer');

/** The message that `AuditService` receives, without its records. */
export const shipped = (spoolId: string) => ({ spoolId, spoolSecret: spoolSecret(spoolId) });

type BatchOf = Pick<AuditBatch, 'workspaceId' | 'spoolId' | 'records'> & Partial<AuditBatch>;

export const batchOf = ({ spoolId, ...batch }: BatchOf): AuditBatch => ({
  spoolId,
  secretHash: hash('sha256', spoolSecret(spoolId)),
  begunFor: null,
  deliverer: { keyId: 'key-1', onlySub: null },
  canWait: false,
  ...measureRecords(batch.records),
  ...batch,
});

/** Throws where the batch was refused. */
export function acknowledgedOf(ingested: IngestResult): number {
  if ('refused' in ingested) throw new Error(`refused: ${ingested.refused}, expected ${ingested.expected}`);
  return ingested.acknowledged;
}

export const lost = (sequence: number, reason: string, last = sequence): ShippedRecord => ({ sequence, content: { lost: reason, last } });

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

/** Each batch is ingested on its own, so that concurrent ones meet in the database. */
export async function ship(rest: Rest, spoolId: string, batch: readonly ShippedRecord[], slug = 'acme'): Promise<number> {
  const { rows } = await rest.pool.query<{ id: string; random: string }>('select id, random_id as random from workspace where slug = $1', [
    slug,
  ]);
  const of = { workspaceId: Number(rows[0]?.id), begunFor: rows[0]?.random ?? '' };
  return acknowledgedOf(await createIngest(rest.deps)(batchOf({ ...of, spoolId, records: batch })));
}
