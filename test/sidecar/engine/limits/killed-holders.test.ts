// A model of processes that share the cap of one session and are killed: at any moment, between the write of a count and
// the answer to its caller, and in the middle of a write. Later processes report what the killed ones had used, in any
// order, late, and more than once. The ledger is the control plane's, the leases and the files are the sidecar's.
// `TOLLGATE_TEST_CASES` raises the number of cases. A failure prints the seed of its case.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { QuotaAsk } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { askLedger, type CounterState, freshCounter } from '../../../../control-plane/quota/rules/ledger.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { SharedRunCalls } from '../../../../sidecar/engine/limits/shared-calls.ts';
import { GrantFile } from '../../../../sidecar/engine/spool/grant-file.ts';
import { readGrants } from '../../../../sidecar/engine/spool/left-grants.ts';
import { diskFs, type SpoolFs } from '../../../../sidecar/engine/spool/spool-fs.ts';
import { runOf } from '../../../support/lease-names.ts';
import { randomFrom } from '../../../support/random.ts';
import { temporaryFolder } from '../../../support/spools.ts';

const cases = Math.ceil(Number(process.env['TOLLGATE_TEST_CASES'] ?? 5_000) * 0.04);
const run = runOf('agent');

class Killed extends Error {}

/** A disk of a process that can be killed in one of its next operations. */
function createDisk() {
  let left = Number.POSITIVE_INFINITY;
  let bytesMax = 0;
  const live = (): boolean => (left -= 1) > 0;
  const during = <T>(operation: () => T): T => {
    if (!live()) throw new Killed();
    return operation();
  };
  const fs: SpoolFs = {
    ...diskFs,
    openSync: (...args) => during(() => diskFs.openSync(...args)),
    renameSync: (...args) => during(() => diskFs.renameSync(...args)),
    writeSync: (fd, buffer, offset, length, position) => {
      if (live()) return diskFs.writeSync(fd, buffer, offset, length, position);
      if (left === 0) diskFs.writeSync(fd, buffer, offset, Math.min(length, bytesMax), position);
      throw new Killed();
    },
  };
  return {
    fs,
    killIn: (operations: number, writtenMax: number): void => {
      left = operations;
      bytesMax = writtenMax;
    },
  };
}

interface TestProcess {
  readonly holder: string;
  readonly folder: string;
  readonly leases: Leases;
  readonly calls: SharedRunCalls;
  readonly file: GrantFile;
  readonly disk: ReturnType<typeof createDisk>;
}

/** `isGentle`: no message is lost, no write is torn, and every grant is in a file before a kill. */
function playCase(seed: number, above: string, isGentle: boolean): { readonly admitted: number; readonly cap: number } {
  const random = randomFrom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const happens = (chance: number): boolean => random() < chance;
  const cap = 1 + below(40);
  let now = 1_000;
  let state: CounterState = freshCounter(now);
  let admitted = 0;
  let begun = 0;
  const dead: TestProcess[] = [];
  const living = [begin(), begin()];

  function begin(): TestProcess {
    const folder = join(above, `${seed}-${(begun += 1)}`);
    mkdirSync(folder);
    const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
    leases.policyChanged({ epoch: 'e', number: 1 }, now);
    leases.opened();
    const disk = createDisk();
    const file = new GrantFile(disk.fs, { folder, bootId: 'boot' });
    file.follow(leases);
    file.want(true);
    return { holder: `holder-${begun}`, folder, leases, calls: new SharedRunCalls(leases, run), file, disk };
  }

  function kill(at: number): void {
    dead.push(...living.splice(at, 1, begin()));
  }

  /** Runs a step of the process at this place. The process may be killed in it. */
  function stepOf(at: number, step: (process: TestProcess) => void): void {
    const process = living[at];
    try {
      if (process !== undefined) step(process);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      kill(at);
    }
  }

  function call({ calls, file }: TestProcess): void {
    if (!calls.hasCapacity(cap, now, false)) return void calls.awaits(now);
    calls.take(now);
    const undo = calls.undoOf(now);
    file.writeOut();
    if (!isGentle && happens(0.05)) undo(now);
    else admitted += 1;
    if (admitted > cap) throw new Error(`seed ${seed}: ${admitted} calls of ${cap} were admitted`);
  }

  function askAs(holder: string, { number, waiting, onlySettles, made, settled }: Omit<QuotaAsk, 'counter'>) {
    const outcome = askLedger(state, { kind: 'total', max: cap }, { holder, number, waiting, onlySettles, made, settled }, now);
    if ('falseClaim' in outcome) throw new Error(`seed ${seed}: ${outcome.falseClaim}`);
    ({ state } = outcome);
    return outcome;
  }

  function exchange({ holder, leases, file }: TestProcess): void {
    leases.endWaits(now);
    for (const ask of leases.asks(now)) {
      const { result, recall } = askAs(holder, ask);
      for (const other of living)
        if (recall.some((one) => one.holder === other.holder) && (isGentle || happens(0.7))) other.leases.recalled([run], now);
      if (isGentle || happens(0.8)) leases.answered([{ counter: run, number: ask.number, result }], now);
      else {
        leases.lost(now);
        leases.opened();
      }
    }
    // Another entry of the process is written: every grant is in its file then.
    if (isGentle || happens(0.5)) file.writeOut();
  }

  function report(): void {
    const at = below(dead.length);
    const process = dead[at];
    if (process === undefined) return;
    const left = readGrants(process.folder, 'boot');
    const settled = (left?.grants ?? []).map(({ grantId, used }) => ({ grantId, used: used > 0 ? [{ ageMs: 0, count: used }] : [] }));
    if (settled.length > 0)
      askAs(process.holder, {
        number: 1,
        waiting: 0,
        onlySettles: true,
        made: null,
        settled,
        revision: { epoch: 'e', number: 0 },
        max: null,
      });
    // The one that reports may be killed before it removes the file.
    if (happens(0.6)) dead.splice(at, 1);
  }

  const step = (at: number): void => {
    const chance = random();
    if (chance < 0.45) stepOf(at, call);
    else if (chance < 0.8) stepOf(at, exchange);
    else if (chance < 0.88) report();
    else if (chance < 0.92) kill(at);
    else if (chance < 0.96 && !isGentle) living[at]?.disk.killIn(1 + below(4), below(60));
    now += below(isGentle ? 200 : 2_000);
    // A killed process that was not reported for a minute after a recall has used all.
    if (!isGentle && happens(0.01)) now += 61_000;
  };
  for (let steps = 100 + below(200); steps > 0; steps -= 1) step(below(living.length));
  while (dead.length > 0) report();
  for (let steps = 0; steps < 400; steps += 1) {
    stepOf(steps % 2, call);
    stepOf(steps % 2, exchange);
    now += 100;
  }
  return { admitted, cap };
}

test('never more calls than the cap are admitted, whenever processes are killed and whatever is reported', () => {
  const above = temporaryFolder();
  for (let seed = 1; seed <= cases; seed += 1) playCase(seed, above, false);
});

test('exactly the cap is admitted if every killed process is reported in time and had answered its calls', () => {
  const above = temporaryFolder();
  for (let seed = 1; seed <= cases; seed += 1) {
    const { admitted, cap } = playCase(seed, above, true);
    expect({ seed, admitted }).toEqual({ seed, admitted: cap });
  }
});
