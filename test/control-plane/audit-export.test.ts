// The export of audit entries to a collector: what is sent, how each answer is handled, and that no entry is skipped.
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { makeDueCheckpoints } from '../../control-plane/audit/operations/checkpoint.ts';
import { exportGraceDays, maintainPartitions } from '../../control-plane/audit/operations/maintain-partitions.ts';
import { deleteWorkspace } from '../../control-plane/workspaces/store/workspaces.ts';
import { type Collector, type CollectorPost, type Reply, startCollector } from '../support/collector.ts';
import { eventually } from '../support/programs.ts';
import { copyOf, cursorOf, expectWhole, headOf, positionOf, startExporter, workspaceOf } from './exporting.ts';
import { createRest, type Rest } from './rest.ts';
import { entry, lost, record, records, ship, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
let collector: Collector;
beforeEach(async () => {
  rest = await createRest();
  collector = await startCollector();
});
afterEach(async () => {
  await collector.close();
  await rest.close();
});

const exporting = (asked: Parameters<typeof startExporter>[2] = {}) => {
  const exporter = startExporter(rest, collector, asked);
  onTestFinished(() => exporter.close());
  return exporter;
};
const reaches = (position: number, slug = 'acme') =>
  eventually(
    () => cursorOf(rest, slug),
    (at) => at === position,
  );
const holds = (count: number) => collector.until(() => collector.held.length >= count);
/** These replies, then `take`. */
const answering = (...replies: readonly Reply[]): void => {
  collector.reply = ({ nth }) => replies[nth - 1] ?? 'take';
};

describe('what is sent', () => {
  test('is every entry with its place in the chain, by the names of OpenTelemetry, and its body matches its digest', async () => {
    await ship(rest, spool('a'), [
      record(1, entry({ agentId: 'agent-7', outcome: undefined as never })),
      record(2, {
        ...entry({ decision: 'deny', code: 'policy_denied', hookEvent: 'PostToolUse' }),
        outcome: { isError: true, durationMs: 1.5 },
      }),
      record(3, { ...entry(), traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }),
    ]);
    exporting({ headers: { authorization: 'Bearer of-the-test' } });
    await holds(3);
    const [first, second, third] = collector.held;
    expect(collector.posts[0]).toMatchObject({
      path: '/v1/logs',
      headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-test' },
    });
    expect(first).toMatchObject({
      at: BigInt(Date.parse('2026-06-25T12:00:00.000Z')) * 1_000_000n,
      observedAt: BigInt(rest.clock.now.getTime()) * 1_000_000n,
      severity: 'INFO',
      eventName: 'tollgate.audit.decision',
      resource: { 'service.name': 'tollgate-audit', 'tollgate.workspace': 'acme' },
      traceId: null,
      attributes: {
        'log.record.uid': `${spool('a')}-1`,
        'tollgate.entry.id': `${spool('a')}-1`,
        'tollgate.workspace': 'acme',
        'tollgate.decision': 'allow',
        'tollgate.code': 'allowed',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'github.create_issue',
        'gen_ai.agent.name': 'bot',
        'gen_ai.agent.id': 'agent-7',
        'gen_ai.conversation.id': 'session-1',
        'user.id': 'ann',
        'tollgate.chain.position': 1,
      },
    });
    expect(second).toMatchObject({
      severity: 'WARN',
      eventName: 'tollgate.audit.outcome',
      attributes: { 'tollgate.decision': 'deny', 'tollgate.outcome.is_error': true, 'tollgate.outcome.duration_ms': 1.5 },
    });
    expect(third).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' });
    const shown = Object((await rest.ask('GET', '/acme/admin/audit')).body).entries as readonly { readonly id: string }[];
    expect(collector.held.map(({ body }) => JSON.parse(body))).toEqual(shown.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    expectWhole(collector.held, 'acme', 3);
  });

  test('covers gaps, and entries that arrived damaged', async () => {
    await ship(rest, spool('a'), [record(1, 'no json'), lost(2, 'never arrived', 4), record(5, entry()), lost(6, 'crc\0 \ud800')]);
    await ship(rest, spool('b'), [
      record(1, '{"tool":"x\\u0000y","n":1.0,"m":1e400,"traceId":"none"}'),
      record(2, { ...entry(), big: 1e300 }),
    ]);
    exporting();
    await reaches(6);
    expectWhole(collector.held, 'acme', 6);
    expect(collector.held.map(({ eventName }) => eventName.replace('tollgate.audit.', ''))).toEqual([
      'decision',
      'gap',
      'decision',
      'gap',
      'decision',
      'decision',
    ]);
    expect(collector.held[1]).toMatchObject({
      severity: 'ERROR',
      attributes: { 'tollgate.gap.first': 2, 'tollgate.gap.last': 4, 'tollgate.gap.reason': 'never arrived' },
    });
  });

  test('is exported as it is ingested, a new workspace begins at its beginning, and a removed one is forgotten', async () => {
    const exporter = exporting();
    await ship(rest, spool('a'), records(1, 2));
    await holds(2);
    await ship(rest, spool('b'), records(1, 3), 'other');
    await holds(5);
    await ship(rest, spool('a'), records(3, 3));
    await holds(6);
    await reaches(3, 'other');
    expectWhole(collector.held, 'acme', 3);
    expectWhole(collector.held, 'other', 3);
    await deleteWorkspace(rest.pool, 'other');
    await eventually(
      async () => exporter.lag.records,
      (lag) => lag === 0,
    );
    expect((await rest.pool.query('select from audit_export')).rowCount).toBe(1);
    expect(exporter.counted).toMatchObject({ exported: 6, lost: 0, rejected: 0, failed: [] });
    expect(exporter.problems()).toEqual([]);
  });

  test('of a workspace that is removed meanwhile reports nothing as missing', async () => {
    for (let batch = 0; batch < 4; batch += 1) await ship(rest, spool('a'), records(batch * 500 + 1, batch * 500 + 500), 'other');
    const answers: ((reply: Reply) => void)[] = [];
    collector.reply = () => new Promise<Reply>((resolve) => void answers.push(resolve));
    const exporter = exporting();
    await collector.until(() => collector.posts.length === 2);
    await deleteWorkspace(rest.pool, 'other');
    collector.reply = () => 'take';
    for (const answer of answers) answer('take');
    await ship(rest, spool('a'), records(1, 1));
    await reaches(1);
    await eventually(
      async () => exporter.lag.records,
      (lag) => lag === 0,
    );
    expect(new Set(collector.held.map(({ eventName }) => eventName))).toEqual(new Set(['tollgate.audit.decision']));
    expect(exporter.counted).toMatchObject({ lost: 0, failed: [] });
  });

  test('is split into requests of a bounded size, however large the backlog', async () => {
    const large = 'x'.repeat(7_000);
    for (let batch = 0; batch < 5; batch += 1)
      await ship(
        rest,
        spool('a'),
        records(batch * 500 + 1, batch * 500 + 500, (n) => entry({ input: `${n}${large}` })),
      );
    exporting();
    await reaches(2_500);
    expect(Math.max(...collector.posts.map(({ bytes }) => bytes))).toBeLessThan(4.1 * 1_048_576);
    expect(collector.posts.length).toBeLessThan(30);
    expectWhole(collector.held, 'acme', 2_500);
  });
});

describe('the cursor', () => {
  test('is moved only after the collector has answered 2xx', async () => {
    await ship(rest, spool('a'), records(1, 3));
    let answer: (reply: Reply) => void = () => undefined;
    collector.reply = () => new Promise<Reply>((resolve) => (answer = resolve));
    exporting();
    await collector.until(() => collector.posts.length === 1);
    expect(await cursorOf(rest)).toBe(0);
    answer('take');
    await reaches(3);
  });

  test('does not skip an entry that commits late, however early it was decided and whatever happens at the same time', async () => {
    await ship(rest, spool('a'), records(1, 5));
    exporting();
    await reaches(5);
    const late = await rest.pool.connect();
    try {
      // A batch that has its positions and has written its rows, and is not committed.
      await late.query('begin');
      const workspaceId = await workspaceIdOf(rest);
      await late.query('select from audit_head where workspace_id = $1 for update', [workspaceId]);
      const behind = ship(
        rest,
        spool('b'),
        records(1, 5, () => entry({ ts: '2026-06-24T00:00:00.000Z' })),
      );
      await ship(rest, spool('c'), records(1, 5), 'other');
      await reaches(5, 'other');
      expect(await cursorOf(rest)).toBe(5);
      await late.query('commit');
      await behind;
    } finally {
      late.release();
    }
    await reaches(10);
    expectWhole(collector.held, 'acme', 10);
  });

  test('is reset where the database is an older copy of itself, or the log is another one', async () => {
    await ship(rest, spool('a'), records(1, 5));
    const first = startExporter(rest, collector);
    await reaches(5);
    await first.close();
    // As in a backup: the log was at 3, and so its cursor was at most 3.
    await rest.pool.query(`delete from audit_entry where ingest > 3; update audit_head set ingest = 3`);
    await rest.pool.query(`update audit_export set position = 2, chain = null`);
    await ship(rest, spool('b'), records(1, 2));
    const second = startExporter(rest, collector);
    await reaches(5);
    await second.close();
    expect(copyOf(collector.held.slice(5), 'acme').map(positionOf)).toEqual([3, 4, 5]);

    collector.held.splice(0);
    await rest.pool.query(`update audit_export set position = 99`);
    const third = startExporter(rest, collector);
    await reaches(5);
    await third.close();
    expect(copyOf(collector.held, 'acme').map(positionOf)).toEqual([1, 2, 3, 4, 5]);
    expect(third.said).toContainEqual(expect.objectContaining({ level: 'error', message: expect.stringContaining('rolled back') }));
  });

  test('that is missing is started again', async () => {
    await ship(rest, spool('a'), records(1, 5));
    exporting();
    await reaches(5);
    await rest.pool.query('delete from audit_export');
    await reaches(5);
    await holds(10);
    expect(collector.held.map(positionOf)).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]);
  });
});

