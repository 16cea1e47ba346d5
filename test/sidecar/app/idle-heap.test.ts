// When the sidecar process collects its heap: only while it is quiet, and only after the heap has grown.
import { expect, test } from 'vitest';
import { collectWhenIdle } from '../../../sidecar/app/idle-heap.ts';

const mb = 1024 ** 2;

/** A heap of 40 MB of which a collection leaves 30 MB. */
function heapUnderTest() {
  const heap = {
    bytes: 40 * mb,
    busy: 0,
    collections: 0,
    left: 30 * mb,
    size: () => heap.bytes,
    busyShare: () => heap.busy,
    collect: async () => {
      heap.collections += 1;
      heap.bytes = heap.left;
    },
  };
  return heap;
}

test('a grown heap is collected once the process is quiet, and not under load', async () => {
  const heap = heapUnderTest();
  const check = collectWhenIdle(heap);
  heap.bytes = 200 * mb;
  heap.busy = 0.5;
  await check();
  expect(heap.collections).toBe(0);
  heap.busy = 0.001;
  await check();
  expect(heap.collections).toBe(1);
});

test('a quiet process whose heap has not grown is never stopped', async () => {
  const heap = heapUnderTest();
  const check = collectWhenIdle(heap);
  for (let at = 0; at < 20; at += 1) {
    heap.bytes += mb;
    await check();
  }
  expect(heap.collections).toBe(0);
});

test('what a collection leaves is not collected again', async () => {
  const heap = heapUnderTest();
  const check = collectWhenIdle(heap);
  heap.left = 190 * mb;
  heap.bytes = 200 * mb;
  for (let at = 0; at < 5; at += 1) await check();
  expect(heap.collections).toBe(1);
  heap.bytes = 230 * mb;
  await check();
  expect(heap.collections).toBe(2);
});
