// Entries of the audit log for tests of what the console makes of them.
import type { Schemas } from '../../../console/api/client.ts';
import type { CallAnswer } from '../../../console/calls/answer.ts';

export type Entry = Schemas['AuditEntry'];

const start = Date.UTC(2026, 0, 2, 3, 4, 5);

/** The `second`th second of the tests. */
export const at = (second: number): string => new Date(start + second * 1_000).toISOString();

/** The entry of an allowed call. */
export const entryOf = (requestId: string, more: Partial<Entry> = {}): Entry => ({
  id: `${requestId}:${more.hookEvent ?? 'PreToolUse'}`,
  requestId,
  ts: at(0),
  receivedAt: at(0),
  hookEvent: 'PreToolUse',
  decision: 'allow',
  code: 'allowed',
  decisionReason: 'allowed: the workspace allows it',
  tool: 'crm.read',
  agentName: 'support',
  agentTier: 'api',
  client: { name: 'test' },
  depth: 0,
  sessionId: 's1',
  sub: 'mia',
  userEmail: 'mia@example.com',
  ...more,
});

/** The entry of what became of a call. */
export const resultEntryOf = (requestId: string, durationMs: number, more: Partial<Entry> = {}): Entry =>
  entryOf(requestId, { hookEvent: 'PostToolUse', outcome: { isError: false, durationMs }, ...more });

/** What the API answers about a call. */
export const answerOf = (requestId: string, more: Partial<CallAnswer>): CallAnswer => ({
  requestId,
  before: entryOf(requestId),
  after: null,
  more: 0,
  explanation: null,
  explainedAt: null,
  unexplained: null,
  approval: null,
  trace: null,
  session: null,
  ...more,
});
