// What the routes of the statistics answer, compared with a plain count of the entries that were shipped.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditEntry } from '@tollgate/proto/contract';
import { outcomeOf } from '../../../control-plane/audit/rules/outcome.ts';
import { makeId } from '../../../control-plane/access/rules/key.ts';
import { createRunBooks } from '../../../control-plane/runs/operations/books/run-books.ts';
import { cent } from '../../support/run-books.ts';
import { casesOf } from '../../support/case-count.ts';
import { createRest, type Rest } from '../rest.ts';
import { entry, records, ship, spool } from '../spool.ts';

const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? randomBytes(4).readUInt32BE());
const minuteMs = 60_000;
const msOf = { minute: minuteMs, hour: 60 * minuteMs, day: 24 * 60 * minuteMs } as const;
const now = Date.parse('2026-06-25T12:34:56.789Z');

let rest: Rest;
const shipped: AuditEntry[] = [];
beforeAll(async () => {
  rest = await createRest();
  rest.clock.now = new Date(now);
  const entries = fc.sample(anEntry, { numRuns: 900, seed });
  // The last call of another hour, at the last moment of a minute.
  entries.push(entry({ ts: '2026-06-25T11:59:59.999Z', tool: 'mail.send', agentName: 'triage', decision: 'deny', code: 'cap_budget' }));
  await ship(
    rest,
    spool('a'),
    records(1, 500, (n) => entries[n - 1]),
  );
  await ship(
    rest,
    spool('b'),
    records(1, entries.length - 500, (n) => entries[n + 499]),
  );
  await ship(
    rest,
    spool('c'),
    records(1, 3, () => entry({ ts: new Date(now).toISOString(), tool: 'of another workspace' })),
    'other',
  );
  shipped.push(...entries);
}, 60_000);
afterAll(() => rest.close());

const anEntry: fc.Arbitrary<AuditEntry> = fc
  .record({
    // Most calls are of the last hours.
    agoMs: fc.oneof(fc.nat({ max: msOf.hour }), fc.nat({ max: msOf.day }), fc.nat({ max: 40 * msOf.day })),
    hookEvent: fc.constantFrom('PreToolUse', 'PreToolUse', 'PostToolUse'),
    verdict: fc.constantFrom<(readonly ['allow' | 'deny', AuditEntry['code']])[]>(
      ['allow', 'allowed'],
      ['allow', 'allowed'],
      ['deny', 'policy_denied'],
      ['deny', 'rate_limited'],
      ['deny', 'sessions_full'],
      ['deny', 'cap_duration'],
      ['deny', 'approval_pending'],
      ['deny', 'approval_denied'],
      ['deny', 'approvals_full'],
    ),
    tool: fc.constantFrom(
      'github.create_issue',
      'mail.send',
      'a "b" \\ c',
      'z\u{1f600}',
      ...Array.from({ length: 14 }, (_, at) => `tool-${at}`),
    ),
    agentName: fc.constantFrom('triage', 'Bot', 'bot', '', 'ünknown'),
    transform: fc.constantFrom('log', 'redact'),
    findings: fc.uniqueArray(
      fc.record({ kind: fc.constantFrom('email', 'card_number', 'our pattern'), count: fc.integer({ min: 1, max: 9 }) }),
      {
        maxLength: 2,
        selector: ({ kind }) => kind,
      },
    ),
  })
  .map(({ agoMs, verdict: [decision, code], findings, ...fields }) =>
    entry({
      ...fields,
      decision,
      code,
      ts: new Date(now - agoMs).toISOString(),
      ...(findings.length > 0 ? { findings } : {}),
    }),
  );

interface Counted {
  readonly at: number;
  readonly value: string;
  readonly times: number;
}

const isRedacted = ({ transform, findings = [] }: AuditEntry): boolean => transform === 'redact' && findings.length > 0;

const valueOf: Readonly<Record<string, (one: AuditEntry) => string>> = {
  outcome: (one) => outcomeOf({ decision: one.decision, code: one.code, transform: 'redact', findings: isRedacted(one) ? 1 : 0 }),
  decision: ({ decision }) => decision,
  tool: ({ tool }) => tool,
  agent: ({ agentName }) => agentName,
  reason: ({ code }) => code,
};

const byTotal = (a: { readonly total: number; readonly value: string }, b: typeof a): number =>
  b.total - a.total || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value));

/** The groups of everything, in the order of the answer. */
function groupsOf(counted: readonly Counted[], every: keyof typeof msOf, until: number) {
  const groups = new Map<string, Counted[]>();
  for (const one of counted) groups.set(one.value, [...(groups.get(one.value) ?? []), one]);
  return [...groups]
    .map(([value, ones]) => ({
      value,
      total: ones.reduce((sum, { times }) => sum + times, 0),
      lastAt: lastOf(value, ones, every, until),
      counts: bucketsOf(ones, every),
    }))
    .toSorted(byTotal);
}

