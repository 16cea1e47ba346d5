// Checks that the checker of kills finds every error that it is written to find: each case changes one thing in a
// correct log.
import { canonicalJson, digestText } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { type Call, inputOf } from './kills/calls.ts';
import { checkEvidence } from './kills/checker.ts';
import type { Evidence, StoredEntry } from './kills/evidence.ts';
import { documentOf, type ToolRule } from './kills/rules.ts';
import type { Write } from './kills/writes.ts';

const from = Date.UTC(2026, 0, 1);
const reasonOf = { allow: 'allowed: no rule denies it', deny: 'policy_denied: a rule denies it' } as const;

const called = (n: number, tool: string, decision: 'allow' | 'deny'): Call => ({
  id: `call-${n}`,
  tool,
  through: 'sidecar-1',
  key: 0,
  sentAt: from + n,
  heard: { decision, reason: reasonOf[decision], requestId: `request-${n}` },
  heardAt: from + n + 1,
  outcome: n === 0 ? 'heard' : 'none',
});

const stored = (n: number, sequence: number, { tool, heard }: Call, revision: number): StoredEntry => ({
  spoolId: 'a'.repeat(32),
  sequence,
  ingest: sequence,
  ts: from + n * 1000,
  tool,
  decision: heard?.decision ?? 'allow',
  sub: 'apikey:1',
  entry: {
    hookEvent: 'PreToolUse',
    code: heard?.decision === 'deny' ? 'policy_denied' : 'allowed',
    decisionReason: heard?.reason ?? '',
    requestId: `request-${n}`,
    epoch: 'e1',
    revision,
    inputDigest: digestText(canonicalJson(inputOf(`call-${n}`))),
  },
});

/** Revision 3 sets a limit of two calls, 4 denies a tool. */
const writes: readonly Write[] = [
  { mark: 1, patch: { limited: { rateLimit: 2 }, mark: { rateLimit: 1 } }, status: 200, revision: 3 },
  { mark: 2, patch: { switched: { permission: 'deny' }, mark: { rateLimit: 2 } }, status: null, revision: null },
];
const history = [
  { revision: 3, document: documentOf({ limited: { rateLimit: 2 }, mark: { rateLimit: 1 } }) },
  { revision: 4, document: documentOf({ limited: { rateLimit: 2 }, switched: { permission: 'deny' }, mark: { rateLimit: 2 } }) },
];

const calls = [
  called(0, 'switched', 'allow'),
  called(1, 'limited', 'allow'),
  called(2, 'limited', 'allow'),
  called(3, 'switched', 'deny'),
] as const;
const [first, second, third, fourth] = calls;
const outcome = { ...stored(0, 2, first, 3), entry: { ...stored(0, 2, first, 3).entry, hookEvent: 'PostToolUse' } } as const;
const entries = [stored(0, 1, first, 3), outcome, stored(1, 3, second, 3), stored(2, 4, third, 4), stored(3, 5, fourth, 4)];

const well: Evidence = {
  epoch: 'e1',
  newest: 4,
  history,
  writes,
  calls,
  lostDisks: new Map(),
  entries,
  gaps: [],
  acknowledged: new Map([['a'.repeat(32), 5]]),
  miscounted: [],
  windowSeconds: 5,
  limitsHoldOver: 'all',
};

/** The entries with one of them changed. */
const changed = (at: number, change: Partial<StoredEntry>, inEntry: Partial<StoredEntry['entry']> = {}): Evidence => ({
  ...well,
  entries: entries.map((row, index) => (index === at ? { ...row, ...change, entry: { ...row.entry, ...inEntry } } : row)),
});
const without = (at: number): Evidence => ({ ...well, entries: entries.filter((_, index) => index !== at) });
const heardAs = (at: number, change: Partial<Call>): Evidence => ({
  ...well,
  calls: calls.map((call, index) => (index === at ? { ...call, ...change } : call)),
});
const brokenBy = (evidence: Evidence): readonly string[] => [
  ...new Set(checkEvidence(evidence).violations.map(({ invariant }) => invariant)),
];

test('a correct log has no violation, and its calls are counted', () => {
  const findings = checkEvidence(well);
  expect(findings).toMatchObject({ violations: [], answered: 4, entries: 5, lost: 0, duplicated: 0, unanswered: 0 });
  expect([...findings.denied]).toEqual([['policy_denied', 1]]);
});

