import { expect, test } from 'vitest';
import { createPolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { snapshotMessage } from '../../../support/snapshots.ts';

function createCell(at = 10_000) {
  const time = { at };
  return { time, cell: createPolicyCell({ now: () => time.at }, 'acme') };
}

test('an empty cell holds nothing, had no contact, and reports both', () => {
  const { cell } = createCell();
  expect(cell.current).toBeNull();
  expect(cell.refused).toBeNull();
  expect(cell.status()).toEqual({
    epoch: null,
    revision: null,
    announced: null,
    connected: false,
    ageMs: null,
    outage: false,
    refused: null,
    clockAheadMs: null,
    lastNack: null,
  });
  expect(cell.whole()).toBeNull();
});

test('contact makes the policy fresh; losing the stream keeps the time of the last contact', () => {
  const { cell, time } = createCell();
  cell.heard(7);
  time.at = 10_900;
  expect(cell.freshness).toEqual({ connected: true, heardAt: 10_000 });
  cell.lost();
  expect(cell.freshness).toEqual({ connected: false, heardAt: 10_000 });
  expect(cell.status()).toMatchObject({ announced: 7, connected: false, ageMs: 900 });
  cell.heard(null);
  expect(cell.status()).toMatchObject({ announced: 7, connected: true, ageMs: 0 });
});

test('a rejected key stays rejected, whatever is held, until the next contact with the control plane', () => {
  const { cell } = createCell();
  cell.offer(snapshotMessage());
  cell.refuse('revoked');
  cell.lost();
  expect(cell.refused).toBe('revoked');
  cell.offer(snapshotMessage({ revision: 2 }));
  expect(cell.refused).toBe('revoked');
  cell.heard(2);
  expect(cell.refused).toBeNull();
});

test('within an epoch a revision never goes back; the same revision, and any of another epoch, is accepted', () => {
  const { cell } = createCell();
  expect(cell.offer(snapshotMessage({ revision: 5 })).ok).toBe(true);
  expect(cell.offer(snapshotMessage({ revision: 4 }))).toMatchObject({ ok: false, code: 'revision_backwards' });
  expect(cell.offer(snapshotMessage({ revision: 5, settings: { frozen: true } })).ok).toBe(true);
  expect(cell.current?.settings.frozen).toBe(true);
  expect(cell.offer(snapshotMessage({ revision: 1, epoch: 'e2' })).ok).toBe(true);
  expect(cell.status()).toMatchObject({ epoch: 'e2', revision: 1 });
});

test('renumbering changes the number and nothing else, and only for content that is held', () => {
  const { cell } = createCell();
  const message = snapshotMessage({ revision: 5 });
  expect(cell.renumber({ epoch: 'e1', number: 6 }, message.hash)).toMatchObject({ ok: false, code: 'hash_mismatch' });
  cell.offer(message);
  const before = cell.current;
  expect(cell.renumber({ epoch: 'e1', number: 6 }, Buffer.alloc(32))).toMatchObject({ ok: false, code: 'hash_mismatch' });
  expect(cell.renumber({ epoch: 'e1', number: 4 }, message.hash)).toMatchObject({ ok: false, code: 'revision_backwards' });
  expect(cell.current).toBe(before);
  expect(cell.renumber({ epoch: 'e1', number: 6 }, message.hash)).toMatchObject({ ok: true });
  expect(cell.current).toMatchObject({ revision: 6, settings: before?.settings, documents: before?.documents });
  expect(cell.renumber({ epoch: 'e2', number: 1 }, message.hash)).toMatchObject({ ok: true });
  expect(cell.status()).toMatchObject({ epoch: 'e2', revision: 1 });
});

test('every swap notifies every listener, and a refusal notifies none', () => {
  const { cell } = createCell();
  const heard: string[] = [];
  cell.onSwap(({ revision }) => heard.push(`a${revision}`));
  cell.onSwap(({ revision }) => heard.push(`b${revision}`));
  const message = snapshotMessage({ revision: 1 });
  cell.offer(message);
  cell.offer({ ...message, hash: Buffer.alloc(32) });
  cell.renumber({ epoch: 'e1', number: 2 }, message.hash);
  expect(heard).toEqual(['a1', 'b1', 'a2', 'b2']);
});

test('a snapshot from disk has the age in the file, and is not connected', () => {
  const { cell } = createCell(1_000_000);
  expect(cell.restore(snapshotMessage({ revision: 3 }), 1_000_000 - 90_000)).toMatchObject({ ok: true });
  expect(cell.freshness).toEqual({ connected: false, heardAt: 910_000 });
  expect(cell.status()).toMatchObject({ revision: 3, connected: false, ageMs: 90_000 });
});

test('a bad snapshot from disk leaves the cell unchanged', () => {
  const { cell } = createCell();
  expect(cell.restore({ ...snapshotMessage(), workspace: 'other' }, 5_000)).toMatchObject({ ok: false, code: 'wrong_workspace' });
  expect(cell.current).toBeNull();
  expect(cell.status()).toMatchObject({ ageMs: null });
});

test('a sidecar too old for the messages of the control plane does not get fresher by contact, until it has accepted a snapshot', () => {
  const { cell, time } = createCell();
  cell.heard(1);
  cell.offer(snapshotMessage({ revision: 1, settings: { outage: { maxStalenessSeconds: 3, then } } }));
  time.at = 11_000;
  expect(cell.offer({ ...snapshotMessage({ revision: 2 }), schemaVersion: 2 })).toMatchObject({ ok: false, code: 'schema_unsupported' });
  for (time.at = 12_000; time.at <= 13_000; time.at += 1_000) cell.heard(2);
  expect(cell.freshness).toEqual({ connected: false, heardAt: 10_000 });
  time.at = 13_000;
  expect(cell.status()).toMatchObject({ connected: true, ageMs: 3_000, outage: false });
  time.at = 13_001;
  expect(cell.status()).toMatchObject({ connected: true, ageMs: 3_001, outage: true });
  expect(cell.offer(snapshotMessage({ revision: 3 }))).toMatchObject({ ok: true });
  expect(cell.freshness).toEqual({ connected: true, heardAt: 13_001 });
  time.at = 13_500;
  cell.heard(3);
  expect(cell.freshness).toEqual({ connected: true, heardAt: 13_500 });
  // Other refusals do not have this effect.
  cell.offer({ ...snapshotMessage({ revision: 4 }), hash: Buffer.alloc(32) });
  time.at = 14_000;
  cell.heard(4);
  expect(cell.freshness).toEqual({ connected: true, heardAt: 14_000 });
});

const then = { interactive: 'deny', subagent: 'deny', background: 'deny', api: 'deny' } as const;

test('the clock of the control plane is compared with that of this machine, and a delay of a message changes little', () => {
  const time = { at: 0, clock: 1_800_000_000_000 };
  const cell = createPolicyCell({ now: () => time.at, wallTime: () => time.clock }, 'acme');
  const hearing = (ahead: number): number | undefined => {
    cell.heard(null, time.clock + ahead);
    return cell.freshness.aheadMs;
  };
  expect(cell.freshness).not.toHaveProperty('aheadMs');
  expect(hearing(60_000)).toBe(60_000);
  expect(hearing(59_200)).toBe(59_900);
  // One of the clocks was set.
  expect(hearing(-3_600_000)).toBe(-3_600_000);
  // A message without a time keeps the difference, and so does a lost stream.
  cell.heard(7);
  expect(cell.freshness).toMatchObject({ connected: true, aheadMs: -3_600_000 });
  cell.lost();
  expect(cell.freshness).toMatchObject({ connected: false, aheadMs: -3_600_000 });
  // A clock that was never set is not followed.
  expect(hearing(-time.clock)).toBeUndefined();
  expect(hearing(1_000)).toBe(1_000);
});

test('a policy from disk is decided by the clock of this machine until the control plane answers', () => {
  const cell = createPolicyCell({ now: () => 0, wallTime: () => 1_800_000_000_000 }, 'acme');
  cell.restore(snapshotMessage(), 0);
  expect(cell.freshness).toEqual({ connected: false, heardAt: 0 });
  cell.heard(null, 1_800_000_060_000);
  expect(cell.freshness).toEqual({ connected: true, heardAt: 0, aheadMs: 60_000 });
});