function bucketsOf(ones: readonly Counted[], every: keyof typeof msOf) {
  const buckets = new Map<number, number>();
  for (const { at, times } of ones) {
    const start = Math.floor(at / msOf[every]) * msOf[every];
    buckets.set(start, (buckets.get(start) ?? 0) + times);
  }
  return [...buckets].toSorted(([a], [b]) => a - b).map(([at, count]) => ({ at: new Date(at).toISOString(), count }));
}

/** The newest. If calls of the group follow after the range, in the same hour or day, it can be the start of its minute or hour. */
function lastOf(value: string, ones: readonly Counted[], every: keyof typeof msOf, until: number): unknown {
  const last = Math.max(...ones.map(({ at }) => at));
  const row = every === 'minute' ? msOf.hour : msOf.day;
  const follows = all.some((one) => one.value === value && one.at >= until && Math.floor(one.at / row) === Math.floor(last / row));
  if (every === 'day' || !follows) return new Date(last).toISOString();
  return expect.toSatisfy(
    (shown) => shown >= new Date(Math.floor(last / msOf[every]) * msOf[every]).toISOString() && shown <= new Date(last).toISOString(),
  );
}

/** All that the last question could count, at any time. */
let all: readonly Counted[] = [];

type Query = Readonly<Record<string, string>>;

interface Answer {
  readonly every: keyof typeof msOf;
  readonly since: string;
  readonly until: string;
  readonly total: number;
  readonly groups: readonly {
    readonly value: string;
    readonly total: number;
    readonly lastAt: string;
    readonly counts: readonly object[];
  }[];
  readonly rest: { readonly values: number; readonly total: number; readonly counts: readonly object[] };
  readonly next?: string;
}

async function read(path: string, query: Query): Promise<Answer> {
  const { status, body } = await rest.ask('GET', `/acme/admin/${path}?${new URLSearchParams(query).toString()}`);
  expect(status, `${JSON.stringify(body)} ${status === 500 ? rest.lines.findLast((line) => line.includes('internal error')) : ''}`).toBe(
    200,
  );
  return body as Answer;
}

/** Reads all pages and compares each with what is counted. */
async function expectPages(path: string, query: Query): Promise<void> {
  let answer = await read(path, query);
  const { every, since, until } = answer;
  const within = all.filter(({ at }) => at >= Date.parse(since) && at < Date.parse(until));
  const wanted = groupsOf(within, every, Date.parse(until));
  const top = Number(query['top'] ?? 10);
  for (let from = 0; ; from += top) {
    const rest = wanted.slice(from + top);
    const restCounted = within.filter(({ value }) => rest.some((one) => one.value === value));
    expect(answer).toEqual({
      every,
      since,
      until,
      total: wanted.reduce((sum, { total }) => sum + total, 0),
      groups: wanted.slice(from, from + top),
      rest: { values: rest.length, total: rest.reduce((sum, { total }) => sum + total, 0), counts: bucketsOf(restCounted, every) },
      ...(rest.length > 0 ? { next: expect.any(String) } : {}),
    });
    if (answer.next === undefined) return;
    // The range is that of the cursor.
    const { since: _since, until: _until, every: _every, ...others } = query;
    answer = await read(path, { ...others, cursor: answer.next });
  }
}

const aRange = fc
  .record({
    every: fc.constantFrom('minute', 'hour', 'day', null),
    untilAgo: fc.oneof(fc.constant(null), fc.nat({ max: 3 * msOf.day })),
    ms: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 20 * msOf.hour }), fc.integer({ min: 1, max: 45 * msOf.day })),
    top: fc.option(fc.integer({ min: 1, max: 50 }), { nil: null }),
  })
  .map(({ every, untilAgo, ms, top }): Query => {
    const until = now - (untilAgo ?? 0);
    return {
      ...(untilAgo === null ? {} : { until: new Date(until).toISOString() }),
      ...(ms === null ? {} : { since: new Date(until - (every === 'minute' ? Math.min(ms, msOf.day) : ms)).toISOString() }),
      ...(every === null ? {} : { every }),
      ...(top === null ? {} : { top: String(top) }),
    };
  });

const aDecisionsQuery = fc
  .record({
    range: aRange,
    by: fc.constantFrom(null, ...Object.keys(valueOf)),
    filters: fc.uniqueArray(fc.tuple(fc.constantFrom(...Object.keys(valueOf)), fc.nat()), { maxLength: 2, selector: ([name]) => name }),
  })
  .map(({ range, by, filters }) => ({ ...range, ...(by === null ? {} : { by }), filters }));

