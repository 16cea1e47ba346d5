// Places the nodes of graphs in one worker, which all graphs share. To start it takes most of the time, so it stays for
// a minute after the last graph.
import ElkWorker, { type ELK, type ElkNode } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';

const idleMs = 60_000;
const worker = { elk: null as ELK | null, layouts: 0, timer: undefined as ReturnType<typeof setTimeout> | undefined };

/** Resolves with the same graph and the places in it. Rejects if the worker cannot be started, or cannot place it. */
export async function placeGraph(graph: ElkNode): Promise<ElkNode> {
  clearTimeout(worker.timer);
  worker.layouts += 1;
  try {
    worker.elk ??= new ElkWorker({ workerUrl });
    return await worker.elk.layout(graph);
  } finally {
    worker.layouts -= 1;
    if (worker.layouts === 0) worker.timer = setTimeout(end, idleMs);
  }
}

function end(): void {
  worker.elk?.terminateWorker();
  worker.elk = null;
}
