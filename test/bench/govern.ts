// One governed call inside the agent's process: decided, its entry built with the input's digest, and written to the
// spool (`kernel`). P3 compares it with one bare `writeSync` of the same bytes, S7 with the floor of an entry.

import { hash, randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { canonicalJson } from '@tollgate/proto/contract';
import { systemClock } from '../../sidecar/base/clock.ts';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { createCounters } from '../../sidecar/engine/limits/counters.ts';
import type { Governing } from '../../sidecar/engine/govern/governing.ts';
import { createOwedEntries } from '../../sidecar/engine/govern/owed-entries.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import { headerBytes } from '../../sidecar/engine/spool/record.ts';
import { openSpool } from '../../sidecar/engine/spool/spool.ts';
import { silentLog } from '../support/silent-log.ts';
import { comparePairs, judge, percentile, type Result, timeBatch } from './measure.ts';
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
    const floor = comparePairs(call, timeBatch(floorOf(written, file)), { batch, rounds });
    const p99 = percentilesOf({
      call: governed(spool),
      without: governed({ ...spool, append: () => 1 }),
      write: () => void writeSync(file, bytes),
    });
    return [
      judge('P3 mean', {
        name: 'P3 governed call, mean',
        value: ns,
        unit: 'ns',
        baseline: `writeSync of the same ${bytes.length} bytes`,
        ratio,
      }),
      judge('S7 mean', {
        name: 'S7 governed call, mean',
        value: floor.ns,
        unit: 'ns',
        baseline: `the floor of an entry: canonical form, SHA-256, JSON.stringify, CRC-32, UUID, writeSync (${Math.round(floor.baselineNs)} ns)`,
        ratio: floor.ratio,
      }),
      judge('P3 p99', {
        name: 'P3 governed call, p99',
        value: p99.call,
        unit: 'ns',
        baseline: `the bare write (${p99.write} ns) and the same call without it (${p99.without} ns), each at its p99, added`,
        ratio: p99.call / (p99.write + p99.without),
      }),
    ];
  } finally {
    closeSync(file);
    await spool.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const inputOf = (at: number) => ({ path: `/srv/data/${at}.json`, limit: 100, flags: ['r', 'nofollow'], note: 'monthly report' });

/** What an entry costs by itself, without a decision: its input and its fields become text, and the text a record on disk. */
function floorOf(entry: string, file: number): (at: number) => void {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(entry);
  const record = Buffer.alloc(64 * 1024);
  return (at) => {
    const input = canonicalJson(inputOf(at));
    const text = JSON.stringify({ ...fields, requestId: randomUUID(), inputDigest: hash('sha256', input), input });
    const length = record.write(text, headerBytes);
    record.writeUInt32LE(crc32(record.subarray(headerBytes, headerBytes + length)), 4);
    writeSync(file, record, 0, headerBytes + length);
  };
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
    owed: createOwedEntries(),
    unrecorded: 0,
    unconfirmed: 0,
  };
  const run = startRun(governing, { agent: 'worker', tier: 'api', client: { name: 'bench' } });
  return (at) => {
    const verdict = run.decide({
      tool: toolName(at % tools),
      input: inputOf(at),
    });
    if (verdict instanceof Promise || !verdict.allowed) throw new Error('the call was not permitted at once');
  };
}

type Kind = 'call' | 'without' | 'write';

/** p99 in ns of single calls of each kind, taken in turn; the first half is not counted. */
function percentilesOf(runs: Readonly<Record<Kind, (at: number) => void>>): Readonly<Record<Kind, number>> {
  const samples: Record<Kind, number[]> = { call: [], without: [], write: [] };
  for (let at = 0; at < 2 * batch; at++) {
    samples.call.push(timeOne(runs.call, at));
    samples.without.push(timeOne(runs.without, at));
    samples.write.push(timeOne(runs.write, at));
  }
  const p99 = (kind: Kind): number => percentile(samples[kind].slice(batch), 0.99);
  return { call: p99('call'), without: p99('without'), write: p99('write') };
}

function timeOne(run: (at: number) => void, at: number): number {
  const startedAt = process.hrtime.bigint();
  run(at);
  return Number(process.hrtime.bigint() - startedAt);
}
