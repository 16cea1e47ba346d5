// Entries of governed calls as sidecars write them: two for each call, one before it and one after. Their length is
// that measured for a call of `github.create_issue` with an input of 300 bytes.
import { randomBytes, randomUUID } from 'node:crypto';
import type { AuditEntry } from '@tollgate/proto/contract';
import type { ShippedRecord } from '../../../control-plane/audit/rules/audit-batch.ts';

const tools = Array.from({ length: 50 }, (_, n) => `${['github', 'crm', 'files', 'billing', 'mail'][n % 5]}.operation_${n}`);
const body =
  'Seen in 14 invoices since Monday: the sum of the lines and the total differ by one cent where the tax is rounded for each line. Steps: open invoice, compare lines and total.';
const digest = (): string => randomBytes(32).toString('hex');

/** Both entries of one call. */
function callEntries(call: number, ts: string): readonly AuditEntry[] {
  const tool = tools[call % tools.length] ?? '';
  const agent = `agent-${call % 20}`;
  const common = {
    tool,
    decision: 'allow',
    code: 'allowed',
    decisionReason: `allowed: the built-in default allows api calls of "${tool}"`,
    transform: 'log',
    rule: { layer: 'default', path: '', revision: 1 },
    agentName: agent,
    agentTier: 'api',
    agentType: `hook::api::${agent}`,
    role: 'member',
    sub: `user-${call % 200}`,
    keyId: 'sAXrK8q2Gnj0okpS3NlL',
    userEmail: `user-${call % 200}@acme.test`,
    // Twenty calls per session.
    sessionId: `run-${Math.floor(call / 20)}`,
    client: { name: 'hook' },
    depth: 0,
    epoch: '52546694841ca405bce2653710d6e47e',
    revision: 1,
    requestId: randomUUID(),
    ts,
    policyAgeMs: 166,
    inputDigest: digest(),
  } as const;
  const input = { owner: 'acme', repo: 'billing', title: `Invoice ${call} differs by one cent`, body, labels: ['bug', 'billing'] };
  const outcome = { isError: false, durationMs: 28, outputDigest: digest(), action: 'pass' } as const;
  return [
    { hookEvent: 'PreToolUse', ...common, latencyUs: 40, input },
    { hookEvent: 'PostToolUse', ...common, outcome },
  ];
}

/** A batch of entries, in the form in which it is shipped. */
export function shippedCalls(first: number, count: number, ts: string): readonly ShippedRecord[] {
  const entries = Array.from({ length: count / 2 }, (_, n) => callEntries(first / 2 + n, ts)).flat();
  return entries.map((entry, at) => ({ sequence: first + at + 1, content: { entry: Buffer.from(JSON.stringify(entry)) } }));
}
