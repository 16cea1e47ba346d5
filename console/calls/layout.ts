// Places the nodes of a graph, left to right, in a worker, so that a large graph does not stop the page.
import ELK, { type ElkNode } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';

export interface Box {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
}

export type Places = ReadonlyMap<string, { readonly x: number; readonly y: number }>;

/** Rejects if the worker cannot be started. After `signal` the worker is ended. */
export async function placeBoxes(boxes: readonly Box[], arrows: readonly Arrow[], signal: AbortSignal): Promise<Places> {
  const elk = new ELK({ workerFactory: () => new Worker(workerUrl) });
  const end = (): void => elk.terminateWorker();
  signal.addEventListener('abort', end, { once: true });
  try {
    const placed: ElkNode = await elk.layout({
      id: 'session',
      layoutOptions: {
        'elk.algorithm': 'layered',
        'elk.direction': 'RIGHT',
        'elk.spacing.nodeNode': '14',
        'elk.layered.spacing.nodeNodeBetweenLayers': '40',
        'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
      },
      children: boxes.map((box) => ({ ...box })),
      edges: arrows.map(({ from, to }) => ({ id: `${from} ${to}`, sources: [from], targets: [to] })),
    });
    return new Map((placed.children ?? []).map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
