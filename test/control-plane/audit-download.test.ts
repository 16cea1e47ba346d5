import { once } from 'node:events';
import { readSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { ingestedQuery } from '../../control-plane/audit/store/audit.ts';
import { withClient } from '../support/database.ts';
import { createRest, errorOf, type Rest } from './rest.ts';
import { entry, records, ship, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await rest.close();
});

const url = '/acme/admin/audit/export';
const ids = (letter: string, from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `${spool(letter)}-${from + at}`);
const day = (n: number): string => `2026-06-${String(n).padStart(2, '0')}T00:00:00.000Z`;

async function exported(query: Readonly<Record<string, string>> = {}): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { status, body, headers } = await rest.ask('GET', `${url}?${new URLSearchParams(query).toString()}`);
  expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/x-ndjson' });
  const lines = String(body).split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}
const exportedIds = async (query: Readonly<Record<string, string>> = {}) => (await exported(query)).map(({ id }) => id);

/** Far more than the buffers on the way hold, so that an export of it waits for its reader. */
async function fill(): Promise<void> {
  for (let n = 0; n < 4; n += 1) {
    await ship(
      rest,
      spool('a'),
      records(n * 1000 + 1, n * 1000 + 1000, () => entry({ input: 'x'.repeat(8000) })),
    );
  }
}

/** An export whose first bytes have arrived; `rest` reads what follows. */
async function begin(key = rest.owner) {
  const { statusCode, body } = await request(rest.origin + url, { headers: { authorization: `Bearer ${key}` } });
  expect(statusCode).toBe(200);
  const chunks = body[Symbol.asyncIterator]();
  await chunks.next();
  const readOn = async (): Promise<number> => {
    let bytes = 0;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) bytes += (next.value as Buffer).length;
    return bytes;
  };
  return { readOn };
}

describe('an export', () => {
  test('has every entry, exactly as a query shows it, in the order of ingestion', async () => {
    await ship(rest, spool('b'), records(1, 3));
    await ship(
      rest,
      spool('a'),
      records(1, 1200, (n) => entry({ ts: day(25 - (n % 20)) })),
    );
    await ship(rest, spool('b'), records(4, 5));
    const found = await exported();
    expect(found.map(({ id }) => id)).toEqual([...ids('b', 1, 3), ...ids('a', 1, 1200), ...ids('b', 4, 5)]);
    const { body } = await rest.ask('GET', '/acme/admin/audit?limit=1000');
    const byId = new Map(found.map((one) => [one['id'], one]));
    expect(Object(body).entries).not.toHaveLength(0);
    for (const one of Object(body).entries) expect(byId.get(one.id)).toEqual(one);
  });

  test('of an empty log, and of one where nothing matches, is empty', async () => {
    expect(await exported()).toEqual([]);
    await ship(rest, spool('a'), records(1, 3));
    expect(await exported({ tool: 'none' })).toEqual([]);
  });

  test('since is inclusive and until exclusive, by the time of decision', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 20, (n) => entry({ ts: day(21 - n) })),
    );
    expect(await exportedIds({ since: day(5), until: day(8) })).toEqual(ids('a', 14, 16));
    expect(await exportedIds({ since: day(19) })).toEqual(ids('a', 1, 2));
    expect(await exportedIds({ until: day(3) })).toEqual(ids('a', 19, 20));
  });

  test('filters are exact and may be combined, over many pages', async () => {
    for (let n = 0; n < 5; n += 1) {
      const of = (at: number) =>
        entry({ tool: at % 1700 === 0 ? 'rare' : 'common', decision: at % 2 ? 'deny' : 'allow', sessionId: `s${at % 2}` });
      await ship(rest, spool('a'), records(n * 1000 + 1, n * 1000 + 1000, of));
    }
    expect(await exportedIds({ tool: 'rare' })).toEqual([1700, 3400].map((n) => `${spool('a')}-${n}`));
    expect(await exportedIds({ decision: 'deny', session: 's1' })).toHaveLength(2500);
    expect(await exportedIds({ decision: 'deny', session: 's0' })).toEqual([]);
  });

  test('ends with the newest entry at the moment of the request', async () => {
    await fill();
    const under = request(`${rest.origin + url}?agent=bot`, { headers: { authorization: `Bearer ${rest.owner}` } });
    const { body } = await under;
    await ship(rest, spool('b'), records(1, 10));
    const text = await body.text();
    expect(text.trim().split('\n')).toHaveLength(4000);
    expect(text).not.toContain(`${spool('b')}-`);
  });

  test('shows nothing of another workspace', async () => {
    await ship(rest, spool('a'), records(1, 3), 'other');
    expect(await exported()).toEqual([]);
  });
});

