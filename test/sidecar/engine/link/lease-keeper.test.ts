// The leases of a process over a real stream: requested together, returned, recalled, and available again after the
// stream was lost. The ledger behind it is the real one, in memory.
import { status } from '@grpc/grpc-js';
import { bounds } from '@tollgate/proto/contract';
import { expect, onTestFinished, test } from 'vitest';
import { holderSecret } from '../../../support/lease-names.ts';
import { type Clock, systemClock } from '../../../../sidecar/base/clock.ts';
import type { LimitSet } from '../../../../sidecar/engine/decide/decision.ts';
import { createLeasedCounters } from '../../../../sidecar/engine/limits/leased-counters.ts';
import { createChannel } from '../../../../sidecar/engine/link/channel.ts';
import { keepLeases } from '../../../../sidecar/engine/link/lease-keeper.ts';
import { openQuotaStream } from '../../../../sidecar/engine/link/quota-stream.ts';
import { createManualClock, type ManualClock } from '../../../support/manual-clock.ts';
import { eventually } from '../../../support/programs.ts';
import { type QuotaServer, startQuotaServer } from '../../../support/quota-server.ts';
import { silentLog } from '../../../support/silent-log.ts';

let boots = 0;

async function startKeeper(server: QuotaServer, clock: Pick<Clock, 'now' | 'after'> & { advance?(ms: number): void } = systemClock) {
  const channel = createChannel({ controlPlane: server.address, key: 'gsk_acme_x', plaintext: true, linkCredentials: null });
  const keeper = keepLeases({
    clock,
    random: () => 0.5,
    soon: (run) => void setImmediate(run),
    open: openQuotaStream(channel, { sidecarId: 's', holderSecret: holderSecret(`boot-${(boots += 1)}`) }),
    log: silentLog,
  });
  onTestFinished(() => {
    const closed = keeper.close(0);
    clock.advance?.(0);
    return closed;
  });
  const { leases } = keeper;
  leases.policyChanged({ epoch: 'e', number: 1 }, clock.now());
  const counters = createLeasedCounters(leases, 60);
  const allowance = counters.allowanceOf('ann', 'enforced');
  const setOf = (id: string): LimitSet => ({
    limits: [{ id, max: server.limits.get(id) ?? 1, layer: 'workspace', path: id }],
    found: null,
  });
  /** Makes one call. Returns whether it was admitted, and whether it had to wait. */
  const call = (id: string, set = setOf(id)): Promise<{ readonly admitted: boolean; readonly waited: boolean }> =>
    new Promise((done) => {
      const weigh = (now: number) => {
        const full = allowance.firstFull(set, now);
        if (full === null) allowance.charge(set, now);
        return full;
      };
      const full = weigh(clock.now());
      if (full === null || full.awaits === null) return done({ admitted: full === null, waited: false });
      leases.wait(full.awaits, clock.now(), Number.POSITIVE_INFINITY, (isLast, now) => {
        const again = weigh(now);
        if (isLast || again === null || again.awaits === null) done({ admitted: again === null, waited: true });
        return again?.awaits ?? null;
      });
    });
  const opens = () =>
    eventually(
      () => Promise.resolve(keeper.status().link),
      (link) => link === 'open',
    );
  keeper.retryNow();
  await opens();
  return { keeper, leases, call, opens };
}

/** Advances the time by a millisecond at each turn of the event loop, until the condition holds. */
async function passes(clock: ManualClock, isSo: () => boolean): Promise<void> {
  for (;;) {
    await new Promise((turn) => setImmediate(turn));
    if (isSo()) return;
    clock.advance(1);
  }
}

const admissions = async (calls: readonly Promise<{ readonly admitted: boolean }>[]): Promise<number> =>
  (await Promise.all(calls)).filter(({ admitted }) => admitted).length;

