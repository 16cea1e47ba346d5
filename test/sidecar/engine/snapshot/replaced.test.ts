// The caches of a snapshot end when another snapshot replaces it, even if a caller of it is still held.
import { expect, test } from 'vitest';
import { bindCaller } from '../../../../sidecar/engine/decide/bind.ts';
import type { Index } from '../../../../sidecar/engine/decide/build-index.ts';
import type { Claim } from '../../../../sidecar/engine/decide/call.ts';
import type { Caller } from '../../../../sidecar/engine/decide/caller.ts';
import { decide } from '../../../../sidecar/engine/decide/decide.ts';
import { createCounters } from '../../../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../../../sidecar/engine/limits/usage.ts';
import { createPolicyCell, type PolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { collectGarbage } from '../../../bench/garbage.ts';
import { agent, key, member, ruleFor, snapshotMessage } from '../../../support/snapshots.ts';

const claimOf = (name: string): Claim => ({
  identity: { sub: 'ann', keyId: 'key-1' },
  hops: [{ tier: 'api', client: 'cli', agent: name }],
});
const world = { agents: [agent()], keys: [key()], members: [member()], documents: [ruleFor('mail.send', { permission: 'deny' })] };

function start() {
  const cell = createPolicyCell({ now: () => 1_000 }, 'acme');
  cell.heard(1);
  const usage = createRunUsage(createCounters(60), { originSub: 'ann', startedAt: 1_000 });
  return {
    cell,
    take: (revision: number): void => expect(cell.offer(snapshotMessage({ ...world, revision }))).toMatchObject({ ok: true }),
    decided: (caller: Caller, tool: string) => decide(caller, tool, usage, cell.freshness, 1_000),
  };
}

function heldBy({ current }: PolicyCell): Index {
  if (current === null) throw new Error('nothing is held');
  return current;
}

/** From the second time on a caller is kept. */
function boundTwice(index: Index, agent: string): Caller {
  bindCaller(index, claimOf(agent));
  return bindCaller(index, claimOf(agent));
}

test('a caller that is bound once is not kept, and neither are its plans', () => {
  const { cell, take, decided } = start();
  take(1);
  const once = bindCaller(heldBy(cell), claimOf('bound-once'));
  decided(once, 'mail.send');
  expect([once.isKept, once.plans.size]).toEqual([false, 0]);
  const twice = bindCaller(heldBy(cell), claimOf('bound-once'));
  decided(twice, 'mail.send');
  expect([twice.isKept, twice.plans.size]).toEqual([true, 1]);
});

test('a call that runs when policy is replaced is decided as before, and nothing more is cached for it', () => {
  const { cell, take, decided } = start();
  take(1);
  const before = heldBy(cell);
  const caller = boundTwice(before, 'bot');
  const decisions = ['mail.send', 'github.create'].map((tool) => decided(caller, tool));
  expect(bindCaller(before, claimOf('bot'))).toBe(caller);
  expect(caller.plans.size).toBe(2);
  take(2);
  expect(caller.plans.size).toBe(0);
  expect(['mail.send', 'github.create'].map((tool) => decided(caller, tool))).toEqual(decisions);
  const again = bindCaller(before, claimOf('bot'));
  expect([again === caller, again]).toEqual([false, { ...caller, isKept: false }]);
  expect(['mail.send', 'github.create'].map((tool) => decided(again, tool))).toEqual(decisions);
  expect([caller.plans.size, again.plans.size]).toEqual([0, 0]);
  // For the current snapshot it is cached.
  expect(bindCaller(heldBy(cell), claimOf('bot'))).toBe(bindCaller(heldBy(cell), claimOf('bot')));
});

test('a listener for a replaced policy can still compare with the cache of the previous one', () => {
  const { cell, take, decided } = start();
  take(1);
  const caller = boundTwice(heldBy(cell), 'bot');
  decided(caller, 'mail.send');
  const seen: number[] = [];
  cell.onSwap(() => seen.push(caller.plans.size));
  take(2);
  expect([seen, caller.plans.size]).toEqual([[1], 0]);
});

test('one held caller of each of 20 policies keeps no other in memory', () => {
  const { cell, take, decided } = start();
  const held: Caller[] = [];
  const revise = (revision: number): void => {
    take(revision);
    for (let n = 0; n < 3_000; n += 1) {
      const caller = boundTwice(heldBy(cell), `agent-${revision}-${n}`);
      decided(caller, 'mail.send');
      if (n === 0) held.push(caller);
    }
  };
  revise(1);
  const before = collectGarbage();
  for (let revision = 2; revision <= 20; revision += 1) revise(revision);
  // Less than half of what the other callers of all 19 policies use.
  expect(collectGarbage() - before).toBeLessThan(50_000_000);
  expect(held).toHaveLength(20);
});
