// The spool against a model: a list of entries, each with the answer that its caller received. Whatever the disk does
// and whenever the process dies, the control plane has exactly one copy of every entry that was answered as recorded,
// in its place, unless a byte of it was changed on disk. Then there is a counted gap. It has no entry whose call was
// refused. The one exception is described in `isSpeechless`.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { adoptDead } from '../../../../sidecar/engine/spool/adoption.ts';
import type { Durability } from '../../../../sidecar/engine/spool/append.ts';
import type { Backlog } from '../../../../sidecar/engine/spool/backlog.ts';
import { openSpool, randomSpoolId, type Spool } from '../../../../sidecar/engine/spool/spool.ts';
import { AuditUnavailable } from '../../../../sidecar/engine/spool/unavailable.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { createModelDisk, type DiskFault } from '../../../support/model-disk.ts';
import { randomFrom } from '../../../support/random.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { temporaryFolder } from '../../../support/spools.ts';

interface Entry {
  readonly n: number;
  readonly text: string;
  readonly spoolId: string;
  /** The number of the group of entries that were appended together. */
  readonly batch: number;
  /** `unknown`: the process died before it answered, or the answer was that the result is not known. */
  heard: 'nothing' | 'recorded' | 'refused' | 'unknown';
  sequence: number;
  isCorrupted: boolean;
}

type Step =
  | { readonly kind: 'append'; readonly isAtOnce: boolean; readonly pads: readonly number[] }
  | { readonly kind: 'faults'; readonly faults: readonly DiskFault[] }
  | { readonly kind: 'heal' | 'pass time' }
  | { readonly kind: 'ship'; readonly records: number; readonly isCommitted: boolean; readonly isAcknowledged: boolean }
  | { readonly kind: 'corrupt'; readonly at: number; readonly xor: number }
  | { readonly kind: 'end'; readonly how: 'crash' | 'close'; readonly seed: number };

const fault: fc.Arbitrary<DiskFault> = fc.record({
  operation: fc.constantFrom('open', 'write', 'write', 'truncate', 'truncate', 'sync', 'rename', 'unlink'),
  how: fc.constantFrom('ENOSPC', 'EIO', 'short'),
  at: fc.oneof(fc.nat(400), fc.constant(-1)),
  times: fc.integer({ min: 1, max: 4 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      isAtOnce: fc.boolean(),
      pads: fc.array(fc.nat(70), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('faults' as const),
      faults: fc.array(fault, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'heal' }, { kind: 'pass time' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('ship' as const),
      records: fc.integer({ min: 1, max: 9 }),
      isCommitted: fc.boolean(),
      isAcknowledged: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('corrupt' as const), at: fc.nat(5_000), xor: fc.integer({ min: 1, max: 255 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('end' as const), how: fc.constantFrom('crash', 'crash', 'close'), seed: fc.nat() }),
  },
);

const numRuns = Math.max(60, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 50));
const timeout = Math.max(120_000, numRuns * 60);
const seed = process.env['TOLLGATE_TEST_SEED'];

for (const durability of ['kernel', 'disk', 'remote'] as const) {
  test(
    `whatever disk and process do, what was answered as recorded arrives once and in order, and nothing else (${durability})`,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
          const world = await createWorld(durability);
          try {
            for (const one of steps) await world.take(one);
            await world.finish();
            world.check();
          } finally {
            await world.close();
          }
        }),
        // The time for shrinking a failure is bounded. Then the failure is reported.
        {
          numRuns,
          interruptAfterTimeLimit: 0.75 * timeout,
          markInterruptAsFailure: true,
          ...(seed === undefined ? {} : { seed: Number(seed) }),
        },
      );
    },
    timeout,
  );
}

