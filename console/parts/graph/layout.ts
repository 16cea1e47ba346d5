// Places the nodes of a graph, in a worker.
import ELK, { type ElkNode } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import type { GraphEdge, GraphNode } from './graph.tsx';

export interface Laid {
  readonly boxes: ReadonlyMap<string, { readonly x: number; readonly y: number; readonly width: number }>;
  readonly height: number;
}

export const nodeHeight = 60;
const widthOf = ({ name, note = '' }: GraphNode): number => Math.min(240, Math.max(110, 40 + 7.4 * Math.max(name.length, note.length)));

export async function layOut(nodes: readonly GraphNode[], edges: readonly GraphEdge[], signal: AbortSignal): Promise<Laid> {
  const elk = new ELK({ workerUrl });
  const end = (): void => elk.terminateWorker();
  signal.addEventListener('abort', end, { once: true });
  try {
    const graph: ElkNode = {
      id: 'root',
      layoutOptions: {
        'elk.algorithm': 'layered',
        'elk.direction': 'RIGHT',
        'elk.spacing.nodeNode': '18',
        'elk.layered.spacing.nodeNodeBetweenLayers': '90',
      },
      children: nodes.map((node): ElkNode => ({ id: node.id, width: widthOf(node), height: nodeHeight })),
      edges: edges.map(({ from, to }, at) => ({ id: String(at), sources: [from], targets: [to] })),
    };
    const { children = [], height = 0 } = await elk.layout(graph);
    return { boxes: new Map(children.map(({ id, x = 0, y = 0, width = 0 }) => [id, { x, y, width }])), height };
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
