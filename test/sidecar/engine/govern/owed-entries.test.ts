// Entries that take a permit back and that the spool rejected: each is written once, or counted as unrecorded.
import { expect, onTestFinished, test, vi } from 'vitest';
import { createOwedEntries } from '../../../../sidecar/engine/govern/owed-entries.ts';
import { AuditUnavailable } from '../../../../sidecar/engine/spool/unavailable.ts';

type Owing = Parameters<ReturnType<typeof createOwedEntries>['write']>[0];

test('an entry that is added while an earlier one is being written is not written twice, and none is lost uncounted', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: string[] = [];
  const arriving: (() => void)[] = [];
  const how = { refuses: true, refusesB: true };
  const owing = {
    unrecorded: 0,
    spool: {
      appendAsync: async (entry: string) => {
        if (how.refuses) throw new AuditUnavailable('full', 'the disk is full');
        await new Promise<void>((next) => void arriving.push(next));
        if (entry === 'B' && how.refusesB) throw new AuditUnavailable('full', 'the disk is full');
        written.push(entry);
        return 0;
      },
    },
  } as unknown as Owing;
  const pass = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      for (const arrive of arriving.splice(0)) arrive();
      await vi.advanceTimersByTimeAsync(30_000);
    }
  };
  const owed = createOwedEntries();
  await owed.write(owing, 'A');
  await owed.write(owing, 'B');
  how.refuses = false;
  await vi.advanceTimersByTimeAsync(1_200);
  how.refuses = true;
  await owed.write(owing, 'C');
  how.refuses = false;
  await vi.advanceTimersByTimeAsync(9_000);
  await pass(2);
  how.refusesB = false;
  await pass(6);
  const closed = owed.close();
  await pass(3);
  await closed;
  expect({ written: written.toSorted(), unrecorded: owing.unrecorded }).toEqual({ written: ['A', 'B', 'C'], unrecorded: 0 });
});

test.each(['takes', 'refuses'] as const)('closing waits for an entry that is being written to a spool that then %s it', async (then) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const events: string[] = [];
  const arriving: (() => void)[] = [];
  const owing = {
    unrecorded: 0,
    spool: {
      appendAsync: async (entry: string) => {
        await new Promise<void>((next) => void arriving.push(next));
        if (then === 'refuses' && events.length === 0) {
          events.push(`${entry} refused`);
          throw new AuditUnavailable('full', 'the disk is full');
        }
        events.push(`${entry} written`);
        return 0;
      },
    },
  } as unknown as Owing;
  const owed = createOwedEntries();
  void owed.write(owing, 'A');
  const closing = owed.close().then(() => events.push('closed'));
  await vi.advanceTimersByTimeAsync(0);
  // Closing also waits for an entry that comes while it runs.
  void owed.write(owing, 'B');
  for (let round = 0; round < 4; round += 1) {
    for (const arrive of arriving.splice(0)) arrive();
    await vi.advanceTimersByTimeAsync(0);
  }
  await closing;
  expect(events).toEqual(then === 'takes' ? ['A written', 'B written', 'closed'] : ['A refused', 'B written', 'A written', 'closed']);
  expect([owing.unrecorded, vi.getTimerCount()]).toEqual([0, 0]);
});