test('calls of one turn are requested together, in one message for all counters', async () => {
  const server = await startQuotaServer();
  server.limits.set('a', 10).set('b', 10);
  server.limits.set('warm', 10);
  const { call } = await startKeeper(server);
  // The first call is slow.
  await eventually(
    () => call('warm'),
    ({ admitted }) => admitted,
  );
  const before = server.asks.length;
  expect(await admissions([...Array.from({ length: 12 }, () => call('a')), ...Array.from({ length: 3 }, () => call('b'))])).toBe(13);
  const [first, second] = server.asks.slice(before).filter(({ counter }) => counter.kind === 'limit' && counter.id !== 'warm');
  expect(first).toMatchObject({ counter: { id: 'a' }, waiting: 12, onlySettles: false });
  expect(second).toMatchObject({ counter: { id: 'b' }, waiting: 3 });
  // The limit is full for a while: no ask is sent meanwhile.
  await eventually(
    () => call('a'),
    ({ waited }) => !waited,
  );
  const asked = server.asks.length;
  expect(await call('a')).toEqual({ admitted: false, waited: false });
  expect(
    server.asks.slice(asked).filter(({ counter, onlySettles }) => counter.kind === 'limit' && counter.id === 'a' && !onlySettles),
  ).toEqual([]);
});

test('a lease in use is renewed in the background, and no call waits', async () => {
  const server = await startQuotaServer();
  server.limits.set('a', 1_000);
  const { call, keeper } = await startKeeper(server);
  expect(await call('a')).toEqual({ admitted: true, waited: true });
  const renewed = () => server.asks.filter(({ onlySettles }) => !onlySettles).length;
  // Longer than the lifetime of a grant.
  await eventually(
    async () => {
      expect(await call('a')).toEqual({ admitted: true, waited: false });
      return renewed();
    },
    (asks) => asks >= 4,
  );
  expect(server.asks.some(({ settled }) => settled.length > 0)).toBe(true);
  expect(keeper.status()).toMatchObject({ counters: 1, waits: 1, dryDenials: 0 });
});

test('what another sidecar waits for is returned, and what was used stays used', async () => {
  const server = await startQuotaServer();
  server.limits.set('a', 10);
  const [one, other] = [await startKeeper(server), await startKeeper(server)];
  expect(await admissions([one.call('a'), one.call('a')])).toBe(2);
  expect(await admissions(Array.from({ length: 20 }, () => other.call('a')))).toBe(8);
  expect(await admissions(Array.from({ length: 5 }, () => one.call('a')))).toBe(0);
});

test('closing returns what is left', async () => {
  const server = await startQuotaServer();
  server.limits.set('a', 4);
  const [one, other] = [await startKeeper(server), await startKeeper(server)];
  expect(await admissions([one.call('a')])).toBe(1);
  await one.keeper.close(1_000);
  expect(server.asks.at(-1)).toMatchObject({ onlySettles: true, settled: [{ used: [{ count: 1 }] }] });
  expect(await admissions(Array.from({ length: 4 }, () => other.call('a')))).toBe(3);
});

test('a lost stream denies at once what is not held, and is opened again', async () => {
  const server = await startQuotaServer();
  server.limits.set('a', 10);
  const { call, keeper, opens } = await startKeeper(server);
  expect((await call('a')).admitted).toBe(true);
  server.cut(status.UNAVAILABLE, 'going');
  await eventually(
    () => Promise.resolve(keeper.status().link),
    (link) => link === 'lost',
  );
  expect(keeper.status().problem).toContain('going');
  // Four calls of a grant of five are left.
  const answers = await Promise.all(Array.from({ length: 6 }, () => call('a')));
  expect(answers.filter(({ admitted }) => admitted)).toHaveLength(4);
  expect(answers.every(({ waited }) => !waited)).toBe(true);
  await opens();
  expect(await admissions(Array.from({ length: 10 }, () => call('a')))).toBe(5);
});

test('where nothing is answered a call waits no longer than allowed, the next ones do not wait, and the stream is opened again', async () => {
  const server = await startQuotaServer();
  server.limits.set('a', 100);
  const clock = createManualClock();
  const { call, keeper, opens } = await startKeeper(server, clock);
  server.answers = false;
  const calledAt = clock.now();
  const first = call('a');
  await passes(clock, () => keeper.status().waiting === 0);
  expect(await first).toEqual({ admitted: false, waited: true });
  expect(clock.now() - calledAt).toBe(bounds.leaseWaitMs);
  expect(await call('a')).toEqual({ admitted: false, waited: false });
  expect(keeper.status()).toMatchObject({ waits: 1, dryDenials: 2 });
  await passes(clock, () => keeper.status().problem === 'the control plane did not answer');
  server.answers = true;
  clock.advance(bounds.reconnectMs.unreachable);
  await opens();
  // A grant whose answer was lost counts as used. So nothing is asked twice that may still be answered.
  expect(server.asks.length).toBeLessThan(5);
  await eventually(
    () => call('a'),
    ({ admitted }) => admitted,
  );
});
