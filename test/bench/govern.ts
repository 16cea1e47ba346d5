// P3: one governed call inside the agent's process: decided, its entry built with the input's digest, and written to
// the spool (`kernel`), against one bare `writeSync` of the same bytes.

import { randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../sidecar/clock.ts';
import { startRun } from '../../sidecar/gateway/library/library.ts';
import { createCounters } from '../../sidecar/limits/counters.ts';
import type { Governing } from '../../sidecar/govern/governing.ts';
import { createPolicyCell } from '../../sidecar/snapshot/cell.ts';
import { openSpool } from '../../sidecar/spool/spool.ts';
import { silentLog } from '../support/silent-log.ts';
import { atMost, comparePairs, percentile, type Result, timeBatch } from './measure.ts';
import { benchSnapshot, toolName } from './world.ts';

const tools = 200;
const batch = 20_000;
const rounds = 7;

export async function benchGovern(): Promise<readonly Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  const file = openSync(join(folder, 'bare'), 'w');
  const spool = await openSpool(
    { clock: systemClock, log: silentLog },
    { folder: join(folder, 'spool'), workspace: 'bench', durability: 'kernel', bytesMax: 2 ** 33 },
  );
  try {
    let written = '';
    const keepLast = { ...spool, append: (json: string) => spool.append((written = json)) };
    governed(keepLast)(0);
    const bytes = Buffer.from(written);
    const call = timeBatch(governed(spool));
    const bare = timeBatch(() => void writeSync(file, bytes));
    const { ns, ratio } = comparePairs(call, bare, { batch, rounds });
    const p99 = percentiles(governed(spool), governed({ ...spool, append: () => 1 }));
    return [
      atMost({
        name: 'P3 governed call, mean',
        value: ns,
        unit: 'ns',
        baseline: `writeSync of the same ${bytes.length} bytes`,
        ratio,
        target: 8,
      }),
      atMost({
        name: 'P3 governed call, p99',
        value: p99.withWrite,
        unit: 'ns',
        baseline: 'the same call with the write removed',
        ratio: p99.withWrite / p99.without,
        target: 1.5,
      }),
    ];
  } finally {
    closeSync(file);
    await spool.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One call of a run whose entries go to this spool. */
function governed(spool: Governing['spool']): (at: number) => void {
  const clock = systemClock;
  const cell = createPolicyCell(clock, 'bench');
  const offered = cell.offer(benchSnapshot(tools));
  if (!offered.ok) throw new Error(offered.message);
  cell.heard(1);
  const governing: Governing = {
    cell,
    counters: createCounters(60),
    govern: { cell, clock, newId: randomUUID, keepInput: true },
    spool,
    durability: 'kernel',
    unrecorded: 0,
    unconfirmed: 0,
  };
  const run = startRun(governing, { agent: 'worker', tier: 'api', client: { name: 'bench' } });
  return (at) => {
    const verdict = run.decide({
      tool: toolName(at % tools),
      input: { path: `/srv/data/${at}.json`, limit: 100, flags: ['r', 'nofollow'], note: 'monthly report' },
    });
    if (verdict instanceof Promise || !verdict.allowed) throw new Error('the call was not permitted at once');
  };
}

/** p99 of single calls, the two kinds taken in turn. */
function percentiles(
  withWrite: (at: number) => void,
  without: (at: number) => void,
): { readonly withWrite: number; readonly without: number } {
  const samples = { withWrite: [] as number[], without: [] as number[] };
  for (let at = 0; at < 2 * batch; at++) {
    samples.withWrite.push(timeOne(withWrite, at));
    samples.without.push(timeOne(without, at));
  }
  return { withWrite: percentile(samples.withWrite.slice(batch), 0.99), without: percentile(samples.without.slice(batch), 0.99) };
}

function timeOne(run: (at: number) => void, at: number): number {
  const startedAt = process.hrtime.bigint();
  run(at);
  return Number(process.hrtime.bigint() - startedAt);
}