test('a call whose answer no caller received may have an entry, or none', () => {
  expect(brokenBy(heardAs(3, { heard: null }))).toEqual([]);
  const last = heardAs(3, { heard: null });
  expect(brokenBy({ ...last, entries: entries.slice(0, 4), acknowledged: new Map([['a'.repeat(32), 4]]) })).toEqual([]);
});

const unrecordedReason = 'audit_unavailable: the control plane has not committed the audit entry in time';

/**
 * The caller of the second call received the answer that it was not recorded, and its entry says that it was allowed.
 */
function unrecorded(more: readonly Partial<StoredEntry['entry']>[]): Evidence {
  const heard = { decision: 'deny', reason: unrecordedReason, requestId: 'request-3' } as const;
  const evidence = changed(4, { decision: 'allow' }, { code: 'allowed', revision: 4 });
  const last = evidence.entries.slice(4);
  const takenBack = more.flatMap((inEntry, at) =>
    last.map(
      (row): StoredEntry => ({ ...row, sequence: 6 + at, ingest: 6 + at, entry: { ...row.entry, hookEvent: 'PostToolUse', ...inEntry } }),
    ),
  );
  const free = { ...evidence, calls: calls.map((call, at) => (at === 3 ? { ...call, heard } : call)) };
  const history = free.history.map((row) => ({
    ...row,
    document: documentOf({ limited: { rateLimit: 2 }, mark: { rateLimit: row.revision - 2 } }),
  }));
  const rewritten = writes.map((write) => (write.mark === 2 ? { ...write, patch: { mark: { rateLimit: 2 } } } : write));
  return {
    ...free,
    history,
    writes: rewritten,
    entries: [...free.entries, ...takenBack],
    acknowledged: new Map([['a'.repeat(32), 5 + more.length]]),
  };
}

const takesBack = { outcome: { isError: true, durationMs: 0, action: 'block', code: 'audit_unavailable' } } as const;

test('a call denied because its entry was not recorded in time may have an entry, and one that reverts it', () => {
  expect(brokenBy(unrecorded([takesBack]))).toEqual([]);
  expect(brokenBy(unrecorded([]))).toEqual(['answered']);
  expect(brokenBy(unrecorded([takesBack, takesBack]))).toEqual(['sent']);
  expect(brokenBy({ ...unrecorded([]), lostDisks: new Map([['sidecar-1', [from + 4]]]) })).toEqual([]);
  expect(brokenBy({ ...unrecorded([]), lostDisks: new Map([['sidecar-1', [from + 3]]]) })).toEqual(['answered']);
  expect(checkEvidence(unrecorded([takesBack]))).toMatchObject({ unrecorded: 1, lost: 0 });
});

const two = (row: StoredEntry | undefined, ...more: readonly StoredEntry[]): readonly StoredEntry[] =>
  row === undefined ? more : [row, ...more];
const twice = two(entries[4]).map((row) => ({ ...row, sequence: 6, ingest: 6, entry: { ...row.entry, requestId: 'request-9' } }));