describe('for every answer of the collector', () => {
  test.each<readonly [string, Reply, string]>([
    ['503', { status: 503 }, 'unavailable'],
    ['502', { status: 502, body: '<html>' }, 'unavailable'],
    ['504', { status: 504 }, 'unavailable'],
    ['429 with a time to wait', { status: 429, headers: { 'retry-after': '1' } }, 'throttled'],
    ['nothing, and closes', 'cut', 'unreachable'],
    ['nothing at all', 'hang', 'timeout'],
    ['400', { status: 400, body: { message: 'bad data' } }, 'refused'],
    ['401', { status: 401 }, 'refused'],
    ['500', { status: 500 }, 'refused'],
    ['a redirect', { status: 307, headers: { location: 'http://127.0.0.1:1/' } }, 'refused'],
    ['a page for people', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }, 'refused'],
  ])('%s: it is reported, and sent again until it is accepted', async (_what, reply, kind) => {
    answering(reply, reply);
    await ship(rest, spool('a'), records(1, 3));
    const exporter = exporting({ answerMs: reply === 'hang' ? 700 : 20_000 });
    await reaches(3);
    expect(exporter.counted.failed).toEqual([kind, kind]);
    // Counted once the cursor has moved.
    await eventually(
      async () => exporter.counted.exported,
      (exported) => exported === 3,
    );
    expect(exporter.said.filter(({ level }) => level === (kind === 'refused' ? 'error' : 'warn'))).toHaveLength(2);
    expect(copyOf(collector.held, 'acme').map(positionOf)).toEqual([1, 2, 3]);
    await eventually(
      async () => exporter.problems(),
      (problems) => problems.length === 0,
    );
  });

  test('what it refuses is kept and shown, and blocks no other workspace', async () => {
    collector.reply = ({ records: sent }) =>
      sent.some((one) => workspaceOf(one) === 'acme') ? { status: 403, body: { message: 'no\nway' } } : 'take';
    await ship(rest, spool('a'), records(1, 3));
    const exporter = exporting();
    await collector.until(() => collector.posts.length >= 3);
    await ship(rest, spool('b'), records(1, 3), 'other');
    await reaches(3, 'other');
    expect(await cursorOf(rest)).toBe(0);
    expect(exporter.problems()).toEqual([
      'audit entries are not exported: the collector answered 403 Forbidden (one workspace, retried at intervals)',
    ]);
    expect(exporter.said.filter(({ level }) => level === 'error').length).toBeGreaterThanOrEqual(1);
  });

  test('records that it rejects from an accepted request are counted and reported, and not sent again', async () => {
    answering({ status: 200, body: { partialSuccess: { rejectedLogRecords: '2', errorMessage: 'too old' } } });
    await ship(rest, spool('a'), records(1, 5));
    const exporter = exporting();
    await reaches(5);
    await ship(rest, spool('a'), records(6, 6));
    await reaches(6);
    expect(collector.posts).toHaveLength(2);
    // Counted once the cursor has moved.
    await expect.poll(() => exporter.counted).toMatchObject({ exported: 4, rejected: 2, failed: [] });
    expect(exporter.said).toContainEqual(
      expect.objectContaining({ level: 'error', fields: { workspace: 'acme', records: 2, why: 'too old' } }),
    );
    expect((await rest.pool.query('select rejected::int from audit_export')).rows).toEqual([{ rejected: 2 }]);
  });

  test.each([
    ['413', { status: 413 }],
    ['400, as the collector of OpenTelemetry does', { status: 400, body: { code: 3, message: 'http: request body too large' } }],
  ])(
    'a request that is too large, reported by %s, is halved until it is accepted, and none as large is sent again',
    async (_said, reply) => {
      collector.reply = ({ records: sent }) => (sent.length > 3 ? reply : 'take');
      await ship(rest, spool('a'), records(1, 10));
      exporting();
      await reaches(10);
      expectWhole(collector.held, 'acme', 10);
    },
  );

  test('a single entry that is too large is sent without its payloads, says so, and still fits the chain', async () => {
    const secret = 'y'.repeat(5_000);
    collector.reply = ({ bytes }) => (bytes > 4_000 ? { status: 413 } : 'take');
    await ship(rest, spool('a'), [
      record(1, entry()),
      record(2, { ...entry({ input: { secret } }), code: secret, extra: secret, output: 'small' }),
      record(3, entry()),
    ]);
    exporting();
    await reaches(3);
    expectWhole(collector.held, 'acme', 3);
    const brief = copyOf(collector.held, 'acme')[1];
    expect(brief?.attributes).toMatchObject({ 'tollgate.entry.brief': true, 'tollgate.input.digest': '0'.repeat(64) });
    const body = JSON.parse(brief?.body ?? '{}');
    expect(body).toMatchObject({ tool: 'github.create_issue', decision: 'allow', id: `${spool('a')}-2` });
    for (const key of ['input', 'output', 'extra']) expect(body[key]).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(JSON.stringify(body)).not.toContain('yyy');
    expect(brief?.attributes['tollgate.code']).toBe('y'.repeat(512));
  });

  test('a collector that accepts no record is retried for ever, and nothing is skipped', async () => {
    collector.reply = () => ({ status: 413 });
    await ship(rest, spool('a'), records(1, 1));
    const exporter = exporting();
    await collector.until(() => collector.posts.length >= 6);
    expect(await cursorOf(rest)).toBe(0);
    expect(exporter.problems()[0]).toContain('413');
    collector.reply = () => 'take';
    await reaches(1);
  });
});

