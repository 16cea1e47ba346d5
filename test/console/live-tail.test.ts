// The live page while many calls are decided: it keeps no more of them than it shows. `npm run test:long -- tail` does this
// for ten minutes.
import { setTimeout as delay } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';
import { expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { useBrowser } from './browser.ts';
import { useWorld } from './world.ts';

/** The calls of each of the parts after which the page is measured. */
const calls = Number(process.env['TOLLGATE_TEST_TAIL_CALLS'] ?? 300);
/** Calls a second. Absent: as many as are answered. */
const rate = Number(process.env['TOLLGATE_TEST_TAIL_RATE'] ?? Number.POSITIVE_INFINITY);
const parts = 6;
const atOnce = 40;
/** A page that kept the rows would have 640 kB more after the calls of CI. */
const heapMost = 400_000;
/** A full list has this many calls (`rowsMax` of console/live/tail.ts), and the list is full before it is measured. */
const fullAfter = 600;

const world = useWorld();
const { visit } = useBrowser();

interface Size {
  readonly heapBytes: number;
  readonly nodes: number;
  readonly listeners: number;
}

/** What the page holds after the garbage is collected. */
async function sizeOf(session: CDPSession): Promise<Size> {
  for (let round = 0; round < 3; round += 1) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const figure = (name: string): number => metrics.find((one) => one.name === name)?.value ?? Number.NaN;
  return { heapBytes: figure('JSHeapUsedSize'), nodes: figure('Nodes'), listeners: figure('JSEventListeners') };
}

test('the live page does not grow while calls are decided', {
  ...needs('chromium'),
  timeout: (calls / rate) * parts * 1_500 + 180_000,
}, async () => {
  const { plane, keys, call } = world();
  const { page } = await visit(plane.rest, 'live', keys.owner);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  let made = 0;
  let spentMs = 0;
  const decide = (tool: string): Promise<unknown> =>
    call(tool, { customer: made }, { session_id: `s${made % 50}`, agent_name: `agent-${made % 7}` });
  const make = async (count: number): Promise<void> => {
    const [first, startedAt] = [made, performance.now()];
    const caller = async (): Promise<void> => {
      while (made < first + count) {
        const dueMs = startedAt + ((made - first) / rate) * 1_000 - performance.now();
        made += 1;
        if (dueMs > 0) await delay(dueMs);
        await decide('crm.read');
      }
    };
    await Promise.all(Array.from({ length: atOnce }, caller));
    spentMs += performance.now() - startedAt;
    const last = `crm.read_${made}`;
    await decide(last);
    await page.getByRole('link', { name: last }).waitFor();
  };
  await make(fullAfter);
  const sizes: Size[] = [];
  for (let part = 0; part < parts; part += 1) {
    await make(calls);
    sizes.push(await sizeOf(session));
  }
  const [first, last] = [sizes[0], sizes.at(-1)];
  if (first === undefined || last === undefined) throw new Error('the page must be measured');
  const figures = sizes.map(
    ({ heapBytes, nodes, listeners }) => `${(heapBytes / 1e6).toFixed(2)} MB, ${nodes} nodes, ${listeners} listeners`,
  );
  const words = `${made} calls, ${Math.round((made / spentMs) * 1_000)} a second; after each ${calls}: ${figures.join('; ')}`;
  process.stdout.write(`${words}\n`);
  expect(last.heapBytes - first.heapBytes, words).toBeLessThan(heapMost);
  expect(last.nodes - first.nodes, words).toBeLessThan(200);
  expect(last.listeners - first.listeners, words).toBeLessThan(50);
});