/** Advances the monotonic clock by this time. */
function skipAhead(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}

/**
 * The result of the socket once all data has been read. Node reports a reset as an end where the read before it was not
 * full.
 */
async function endOf(socket: Socket): Promise<unknown> {
  const fd = Number(Object(socket)._handle.fd);
  const bytes = Buffer.alloc(65_536);
  for (;;) {
    try {
      if (readSync(fd, bytes) === 0) return 'end';
    } catch (error) {
      if (Object(error).code !== 'EAGAIN') return Object(error).code;
      await turn();
    }
  }
}

describe('an export that cannot be completed is cut', () => {
  test('when the key is revoked', async () => {
    await fill();
    const { readOn } = await begin(await rest.keyOf('admin'));
    await rest.ask('DELETE', '/acme/admin/members/admin-1');
    skipAhead(2_001);
    await expect(readOn()).rejects.toThrow();
  });

  test('in a way that a client of HTTP/1.0, such as a proxy, does not take for an end', async () => {
    await fill();
    const key = await rest.keyOf('admin');
    const { hostname, port } = new URL(rest.origin);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(`GET ${url} HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await once(socket, 'readable');
    expect(String(socket.read(12))).toBe('HTTP/1.1 200');
    await rest.ask('DELETE', '/acme/admin/members/admin-1');
    skipAhead(2_001);
    expect(await endOf(socket)).toBe('ECONNRESET');
  });

  test('when the database is away', async () => {
    await fill();
    rest.pool.on('error', () => {});
    const { readOn } = await begin();
    const { address } = inject('testServer');
    const { rows } = await rest.pool.query<{ name: string }>('select current_database() as name');
    await withClient(address, async (client) => {
      await client.query(`alter database ${rows[0]?.name} allow_connections false`);
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [rows[0]?.name]);
    });
    await expect(readOn()).rejects.toThrow();
  });

  test('when the control plane stops, after a second at most, whether its client reads or not', async () => {
    await fill();
    const reading = await begin();
    const idle = await begin();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const stopped = rest.app.close();
    await expect(reading.readOn()).rejects.toThrow();
    vi.advanceTimersByTime(1_000);
    await stopped;
    vi.useRealTimers();
    await expect(idle.readOn()).rejects.toThrow();
  });

  test('and is refused where no byte of it was sent yet', async () => {
    await ship(rest, spool('a'), records(1, 3));
    await rest.pool.query('alter table audit_entry rename to away');
    expect(await rest.ask('GET', url)).toMatchObject({ status: 500, body: { error: expect.any(String) } });
    await rest.pool.query('alter table away rename to audit_entry');
  });
});

describe('parameters are validated', () => {
  const all = ['', '/stream', '/export'];
  const refused = async (path: string, query: string): Promise<string> => {
    const answer = await rest.ask('GET', `/acme/admin/audit${path}?${query}`);
    expect(answer.status).toBe(400);
    return errorOf(answer);
  };

  test('a limit is an integer in decimal digits', async () => {
    for (const limit of ['0x10', '1e3', '1.0', '', ' 5', '5 ', '١٠', '0b1', 'NaN', 'Infinity', '--1', '1_000'].map(encodeURIComponent)) {
      expect(await refused('', `limit=${limit}`), limit).toBe('limit must be an integer');
      expect(errorOf(await rest.ask('GET', `/acme/admin/events?limit=${limit}`)), limit).toBe('limit must be an integer');
    }
    expect(errorOf(await rest.ask('GET', '/acme/admin/events?limit=1&limit=2'))).toBe('limit must be given once');
    expect(errorOf(await rest.ask('GET', '/acme/admin/events?limits=1'))).toBe('limits is not a parameter here');
  });

  test('since and until are date-times that exist', async () => {
    const wrong = ['2026-02-30', '2026-02-29T12:00:00Z', '2026-13-01', '2026-06-25T24:00:00Z', '2026-06-25T12:60:00Z', 'now', ''];
    const forms = ['1782388800', '2026-06-25 12:00:00Z', '2026-6-5', '+002026-06-25T12:00:00Z'];
    for (const at of [...wrong, ...forms].map(encodeURIComponent)) {
      expect(await refused('', `since=${at}`), at).toBe('since must be an ISO 8601 date-time such as 2026-06-25T12:00:00Z');
      expect(await refused('/export', `since=${at}`), at).toBe('since must be an ISO 8601 date-time such as 2026-06-25T12:00:00Z');
      expect(await refused('/export', `until=${at}`), at).toBe('until must be an ISO 8601 date-time such as 2026-06-25T12:00:00Z');
    }
  });

  test('a parameter that is repeated is named', async () => {
    for (const path of all) {
      for (const name of ['tool', 'decision', 'agent', 'sub', 'session', 'reason']) {
        expect(await refused(path, `${name}=allow&${name}=allow`)).toBe(`${name} must be given once`);
      }
    }
    expect(await refused('', 'limit=1&limit=2&since=a&since=b&cursor=1&cursor=2')).toBe(
      'since must be given once; limit must be given once; cursor must be given once',
    );
    expect(await refused('/export', 'since=a&since=b&until=1&until=2')).toBe('since must be given once; until must be given once');
  });

  test('an unknown parameter is named, with the list of known ones', async () => {
    const filters = 'tool, decision, agent, sub, session, reason';
    expect(await refused('', 'tol=x')).toBe(`tol is not a parameter; the parameters are since, until, limit, cursor, ${filters}`);
    expect(await refused('/export', 'limit=5')).toBe(`limit is not a parameter; the parameters are since, until, ${filters}`);
    expect(await refused('/stream', 'since=2026-06-25')).toBe(`since is not a parameter; the parameters are ${filters}`);
    expect(await refused('/stream', 'last-event-id=5&__proto__=1&constructor=2')).toMatch(
      /^last-event-id is not.*; __proto__ is not.*; constructor is not/,
    );
  });

  test('decision is allow or deny, and no text holds NUL', async () => {
    for (const path of all) {
      expect(await refused(path, 'decision=Allow')).toBe('decision must be allow or deny');
      expect(await refused(path, 'tool=%00')).toBe('tool must be text without NUL');
    }
  });

  test('until must be after since', async () => {
    expect(await refused('/export', `since=${day(5)}&until=${day(5)}`)).toBe('until must be after since');
  });
});

test('a tail, a resume and an export with since read the rows of one page by the index, over many days', async () => {
  const workspaceId = await workspaceIdOf(rest);
  await ship(
    rest,
    spool('a'),
    records(1, 25, (n) => entry({ ts: day(n) })),
  );
  await rest.pool.query(
    `insert into audit_entry select $1, '2026-06-01T00:00:00Z'::timestamptz + n * interval '43 seconds', '${spool('c')}', n, n + 25, now(),
       case when n % 10000 = 0 then 'rare' else 'common' end, 'allow', 'bot', 'ann', 's' || n % 50, '{}' from generate_series(1, 50000) n`,
    [workspaceId],
  );
  await rest.pool.query('analyze audit_entry');
  const upTo = 50_025;
  const open = { since: null, until: null };
  const asked = {
    tail: { after: upTo - 3, upTo, ...open, filters: {} },
    'a tail of a rare tool': { after: upTo - 3, upTo, ...open, filters: { tool: 'rare' } },
    resume: { after: 30_000, upTo, ...open, filters: {} },
    'a resume of a common tool': { after: 0, upTo, ...open, filters: { tool: 'common' } },
    export: { after: 0, upTo, ...open, filters: {} },
    'an export with since': {
      after: 0,
      upTo,
      since: new Date('2026-06-19T18:00:00Z'),
      until: new Date('2026-06-21T00:00:00.001Z'),
      filters: {},
    },
    'an export of a rare tool with since': { after: 0, upTo, since: new Date(day(20)), until: null, filters: { tool: 'rare' } },
  };
  for (const [name, range] of Object.entries(asked)) {
    const { text, values } = ingestedQuery(workspaceId, range);
    const { rows } = await rest.pool.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers off, costs off, timing off) ${text}`,
      values,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    const page = plan.slice(plan.indexOf('CTE page'), plan.indexOf('Aggregate'));
    expect(page, name).toContain('workspace_id_ingest_idx');
    expect(page, name).not.toMatch(/Seq Scan|Sort Key: .*tool|Bitmap/);
    const walked = [...page.matchAll(/Scan using .*rows=(\d+(?:\.\d+)?)/g)].map(([, found]) => Number(found));
    expect(
      walked.reduce((sum, found) => sum + found, 0),
      `${name}\n${plan}`,
    ).toBeLessThanOrEqual(2100);
  }
});