describe('of several control planes', () => {
  test('one sends; when it stops, another continues from the cursors', async () => {
    const [one, two] = [startExporter(rest, collector), startExporter(rest, collector)];
    await ship(rest, spool('a'), records(1, 500));
    await reaches(500);
    expect(one.isSending).toBe(!two.isSending);
    const [sending, standing] = one.isSending ? [one, two] : [two, one];
    await sending.close();
    await ship(rest, spool('a'), records(501, 600));
    await reaches(600);
    await standing.close();
    expectWhole(collector.held, 'acme', 600);
    expect(collector.held).toHaveLength(600);
  });

  test('one that wrongly believes that it sends is notified that it was replaced, and moves no cursor', async () => {
    let answer: (reply: Reply) => void = () => undefined;
    collector.reply = ({ nth }) => (nth === 1 ? new Promise<Reply>((resolve) => (answer = resolve)) : 'take');
    await ship(rest, spool('a'), records(1, 5));
    // It is notified of nothing except its own request.
    const frozen = exporting({ pace: { renewMs: 60_000 } });
    await collector.until(() => collector.posts.length === 1);
    await rest.pool.query(`update audit_export_lease set until = '-infinity'`);
    exporting();
    await reaches(5);
    await ship(rest, spool('a'), records(6, 9));
    await reaches(9);
    answer('take');
    await eventually(
      async () => frozen.said,
      (said) => said.some(({ message }) => message.startsWith('another control plane')),
    );
    expect(await cursorOf(rest)).toBe(9);
    expect(frozen.counted.exported).toBe(0);
  });
});

