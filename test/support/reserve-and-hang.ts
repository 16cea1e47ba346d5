// A control plane that begins a run and reserves for it, and then only stays alive until it is killed. Arguments: the
// database as JSON, the workspace's id. Prints `<instance> <run id> <amount>`.
import { randomBytes } from 'node:crypto';
import { Pool, type PoolConfig } from 'pg';
import { makeId } from '../../control-plane/access/rules/key.ts';
import { startHeartbeat } from '../../control-plane/runs/operations/liveness/heartbeat.ts';
import { createRunBooks } from '../../control-plane/runs/operations/books/run-books.ts';
import { silentLog } from './silent-log.ts';

const [connection = '{}', workspace = ''] = process.argv.slice(2);
const pool = new Pool(JSON.parse(connection) as PoolConfig);
const heartbeat = await startHeartbeat({ pool, random: randomBytes, log: silentLog });
const { money, records } = createRunBooks({ pool, clock: () => new Date(), random: randomBytes, dailyCap: 10_000_000 }, heartbeat.instance);
const run = { workspaceId: Number(workspace), id: makeId(randomBytes) };
await records.begin({
  ...run,
  agentId: 'a'.repeat(20),
  agentName: 'bot',
  sub: 'ann',
  parentRunId: null,
  model: 'm',
  budget: 5_000_000,
  request: {},
});
const granted = await money.reserve(run, { least: 1, most: 4_000_000 });
process.stdout.write(`${heartbeat.instance} ${run.id} ${granted.kind === 'granted' ? granted.amount : granted.kind}\n`);
