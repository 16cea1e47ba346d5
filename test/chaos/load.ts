// The load while things break: agents that call tools, and administrators who read and write. Every answer is kept, so
// that it can be compared with the database at the end.
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { startRun } from '../../sidecar/doors/library/library.ts';
import type { Verdict } from '../../sidecar/engine/govern/verdict.ts';
import type { followPlane } from '../support/plane.ts';
import type { Answer, ControlPlane } from '../support/programs.ts';
import type { Measure } from './measure.ts';
import type { Postgres } from './postgres.ts';
import { askAsOwner } from './world.ts';

type PlaneFollower = Awaited<ReturnType<typeof followPlane>>;

/** Decides an agent's call now. */
export function decide({ sidecar }: Pick<PlaneFollower, 'sidecar'>, tool: string, sessionId: string): Verdict {
  const verdict = startRun(sidecar, { agent: 'bot', tier: 'api', sessionId }).decide({ tool, input: {} });
  if (verdict instanceof Promise) throw new Error('a decision was not answered at once');
  return verdict;
}

const decideEveryMs = 5;

/** An agent that calls continuously; every call is allowed. */
export function keepDeciding(followed: PlaneFollower, sessionId: string) {
  const answered: string[] = [];
  const denied: Verdict[] = [];
  const timer = setInterval(() => {
    const verdict = decide(followed, 'files.read', sessionId);
    answered.push(verdict.requestId);
    if (!verdict.allowed) denied.push(verdict);
  }, decideEveryMs);
  return { followed, sessionId, answered, denied, stop: () => clearInterval(timer) };
}

export type Deciding = ReturnType<typeof keepDeciding>;

interface LoadAnswer extends Answer {
  readonly lane: number;
  /** Null for a read. */
  readonly document: object | null;
}

const restMs = 10;
const lanesOfPlane = 4;
const placeOf = (lane: number): string => `chaos::api::lane-${lane}`;
const reads = ['/api/v1/agents', '/default/admin/audit?limit=10'] as const;

/**
 * On each control plane two administrators write documents that are all different, each to a place of its own, and two
 * read.
 */
export function keepAsking(planes: readonly ControlPlane[], measure: Measure) {
  const asked: LoadAnswer[] = [];
  let stopped = false;
  let wake = (): void => {};
  const run = async (question: (n: number) => Promise<LoadAnswer>): Promise<void> => {
    for (let n = 0; !stopped; n += 1) {
      asked.push(await question(n));
      wake();
      await delay(restMs);
    }
  };
  const write = async (plane: ControlPlane, lane: number, n: number): Promise<LoadAnswer> => {
    const document = { tools: { [`lane-${lane}.${n}`]: { api: { permission: 'deny' } } } };
    const answer = await measure('an answer', () =>
      askAsOwner(plane, `/default/admin/agentTypePolicies/${placeOf(lane)}`, { method: 'PUT', body: document }),
    );
    return { ...answer, lane, document };
  };
  const read = async (plane: ControlPlane, lane: number, path: string): Promise<LoadAnswer> => ({
    ...(await measure('an answer', () => askAsOwner(plane, path))),
    lane,
    document: null,
  });
  const running = planes.flatMap((plane, at) => {
    const first = at * lanesOfPlane;
    return [
      ...[first, first + 1].map((lane) => run((n) => write(plane, lane, n))),
      ...reads.map((path, nth) => run(() => read(plane, first + 2 + nth, path))),
    ];
  });
  const allLanes = running.map((_, lane) => lane);
  return {
    asked,
    allLanes,
    writeLanes: allLanes.filter((lane) => lane % lanesOfPlane < 2),
    /** The lanes that read the audit log. */
    logLanes: allLanes.filter((lane) => lane % lanesOfPlane === 3),
    /** Resolves once each of these lanes received this status `times` times from now on. */
    answers: (status: number, times: number, of: readonly number[]): Promise<void> => {
      const from = asked.length;
      return new Promise((done) => {
        wake = () => {
          const counts = of.map((lane) => asked.slice(from).filter((answer) => answer.lane === lane && answer.status === status).length);
          if (counts.every((count) => count >= times)) done();
        };
        wake();
      });
    },
    stop: async () => {
      stopped = true;
      await Promise.all(running);
    },
  };
}

export type Asking = ReturnType<typeof keepAsking>;

interface HistoryRow {
  readonly revision: number;
  readonly target: string;
  readonly document: object;
}

export async function readRevision(postgres: Postgres): Promise<number> {
  const [row] = await postgres.query<{ revision: string }>("select revision from workspace where slug = 'default'");
  return Number(row?.revision);
}

const listens = "application_name = any($1) and (query like 'listen tollgate_revision%' or query = 'select 1')";

/** The backends that listen for revisions, for the control planes with these names. */
export async function readListeners(postgres: Postgres, names: readonly string[]): Promise<readonly number[]> {
  const rows = await postgres.query<{ pid: number }>(`select pid from pg_stat_activity where ${listens}`, [names]);
  return rows.map(({ pid }) => pid);
}

export async function killListeners(postgres: Postgres, names: readonly string[]): Promise<void> {
  await postgres.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${listens}`, [names]);
}

const target = `'policy/' || layer || case key when '' then '' else ':' || key end as target`;

/**
 * Every answered write is stored, and every refused write is stored completely or not: revision, history, event and
 * document.
 */
export async function expectWhole(postgres: Postgres, { asked }: Pick<Asking, 'asked'>, since: number): Promise<void> {
  const [history, events, documents] = await Promise.all([
    postgres.query<HistoryRow>(
      `select revision::int, ${target}, document from policy_history where revision > $1 order by revision, target`,
      [since],
    ),
    postgres.query<Omit<HistoryRow, 'document'>>('select revision::int, target from admin_event where revision > $1 order by revision', [
      since,
    ]),
    postgres.query<HistoryRow>(`select revision::int, ${target}, document from policy_document where revision > $1`, [since]),
  ]);
  const raised = (await readRevision(postgres)) - since;
  expect(history.map(({ revision }) => revision)).toEqual(Array.from({ length: raised }, (_, at) => since + 1 + at));
  expect(events).toEqual(history.map(({ revision, target }) => ({ revision, target })));
  const last = new Map(history.map((row) => [row.target, row]));
  expect(new Map(documents.map((row) => [row.target, row]))).toEqual(last);
  const written = asked.filter(({ document, status }) => document !== null && status === 200);
  const found = new Map(history.map((row) => [row.revision, row]));
  expect(written.map(({ body }) => found.get(Number(body['revision'])))).toEqual(
    written.map(({ lane, document, body }) => ({
      revision: Number(body['revision']),
      target: `policy/agent-type:${placeOf(lane)}`,
      document,
    })),
  );
  const refused = asked
    .filter(({ document, status }) => document !== null && status !== 200)
    .map(({ document }) => JSON.stringify(document));
  const times = (text: string): number => history.filter(({ document }) => JSON.stringify(document) === text).length;
  expect(refused.filter((text) => times(text) > 1)).toEqual([]);
}

/** Every answered decision has exactly one entry, and no other entry exists. */
export async function expectRecorded(postgres: Postgres, { sessionId, answered }: Pick<Deciding, 'sessionId' | 'answered'>): Promise<void> {
  const rows = await postgres.query<{ id: string }>(`select entry->>'requestId' as id from audit_entry where session_id = $1`, [sessionId]);
  expect(rows.map(({ id }) => id).sort()).toEqual([...answered].sort());
  expect(await postgres.query('select * from audit_gap')).toEqual([]);
}