describe('retention', () => {
  const old = (n: number) => entry({ ts: `2026-06-2${n < 3 ? 0 : 4}T12:00:00.000Z` });
  const days = async (): Promise<readonly string[]> =>
    (await rest.pool.query<{ day: string }>(`select distinct to_char(ts, 'YYYYMMDD') as day from audit_entry order by 1`)).rows.map(
      ({ day }) => day,
    );
  const log = {
    said: [] as string[],
    warn: (_: object, message: string) => void log.said.push(message),
    error: (_: object, message: string) => void log.said.push(message),
  };
  beforeEach(() => void log.said.splice(0));
  const maintain = (retentionDays: number) => maintainPartitions({ ...rest.deps, log }, retentionDays, true);

  test('waits for an export that is behind, and continues when the export has caught up', async () => {
    await ship(rest, spool('a'), records(1, 4, old));
    expect(await maintain(2)).toEqual([]);
    expect(log.said).toEqual(['audit entries past their retention are kept until they are exported']);
    exporting();
    await reaches(4);
    expect(await maintain(2)).toEqual(['20260620']);
    expectWhole(collector.held, 'acme', 4);
  });

  test('also waits for the export of another control plane, and for a log that is sent again after it was rolled back', async () => {
    await ship(rest, spool('a'), records(1, 4, old));
    answering('hang');
    const other = exporting();
    await collector.until(() => collector.posts.length === 1);
    expect(await maintainPartitions({ ...rest.deps, log }, 2)).toEqual([]);
    await other.close();
    expect(await days()).toEqual(['20260620', '20260624']);
    await rest.pool.query(
      `insert into audit_export (workspace_id, log_id, position, exported_at) select workspace_id, log_id, ingest + 1, now() from audit_head`,
    );
    expect(await maintain(2)).toEqual([]);
    expect(await days()).toEqual(['20260620', '20260624']);
  });

  test('waits for a limited time; then unsent entries are counted, reported, and sent to the collector as digests', async () => {
    await ship(rest, spool('a'), records(1, 4, old));
    const outAt = Date.parse('2026-06-21T12:00:00.000Z');
    rest.clock.now = new Date(outAt + exportGraceDays * 86_400_000);
    expect(await maintain(1)).toEqual([]);
    rest.clock.now = new Date(rest.clock.now.getTime() + 86_400_000);
    log.said.splice(0);
    expect(await maintain(1)).toEqual(['20260620']);
    expect(log.said).toContain('audit entries past their retention are removed although they were not exported');
    const exporter = exporting();
    await reaches(4);
    expectWhole(collector.held, 'acme', 4);
    expect(collector.held.map(({ eventName }) => eventName)).toEqual([
      'tollgate.audit.retired',
      'tollgate.audit.retired',
      'tollgate.audit.decision',
      'tollgate.audit.decision',
    ]);
    expect(exporter.counted).toMatchObject({ exported: 4, lost: 2 });
    expect(exporter.said).toContainEqual(expect.objectContaining({ level: 'error', fields: { workspace: 'acme', items: 2 } }));
  });

  test('that has left no digest either is also reported, with the positions, and the chain continues from a checkpoint', async () => {
    await ship(rest, spool('a'), records(1, 1, old));
    const first = startExporter(rest, collector);
    await reaches(1);
    await first.close();
    await ship(
      rest,
      spool('a'),
      records(2, 3, () => old(1)),
    );
    await makeDueCheckpoints({ ...rest.deps, log });
    rest.clock.now = new Date('2026-07-20T12:00:00.000Z');
    await ship(
      rest,
      spool('a'),
      records(4, 5, () => entry({ ts: '2026-07-20T12:00:00.000Z' })),
    );
    expect(await maintain(2)).toEqual(['20260620']);
    const exporter = exporting();
    await reaches(5);
    const copy = copyOf(collector.held, 'acme');
    expect(copy.map(({ eventName }) => eventName.replace('tollgate.audit.', ''))).toEqual(['decision', 'missing', 'decision', 'decision']);
    expect(copy[1]?.attributes).toMatchObject({ 'tollgate.missing.first': 2, 'tollgate.missing.last': 3 });
    expect(exporter.counted.lost).toBe(2);
    const { rows } = await rest.pool.query(
      `select encode(chain, 'hex') as chain from audit_head join workspace on id = workspace_id where slug = 'acme'`,
    );
    expect(copy.at(-1)?.attributes['tollgate.chain.value']).toBe(rows[0].chain);
  });

  test('before the export existed is no loss: the export begins with what is kept', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 2, () => old(1)),
    );
    await makeDueCheckpoints({ ...rest.deps, log });
    rest.clock.now = new Date('2026-07-20T12:00:00.000Z');
    await ship(
      rest,
      spool('a'),
      records(3, 4, () => entry({ ts: '2026-07-20T12:00:00.000Z' })),
    );
    expect(await maintainPartitions({ ...rest.deps, log }, 2)).toEqual(['20260620']);
    const exporter = exporting();
    await reaches(4);
    expect(collector.held.map(positionOf)).toEqual([3, 4]);
    expect(exporter.counted.lost).toBe(0);
    expect(await days()).toEqual(['20260720']);
  });
});