test.each<readonly [string, Evidence, readonly string[]]>([
  ['an entry is lost at the end of its spool', without(4), ['answered', 'whole']],
  ['an entry is lost in the middle', without(2), ['answered', 'whole']],
  ['the entry of an outcome is lost', without(1), ['answered', 'whole']],
  [
    'an entry appears twice',
    { ...well, entries: [...entries, ...twice], acknowledged: new Map([['a'.repeat(32), 6]]) },
    ['answered', 'sent'],
  ],
  [
    'an entry says another decision than was heard',
    heardAs(3, { heard: { decision: 'allow', reason: reasonOf.allow, requestId: 'request-3' } }),
    ['answered'],
  ],
  ['an entry has another reason than was heard', changed(2, {}, { decisionReason: 'allowed: for fun' }), ['answered']],
  ['an entry is of another request', changed(2, {}, { requestId: 'request-8' }), ['answered']],
  ['an entry is of a call that no caller sent', { ...well, calls: calls.slice(0, 3) }, ['sent']],
  ['an entry names another tool', changed(0, { tool: 'free' }), ['sent']],
  ['there is an outcome that no caller reported', heardAs(0, { outcome: 'none' }), ['sent']],
  ['a gap is counted', { ...well, gaps: [{ spoolId: 'a'.repeat(32), first: 6, last: 7, reason: 'torn' }] }, ['whole']],
  ['something is counted that is not there', { ...well, miscounted: ['call by minute: only counted: (1)'] }, ['counted']],
  ['a sidecar was told of more than there is', { ...well, acknowledged: new Map([['a'.repeat(32), 6]]) }, ['whole']],
  ['a number of the log is missing', changed(4, { ingest: 7 }), ['whole']],
  ['a denied tool was allowed', changed(0, {}, { revision: 4 }), ['correct', 'forward']],
  ['an allowed tool was denied', changed(4, {}, { revision: 3 }), ['correct', 'forward']],
  ['a limit refused a tool that has none', { ...changed(4, {}, { code: 'rate_limited', revision: 4 }) }, ['correct']],
  ['an entry is of another epoch', changed(2, {}, { epoch: 'e2' }), ['correct']],
  ['an entry is of a revision to come', changed(4, {}, { revision: 5 }), ['correct']],
  ['an answered write is not in the history', { ...well, history: [], newest: 4 }, ['correct']],
  [
    'an answered write is at another revision',
    { ...well, writes: writes.map((write) => (write.mark === 1 ? { ...write, revision: 2 } : write)) },
    ['correct'],
  ],
  [
    'a revision is not what its write makes of the one before',
    {
      ...well,
      history: history.map((row, at) =>
        at === 1 ? { ...row, document: documentOf({ switched: { permission: 'deny' }, mark: { rateLimit: 2 } }) } : row,
      ),
    },
    ['correct'],
  ],
  [
    'a write appears twice',
    { ...well, history: [...history, ...history.slice(1).map((row) => ({ ...row, revision: 5 }))], newest: 5 },
    ['correct'],
  ],
  ['a process went back', changed(0, {}, { revision: 4 }), ['correct', 'forward']],
])('%s', (_, evidence, broken) => {
  expect(brokenBy(evidence).toSorted()).toEqual(broken);
});

/** The given number of allowed calls of the limited tool, at these times, each in a process of its own. */
function limitedAt(times: readonly number[], limitsHoldOver: Evidence['limitsHoldOver'] = 'all'): Evidence {
  const made = times.map((_, n) => called(n + 1, 'limited', 'allow'));
  const rows = made.map((call, at) => ({
    ...stored(at + 1, 1, call, 3),
    ingest: at + 1,
    spoolId: `spool-${at}`,
    ts: from + (times[at] ?? 0),
  }));
  return { ...well, calls: made, entries: rows, acknowledged: new Map(rows.map(({ spoolId }) => [spoolId, 1])), limitsHoldOver };
}

test('a limit holds in every window, at every start of the window, over all processes', () => {
  expect(brokenBy(limitedAt([900, 1_000, 5_900]))).toEqual([]);
  expect(brokenBy(limitedAt([900, 1_000, 5_899]))).toEqual(['limits']);
  expect(brokenBy(limitedAt([900, 1_000, 5_899], 'process'))).toEqual([]);
  // The first decision took this long: it is not known when in this time the token was taken.
  const slow = limitedAt([900, 1_000, 5_899]);
  const entries = slow.entries.map((row) => ({ ...row, entry: { ...row.entry, latencyUs: 2_000 } }));
  expect(brokenBy({ ...slow, entries })).toEqual([]);
});

test('a call that waited for its token does not hide that calls after it are outside of the window', () => {
  const { entries: rows, ...rest } = limitedAt([900, 1_000, 5_899]);
  // The limit is 2. The second call may have taken its token 200 ms before its entry, and so before the window.
  const entries = rows.map((row, at) => (at === 1 ? { ...row, entry: { ...row.entry, latencyUs: 200_000 } } : row));
  expect(brokenBy({ ...rest, entries: rows })).toEqual(['limits']);
  expect(brokenBy({ ...rest, entries })).toEqual([]);
});

