// When a sidecar that has just started can serve: not before it can lease limits, and not never.
import { expect, test } from 'vitest';
import { Readiness } from '../../../sidecar/app/readiness.ts';
import type { PolicyCell } from '../../../sidecar/engine/snapshot/cell.ts';
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts';

function start() {
  const manual = createManualClock();
  let lagMs = 0;
  // The timers of a system may end a fraction of a millisecond before its clock shows their time.
  const clock: ManualClock = { ...manual, now: () => manual.now() - lagMs };
  let link: 'open' | 'lost' = 'lost';
  let onOpened = (): void => undefined;
  const status = () => ({ link, problem: null, counters: 0, waiting: 0, waits: 0, dryDenials: 0, granted: 0, used: 0 });
  const readiness = new Readiness({
    cell: { current: {}, refused: null } as unknown as PolicyCell,
    clock,
    leasing: { status, onOpened: (listener) => (onOpened = listener) },
    spool: { failure: undefined },
    linkCredentials: null,
    controlPlane: 'https://control.test',
  });
  readiness.follower = { problem: null, told: true, close: () => undefined };
  return {
    clock,
    readiness,
    opens: (): void => {
      link = 'open';
      onOpened();
    },
    loses: (): void => void (link = 'lost'),
    lags: (ms: number): void => void (lagMs = ms),
  };
}

test('a sidecar awaits its stream of leases once, also if the stream is lost again before anyone asks', () => {
  const world = start();
  expect(world.readiness.notReady()).toEqual(['the stream for limits and caps is not open yet']);
  world.opens();
  world.loses();
  expect(world.readiness.notReady()).toEqual([]);
});

test('a sidecar whose stream of leases does not open is ready after 5 s, also if the timer is early', async () => {
  const world = start();
  const ready = world.readiness.ready(2_000_000_000).then(() => 'ready');
  world.lags(0.5);
  world.clock.advance(5_000);
  expect(world.readiness.notReady()).toEqual([]);
  expect(await ready).toBe('ready');
});
