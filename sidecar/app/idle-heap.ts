// Returns memory to the machine after a load. V8 lets the heap grow while requests arrive, and a quiet Node process does
// not collect it, so the process would keep the largest size that it has had. This collects and compacts the heap once,
// when the process is quiet and the heap has grown. A collection stops the process for about 0.2 s. Therefore it never
// happens under load, and not for a small growth.
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** How often the process is checked, in ms. */
const checkMs = 1_500;
/** The process is quiet if its event loop was busy for a smaller share of the time since the last check. */
const quietShare = 0.02;
/** The growth since the last collection that is worth another one, in bytes. */
const growthBytes = 24 * 1024 ** 2;

/** What a check reads and does. */
export interface Heap {
  /** Returns the size of the heap in bytes, including its free parts. */
  size(): number;
  /** Returns the share of the time since the last call in which the event loop was busy: 0 to 1. */
  busyShare(): number;
  /** Collects and compacts the heap. */
  collect(): Promise<void>;
}

/**
 * Returns the check. It collects if the process was quiet since the last check, and the heap has grown since the last
 * collection, or since now if there was none.
 */
export function collectWhenIdle(heap: Heap): () => Promise<void> {
  heap.busyShare();
  let smallest = heap.size();
  return async () => {
    const isQuiet = heap.busyShare() < quietShare;
    const size = heap.size();
    smallest = Math.min(smallest, size);
    if (!isQuiet || size - smallest < growthBytes) return;
    await heap.collect();
    // What is left is in use, so it is the new size, even if it is larger than before.
    smallest = heap.size();
  };
}

/** Starts the checks of this process. `failed` receives the error of a collection; after it there are no more checks. */
export function startIdleHeap(failed: (error: unknown) => void): { close(): void } {
  const check = collectWhenIdle(processHeap());
  const timer = setInterval(() => {
    check().catch((error: unknown) => {
      clearInterval(timer);
      failed(error);
    });
  }, checkMs);
  timer.unref();
  return { close: () => clearInterval(timer) };
}

function processHeap(): Heap {
  let before = performance.eventLoopUtilization();
  return {
    size: () => getHeapStatistics().total_heap_size,
    busyShare: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    },
    collect,
  };
}

/**
 * The inspector has the only public call for this. Unlike the global `gc`, which a flag of V8 adds, it also moves what
 * is left together, so that pages become free.
 */
async function collect(): Promise<void> {
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connect();
  try {
    await new Promise<void>((done, fail) =>
      session.post('HeapProfiler.collectGarbage', (error) => (error === null ? done() : fail(new Error(error.message, { cause: error })))),
    );
  } finally {
    session.disconnect();
  }
}