test('a call that was denied after its entry was written does not count', () => {
  const exceeded = limitedAt([900, 1_000, 1_100]);
  expect(brokenBy(exceeded)).toEqual(['limits']);
  const [second] = exceeded.entries.slice(1);
  if (second === undefined) throw new Error('there must be an entry');
  const reverting: StoredEntry = { ...second, sequence: 2, ingest: 4, entry: { ...second.entry, hookEvent: 'PostToolUse', ...takesBack } };
  const heard = { decision: 'deny', reason: unrecordedReason, requestId: second.entry.requestId } as const;
  const unrecordedCalls = exceeded.calls.map((call, at) => (at === 1 ? { ...call, heard } : call));
  const acknowledged = new Map([...exceeded.acknowledged, [second.spoolId, 2]]);
  expect(brokenBy({ ...exceeded, calls: unrecordedCalls, entries: [...exceeded.entries, reverting], acknowledged })).toEqual([]);
  // Its caller has not received the denial.
  const unanswered = exceeded.calls.map((call, at) => (at === 1 ? { ...call, heard: null } : call));
  expect(brokenBy({ ...exceeded, calls: unanswered, entries: [...exceeded.entries, reverting], acknowledged })).toEqual([]);
});

test('a refusal by a limit counts as refused below the limit where fewer than the limit were charged', () => {
  const denied = (evidence: Evidence): Evidence => {
    const last = evidence.entries.length - 1;
    const entry = { decision: 'deny', reason: 'rate_limited: full', requestId: `request-${last + 1}` } as const;
    return {
      ...evidence,
      calls: evidence.calls.map((call, at) => (at === last ? { ...call, heard: entry } : call)),
      entries: evidence.entries.map((row, at) =>
        at === last ? { ...row, decision: 'deny', entry: { ...row.entry, code: 'rate_limited', decisionReason: entry.reason } } : row,
      ),
    };
  };
  expect(checkEvidence(denied(limitedAt([0, 1_000, 5_500])))).toMatchObject({ violations: [], limited: 1, limitedWithCapacity: 0 });
  expect(checkEvidence(denied(limitedAt([0, 1_000, 6_500])))).toMatchObject({ violations: [], limited: 1, limitedWithCapacity: 1 });
});

/** The call of each number, decided by a rule with cases: an odd one is denied, and what is undecided is denied. */
function cased(cases: NonNullable<ToolRule['cases']>, decisions: readonly ('allow' | 'deny')[]): Evidence {
  const rule: ToolRule = { permission: 'allow', cases };
  const patch = { cased: rule, mark: { rateLimit: 1 } };
  const made = decisions.map((decision, n) => ({ ...called(n, 'cased', decision), outcome: 'none' as const }));
  const rows = made.map((call, n) => stored(n, n + 1, call, 3));
  const acknowledged = new Map([['a'.repeat(32), rows.length]]);
  const known = {
    newest: 3,
    history: [{ revision: 3, document: documentOf(patch) }],
    writes: [{ mark: 1, patch, status: 200, revision: 3 }],
  };
  return { ...well, ...known, calls: made, entries: rows, acknowledged };
}

test('a decision that the cases of a rule do not make of the input is wrong', () => {
  const odd = [{ name: 'odd', when: 'odd', permission: 'deny' }] as const;
  expect(brokenBy(cased(odd, ['allow', 'deny', 'allow']))).toEqual([]);
  expect(brokenBy(cased(odd, ['allow', 'allow']))).toEqual(['correct']);
  expect(brokenBy(cased(odd, ['deny', 'deny']))).toEqual(['correct']);
  const unclear = [{ name: 'never', when: 'never', permission: 'deny' }] as const;
  expect(brokenBy(cased(unclear, ['deny', 'deny']))).toEqual([]);
  expect(brokenBy(cased(unclear, ['deny', 'allow']))).toEqual(['correct']);
});

test('the limit of a case counts the calls of the case alone', () => {
  const limited = [{ name: 'odd', when: 'odd', rateLimit: 2 }] as const;
  expect(brokenBy(cased(limited, ['allow', 'allow', 'allow', 'allow', 'allow']))).toEqual([]);
  expect(brokenBy(cased([{ ...limited[0], rateLimit: 1 }], ['allow', 'allow', 'allow', 'allow']))).toEqual(['limits']);
});
