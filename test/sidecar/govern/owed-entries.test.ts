// Entries that take a permit back and that the spool did not take: each is written once, or counted as unrecorded.
import { expect, onTestFinished, test, vi } from 'vitest';
import { createOwedEntries } from '../../../sidecar/govern/owed-entries.ts';
import { AuditUnavailable } from '../../../sidecar/spool/unavailable.ts';

type Owing = Parameters<ReturnType<typeof createOwedEntries>['write']>[0];

test('an entry that is kept while an earlier one is on its way is not written twice, and none is lost uncounted', async () => {
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