async function createWorld(durability: Durability) {
  const entries: Entry[] = [];
  const committed = new Map<string, string[]>();
  const clock = createManualClock();
  const above = temporaryFolder();
  let roots = 0;
  let root = newRoot();
  let disk = createModelDisk({ isSynced: durability === 'disk' });
  let spool: Spool | undefined;
  let adopted: readonly Backlog[] = [];
  let isDying = false;
  let batches = 0;
  /** The entries that were refused while nothing could be written to the disk, and since then. */
  let shaky: readonly Entry[] = [];
  await begin();

  function newRoot(): string {
    const folder = join(above, `${(roots += 1)}`);
    mkdirSync(folder);
    return folder;
  }

  async function begin(): Promise<void> {
    const deps = { fs: disk.fs, clock, log: silentLog, randomId: randomSpoolId, settle: async () => true };
    spool = await openSpool(deps, { folder: root, workspace: 'acme', durability, segmentBytes: 300, bytesMax: 1024 ** 2 }).catch(
      () => undefined,
    );
    adopted = await adoptDead(deps, { folder: root, workspace: 'acme', max: 100 });
  }

  function takeEntry(pad: number, to: Spool): Entry {
    const n = entries.length + 1;
    const text = JSON.stringify({ n, pad: randomBytes(pad).toString('base64') });
    const entry: Entry = { n, text, spoolId: to.backlog.id, batch: batches, heard: 'nothing', sequence: 0, isCorrupted: false };
    entries.push(entry);
    return entry;
  }

  async function append(isAtOnce: boolean, pads: readonly number[]): Promise<void> {
    const to = spool;
    if (!to) return;
    batches += 1;
    const taken = pads.map((pad) => takeEntry(pad, to));
    const answers = taken.map(async (entry) => {
      try {
        entry.sequence = await (isAtOnce && durability !== 'disk' ? atOnce(to, entry.text) : to.appendAsync(entry.text));
        entry.heard = 'recorded';
      } catch (error) {
        if (!(error instanceof AuditUnavailable)) throw error;
        entry.heard = isDying || error.why === 'unconfirmed' ? 'unknown' : 'refused';
      }
    });
    if (durability === 'remote') await turn();
    else await Promise.all(answers);
    shaky = disk.isSpeechless ? [...shaky, ...taken.filter(({ heard }) => heard === 'refused')] : [];
  }

  async function ship(records: number, isCommitted: boolean, isAcknowledged: boolean): Promise<void> {
    for (const backlog of [...(spool ? [spool.backlog] : []), ...adopted]) {
      const after = backlog.acknowledged;
      const batch = await backlog.readBatch(after, { recordsMax: records, bytesMax: 1024 ** 2 }).catch(() => []);
      const kept = committed.get(backlog.id) ?? [];
      if (!isCommitted) continue;
      committed.set(backlog.id, kept);
      for (const record of batch) {
        expect(record.sequence, 'a hole').toBeLessThanOrEqual(kept.length + 1);
        const last = 'lost' in record ? record.lost.last : record.sequence;
        for (let at = Math.max(record.sequence, kept.length + 1); at <= last; at += 1)
          kept.push('entry' in record ? record.entry.toString() : 'lost');
      }
      if (isAcknowledged) backlog.acknowledge(kept.length);
    }
    await turn();
  }

  /** Changes one byte of an entry that counts and was not changed before. */
  function corrupt(at: number, xor: number): void {
    const segments = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.segment'));
    const name = segments.sort()[at % Math.max(1, segments.length)];
    if (name === undefined) return;
    const bytes = readFileSync(join(root, name));
    const offset = at % Math.max(1, bytes.length);
    const victim = entries.find(({ text }) => {
      const start = bytes.indexOf(text) - 16;
      return start > -16 && offset >= start && offset < start + 16 + text.length;
    });
    if (!victim || victim.isCorrupted || victim.heard === 'refused') return;
    victim.isCorrupted = true;
    bytes[offset] = (bytes[offset] ?? 0) ^ xor;
    writeFileSync(join(root, name), bytes, { flag: 'r+' });
    disk.rot(join(root, name), offset, xor);
  }

  async function end(how: 'crash' | 'close', seedOfLoss: number): Promise<void> {
    const backlogs = [...(spool ? [spool.backlog] : []), ...adopted];
    const from = root;
    const wasSpeechless = disk.isSpeechless;
    const into = newRoot();
    if (how === 'crash') {
      disk.image(from, into, durability === 'disk' ? randomFrom(seedOfLoss) : undefined);
      disk.die();
      isDying = true;
    }
    for (const backlog of backlogs) await backlog.close().catch(() => {});
    await turn();
    for (const entry of wasSpeechless ? shaky : []) entry.heard = 'unknown';
    if (how === 'close') disk.image(from, into);
    for (const entry of entries) if (entry.heard === 'nothing') entry.heard = 'unknown';
    await removed(from);
    isDying = false;
    spool = undefined;
    adopted = [];
    shaky = [];
    root = into;
    disk = createModelDisk({ isSynced: durability === 'disk' });
  }

  async function take(one: Step): Promise<void> {
    switch (one.kind) {
      case 'append':
        return append(one.isAtOnce, one.pads);
      case 'faults':
        return one.faults.forEach((fault) => disk.fail(fault));
      case 'heal':
        return disk.heal();
      case 'pass time':
        clock.advance(6_000);
        return turn();
      case 'ship':
        return ship(one.records, one.isCommitted, one.isAcknowledged);
      case 'corrupt':
        return corrupt(one.at, one.xor);
      case 'end':
        await end(one.how, one.seed);
        return begin();
    }
  }

  async function finish(): Promise<void> {
    await end('crash', entries.length);
    await begin();
    for (let rounds = 0; adopted.some((backlog) => backlog.acknowledged < backlog.last); rounds += 1) {
      expect(rounds, 'rounds in which not all was shipped').toBeLessThan(100);
      await ship(1_000, true, true);
    }
    for (const backlog of adopted) await backlog.close();
    await spool?.close();
    expect(readdirSync(root).filter((name) => !name.endsWith('.bad'))).toEqual([]);
  }

  function check(): void {
    const seen = new Set<string>();
    for (const [spoolId, texts] of committed) {
      const known = texts.filter((text) => text !== 'lost').map((text) => entries.find((entry) => entry.text === text));
      for (const entry of known) {
        expect(entry, 'an entry that was never appended').toBeDefined();
        expect(entry?.heard, `entry ${entry?.n} was refused`).not.toBe('refused');
        expect(seen.has(entry?.text ?? ''), `entry ${entry?.n} twice`).toBe(false);
        seen.add(entry?.text ?? '');
      }
      expect(known.map((entry) => entry?.n)).toEqual(known.map((entry) => entry?.n).toSorted((a = 0, b = 0) => a - b));
      for (const entry of entries.filter((one) => one.spoolId === spoolId && one.heard === 'recorded')) checkRecorded(entry, texts);
    }
    for (const entry of entries)
      if (entry.heard === 'recorded') expect(committed.has(entry.spoolId), `the spool of entry ${entry.n}`).toBe(true);
  }

  function checkRecorded(entry: Entry, texts: readonly string[]): void {
    const found = texts[entry.sequence - 1];
    if (found === undefined && wasCutOff(entry)) return;
    expect(found, `entry ${entry.n}, recorded as ${entry.sequence}`).toBe(entry.isCorrupted && found === 'lost' ? 'lost' : entry.text);
  }

  // With a changed length at the very end, and the beginning of a torn write behind it, it cannot be known that the
  // entry was whole.
  function wasCutOff(entry: Entry): boolean {
    return entries.some((other) => other.isCorrupted && other.batch === entry.batch && other.spoolId === entry.spoolId);
  }

  async function close(): Promise<void> {
    await end('crash', 0);
    await removed(above);
  }

  return { take, finish, check, close };
}

/** Removals that were started there may still be running. */
const removed = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });

async function atOnce(spool: Spool, text: string): Promise<number> {
  return spool.append(text);
}

/** Resolves when all requests to the disk have been answered. */
async function turn(): Promise<void> {
  for (let n = 0; n < 4; n += 1) await new Promise((resolve) => setImmediate(resolve));
}