test('decisions are those of the shipped entries, for any range, group, filter and page', async () => {
  await fc.assert(
    fc.asyncProperty(aDecisionsQuery, async ({ filters: drawn, ...query }) => {
      // Values that occur.
      const filters = Object.fromEntries(drawn.map(([name, at]) => [name, valueOf[name]?.(shipped[at % shipped.length] ?? entry()) ?? '']));
      const isWanted = (one: AuditEntry): boolean => Object.entries(filters).every(([name, value]) => valueOf[name]?.(one) === value);
      const of = valueOf[Object(query).by ?? 'outcome'] ?? expect.fail('no such group');
      all = shipped
        .filter((one) => one.hookEvent === 'PreToolUse' && isWanted(one))
        .map((one) => ({ at: Date.parse(one.ts), value: of(one), times: 1 }));
      await expectPages('stats/decisions', { ...query, ...filters });
    }),
    { numRuns: casesOf(400), seed },
  );
}, 240_000);

test('redactions are those of the shipped entries, of inputs and outputs', async () => {
  all = shipped.flatMap((one) =>
    one.transform === 'redact'
      ? (one.findings ?? []).map(({ kind, count }) => ({ at: Date.parse(one.ts), value: kind, times: count }))
      : [],
  );
  await fc.assert(
    fc.asyncProperty(aRange, (query) => expectPages('stats/redactions', query)),
    { numRuns: casesOf(120), seed },
  );
}, 120_000);

test('without a range, it is the last hour by minutes; a longer one is by hours, then by days, moved outwards', async () => {
  expect(await read('stats/decisions', {})).toMatchObject({
    every: 'minute',
    since: '2026-06-25T11:34:00.000Z',
    until: '2026-06-25T12:35:00.000Z',
  });
  for (const [since, every, from, to] of [
    ['2026-06-25T09:34:57Z', 'minute', '2026-06-25T09:34:00.000Z', '2026-06-25T12:35:00.000Z'],
    ['2026-06-25T09:34:56Z', 'hour', '2026-06-25T09:00:00.000Z', '2026-06-25T13:00:00.000Z'],
    ['2026-06-17T12:34:00Z', 'day', '2026-06-17T00:00:00.000Z', '2026-06-26T00:00:00.000Z'],
  ] as const)
    expect(await read('stats/decisions', { since })).toMatchObject({ every, since: from, until: to });
});

describe('a request that is wrong is refused, with what is wrong and what would be right', () => {
  test.each([
    ['stats/decisions', { by: 'user' }, /by must be outcome, decision, tool, agent, reason/],
    ['stats/decisions', { every: 'week' }, /every must be minute, hour, day/],
    ['stats/decisions', { outcome: 'maybe' }, /outcome must be allow, redact, ask, limit, deny/],
    ['stats/decisions', { sub: 'ann' }, /sub is not a parameter; the parameters are every, since, until, top, cursor, by, outcome/],
    ['stats/decisions', { since: '2026-06-25T13:00:00Z' }, /since must be before until/],
    [
      'stats/decisions',
      { every: 'minute', since: '2026-06-23T00:00:00Z' },
      /at most 1500 minutes before until, but is 3635 before it; .* every=hour/,
    ],
    ['stats/decisions', { since: '2010-01-01T00:00:00Z' }, /at most 1500 days before until, but is 6020 before it$/],
    ['stats/decisions', { cursor: 'abc' }, /cursor must be the `next` of an earlier answer/],
    ['stats/decisions', { top: 'ten' }, /top must be an integer/],
    ['stats/redactions', { by: 'kind' }, /by is not a parameter/],
    ['stats/spend', { cursor: 'abc' }, /cursor must be the `next` of an earlier answer/],
    ['unknownAgents', { since: 'yesterday' }, /since must be an ISO 8601 date-time/],
  ])('%s %j', async (path, query, problem) => {
    const { status, body } = await rest.ask('GET', `/acme/admin/${path}?${new URLSearchParams(query as Query).toString()}`);
    expect([status, body]).toEqual([400, expect.objectContaining({ error: expect.stringMatching(problem) })]);
  });

  test('a key without the scope of the audit log is refused; a member with it may read', async () => {
    for (const path of ['stats/decisions', 'stats/redactions', 'stats/spend', 'unknownAgents']) {
      expect(
        (await rest.ask('GET', `/acme/admin/${path}`, { key: await rest.keyOf('member', ['agents.read'], `no-${path.replace('/', '-')}`) }))
          .status,
      ).toBe(403);
      expect(
        (
          await rest.ask('GET', `/acme/admin/${path}`, {
            key: await rest.keyOf('member', ['admin.audit.read'], `may-${path.replace('/', '-')}`),
          })
        ).status,
      ).toBe(200);
    }
  });
});

