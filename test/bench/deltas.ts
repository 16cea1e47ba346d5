// P7: one rule changes in a workspace of 10,000 agents and 10,000 users, compared with a workspace of 100 each.
// Measures how long a control plane takes from the new revision to the encoded delta, reading included, and how long
// the delta is. On a real PostgreSQL.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { type HeldWorkspace, holdWorkspace } from '../../control-plane/publish/holding.ts';
import { publishView } from '../../control-plane/publish/published.ts';
import { startEmbedded } from '../../control-plane/database/embedded/start.ts';
import { migrate } from '../../control-plane/database/migrate.ts';
import { writeDocument } from '../../control-plane/policies/store/policies.ts';
import { createPool } from '../../control-plane/database/pool.ts';
import { raiseRevision } from '../../control-plane/workspaces/store/revision.ts';
import { inTransaction } from '../../control-plane/database/transaction.ts';
import { readWorkspace } from '../../control-plane/workspaces/store/workspace-state.ts';
import { judge, judgeAmount, percentile, type Result } from './measure.ts';

const large = Number(process.env['TOLLGATE_BENCH_AGENTS'] ?? 10_000);
const small = 100;
const rounds = 201;
const warmUp = 20;
const defaults = { defaultPermission: 'allow', windowSeconds: 60 } as const;

export async function benchDeltas(): Promise<readonly Result[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
  const server = await startEmbedded({ dataDir, log: () => {} });
  try {
    await migrate(server.connection);
    const pool = createPool(server.connection, console, 4);
    try {
      return await measure(pool);
    } finally {
      await pool.end();
    }
  } finally {
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function measure(pool: pg.Pool): Promise<readonly Result[]> {
  await pool.query("insert into deployment (epoch, owner_key_hash, created_at) values ('e1', '', now())");
  const [one, many] = [await createWorkspace(pool, 'small', small), await createWorkspace(pool, 'large', large)];
  const pairs: { readonly ms: number; readonly baselineMs: number }[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds + warmUp; round += 1) {
    const baseline = await publishChange(pool, one, round);
    const subject = await publishChange(pool, many, round);
    bytes = Math.max(bytes, subject.bytes);
    if (round >= warmUp) pairs.push({ ms: subject.ms, baselineMs: baseline.ms });
  }
  const sizes = `${large} agents, ${large} users`;
  return [
    judge('P7 time', {
      name: `P7 one rule changed at ${sizes}: read, compile, delta`,
      value: percentile(
        pairs.map(({ ms }) => ms),
        0.5,
      ),
      unit: 'ms',
      baseline: `the same at ${small} each`,
      ratio: percentile(
        pairs.map(({ ms, baselineMs }) => ms / baselineMs),
        0.5,
      ),
    }),
    judgeAmount('P7 delta', bytes / 1024, {
      name: `P7 delta of one rule at ${sizes}`,
      value: bytes,
      unit: 'bytes a sidecar',
      baseline: '2 KiB',
    }),
  ];
}

interface Bench {
  readonly id: number;
  readonly holding: HeldWorkspace;
}

async function createWorkspace(pool: pg.Pool, slug: string, size: number): Promise<Bench> {
  const { rows } = await pool.query<{ id: string }>('insert into workspace (slug, created_at) values ($1, now()) returning id', [slug]);
  const id = Number(rows[0]?.id);
  const each = 'from generate_series(1, $2::int) as n';
  await pool.query(
    `insert into member (workspace_id, uid, email, role, created_at) select $1, 'user-' || n, n || '@acme.test', 'member', now() ${each}`,
    [id, size],
  );
  await pool.query(
    `insert into agent (workspace_id, id, name, model, system_prompt, description, icon, enabled_tools, scopes, max_tool_calls,
       max_budget_cents, max_duration_ms, max_tool_rounds, delegatable, can_delegate, suspended, created_at, updated_at)
     select $1, 'agent-' || n, 'agent ' || n, 'demo/echo', '', '', '', array['mail.*', 'github.*'], '{}', 100, 1000, 60000, 10, true, true, false, now(), now() ${each}`,
    [id, size],
  );
  await pool.query(
    `insert into policy_document (workspace_id, layer, key, part, document, revision)
     select $1, 'user', 'user-' || n, 'organisation', '{"tools": {"mail.send": {"api": {"rateLimit": 10}}}}', 0 ${each}`,
    [id, size],
  );
  await writeRule(pool, id, 0);
  await pool.query('analyze');
  const read = await readWorkspace(pool, id, null);
  if (read?.kind !== 'whole') throw new Error('a new workspace was not read whole');
  return { id, holding: holdWorkspace(read, defaults) };
}

const writeRule = (pool: pg.Pool, id: number, rateLimit: number): Promise<void> =>
  inTransaction(pool, async (client) => {
    const revision = await raiseRevision(client, id);
    const tools = Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`tool.${at}`, { api: { rateLimit: at === 0 ? rateLimit : at } }]),
    );
    await writeDocument(
      client,
      id,
      { id: { layer: 'role', role: 'member' }, document: { tools } },
      { revision, sub: 'bench', at: new Date(0) },
    );
  });

async function publishChange(
  pool: pg.Pool,
  { id, holding }: Bench,
  round: number,
): Promise<{ readonly ms: number; readonly bytes: number }> {
  await writeRule(pool, id, 1_000 + round);
  const from = { epoch: holding.epoch, number: holding.revision };
  const startedAt = performance.now();
  const read = await readWorkspace(pool, id, from);
  if (read?.kind !== 'changes') throw new Error('a change was not read as one');
  holding.change(read);
  const bytes = publishView(holding, { form: 'process' }, 0).delta(from);
  const ms = performance.now() - startedAt;
  if (bytes === null) throw new Error('a rule was not told as a delta');
  return { ms, bytes: bytes.length };
}