test('entries from before the chain existed are sent, too, and the chain begins where it does', async () => {
  await ship(rest, spool('a'), records(1, 3));
  await rest.pool.query(`update audit_entry set digest = null; update audit_head set begins_after = 3, kept_after = 3, chain = null`);
  await ship(rest, spool('a'), records(4, 5));
  exporting();
  await reaches(5);
  expect(collector.held.map(positionOf)).toEqual([1, 2, 3, 4, 5]);
  expect(collector.held.map(({ attributes }) => 'tollgate.chain.value' in attributes)).toEqual([false, false, false, true, true]);
  const { rows } = await rest.pool.query(`select encode(chain, 'hex') as chain from audit_head where ingest = 5`);
  expect(collector.held.at(-1)?.attributes['tollgate.chain.value']).toBe(rows[0].chain);
});

const cases = 12;

test(
  'after any faults in any order have ended, the collector holds every item, and each log is whole',
  async () => {
    const fault = fc.oneof(
      { weight: 3, arbitrary: fc.constant<Fault>(() => 'take') },
      ...[429, 503, 400, 401, 500].map((status) => ({ weight: 1, arbitrary: fc.constant<Fault>(() => ({ status })) })),
      { weight: 1, arbitrary: fc.constant<Fault>(() => 'cut') },
      { weight: 1, arbitrary: fc.constant<Fault>(() => 'hang') },
      {
        weight: 2,
        arbitrary: fc.nat(20).map(
          (max): Fault =>
            ({ records: sent }) =>
              sent.length > max ? { status: 413 } : 'take',
        ),
      },
    );
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('ship' as const),
        slug: fc.constantFrom('acme', 'other'),
        letter: fc.constantFrom('a', 'b'),
        count: fc.integer({ min: 1, max: 40 }),
      }),
      fc.record({ kind: fc.constant('restart' as const) }),
      fc.record({ kind: fc.constant('steal' as const) }),
    );
    const sequences = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 30 }), fc.array(step, { minLength: 1, maxLength: 12 }), async (faults, steps) => {
        const begun = collector.posts.length;
        collector.reply = (post) => faults[post.nth - begun - 1]?.(post) ?? 'take';
        let exporters = [startExporter(rest, collector, { answerMs: 250 }), startExporter(rest, collector, { answerMs: 250 })];
        try {
          for (const one of steps) {
            if (one.kind === 'ship') {
              const key = one.slug + one.letter;
              const from = (sequences.get(key) ?? 0) + 1;
              sequences.set(key, from + one.count - 1);
              await ship(rest, spool(one.letter), records(from, from + one.count - 1), one.slug);
            } else if (one.kind === 'steal') await rest.pool.query(`update audit_export_lease set until = '-infinity', holder = 'gone'`);
            else {
              const [first, ...others] = exporters;
              await first?.close();
              exporters = [...others, startExporter(rest, collector, { answerMs: 250 })];
            }
          }
          collector.reply = () => 'take';
          for (const slug of ['acme', 'other']) {
            const head = await headOf(rest, slug);
            await reaches(head, slug);
            expectWhole(collector.held, slug, head);
          }
        } finally {
          await Promise.all(exporters.map((exporter) => exporter.close()));
        }
      }),
      { numRuns: cases, endOnFailure: true },
    );
  },
  30_000 + cases * 1_000,
);

type Fault = (post: CollectorPost) => Reply;