test('agents that called and are not registered are listed by their newest call, on pages', async () => {
  await rest.ask('POST', '/api/v1/agents', { body: { name: 'triage', model: 'demo/echo' } });
  const since = Date.parse('2026-05-26T00:00:00Z');
  const calls = shipped.filter((one) => one.hookEvent === 'PreToolUse' && Date.parse(one.ts) >= since);
  const wanted = ['Bot', 'bot', 'ünknown']
    .map((name) => {
      const own = calls.filter(({ agentName }) => agentName === name);
      const times = own.map(({ ts }) => ts).toSorted();
      return {
        name,
        calls: own.length,
        denied: own.filter(({ decision }) => decision === 'deny').length,
        firstAt: times[0],
        lastAt: times.at(-1),
      };
    })
    .toSorted((a, b) => String(b.lastAt).localeCompare(String(a.lastAt)));
  const { body } = await rest.ask('GET', '/acme/admin/unknownAgents');
  expect(body).toEqual({ since: '2026-05-26T00:00:00.000Z', agents: wanted });
  const found: unknown[] = [];
  for (let cursor = ''; ; ) {
    const { body: page } = await rest.ask('GET', `/acme/admin/unknownAgents?limit=1${cursor}`);
    const { agents, next } = page as { agents: readonly unknown[]; next?: string };
    expect(agents).toHaveLength(1);
    found.push(...agents);
    if (next === undefined) break;
    cursor = `&cursor=${next}`;
  }
  expect(found).toEqual(wanted);
  const { body: today } = await rest.ask('GET', '/acme/admin/unknownAgents?since=2026-06-25T12:00:00Z');
  expect(today).toMatchObject({ since: '2026-06-25T00:00:00.000Z' });
});

test('what runs cost today is by user, and by agent without what the runs below cost, on pages', async () => {
  const books = createRunBooks(rest.deps, 'plane-1');
  const { rows } = await rest.pool.query<{ id: string }>("select id from workspace where slug = 'acme'");
  const workspaceId = Number(rows[0]?.id);
  const begin = async (agentName: string, sub: string, parentRunId: string | null = null): Promise<string> => {
    const id = makeId(randomBytes);
    const agentId = (agentName[0] ?? '').repeat(20);
    const run = { workspaceId, id, agentId, agentName, sub, parentRunId, model: 'm', budget: 100 * cent, request: {} };
    expect(await books.records.begin(run)).toBe(true);
    return id;
  };
  const spend = async (id: string, microcents: number): Promise<void> => {
    const granted = await books.money.reserve({ workspaceId, id }, { least: 1, most: 8 * cent, enough: 1 });
    if (granted.kind !== 'granted') throw new Error(granted.kind);
    await books.money.settle({ workspaceId, id }, granted.reservationId, microcents);
  };
  rest.clock.now = new Date('2026-06-24T23:00:00Z');
  const yesterday = await begin('night', 'ann');
  await spend(yesterday, 7 * cent);
  rest.clock.now = new Date(now);
  const root = await begin('lead', 'ann');
  await spend(root, 2 * cent);
  const below = await begin('helper', 'ann', root);
  await spend(below, 3 * cent);
  await spend(await begin('helper', 'ben'), 1_500_000);
  await spend(await begin('idle', 'cem'), 0);
  const whole = {
    day: '2026-06-25',
    resetsAt: '2026-06-26T00:00:00.000Z',
    capCents: expect.any(Number),
    users: [
      { sub: 'ann', cents: 5 },
      { sub: 'ben', cents: 1.5 },
    ],
    agents: [
      { agentId: 'h'.repeat(20), name: 'helper', cents: 4.5 },
      { agentId: 'l'.repeat(20), name: 'lead', cents: 2 },
    ],
  };
  expect((await rest.ask('GET', '/acme/admin/stats/spend')).body).toEqual(whole);
  const first = (await rest.ask('GET', '/acme/admin/stats/spend?limit=1')).body as { next: string };
  expect(first).toEqual({ ...whole, users: whole.users.slice(0, 1), agents: whole.agents.slice(0, 1), next: expect.any(String) });
  const second = (await rest.ask('GET', `/acme/admin/stats/spend?limit=1&cursor=${first.next}`)).body;
  expect(second).toEqual({ ...whole, users: whole.users.slice(1), agents: whole.agents.slice(1) });
});

test('what another workspace has is not counted', async () => {
  const { body } = await rest.ask('GET', '/acme/admin/stats/decisions?by=tool&top=50&every=day&since=2026-05-01T00:00:00Z');
  expect(JSON.stringify(body)).not.toContain('of another workspace');
});
