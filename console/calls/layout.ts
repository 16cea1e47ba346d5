// Places the nodes of a session's graph, left to right.
import { placeGraph } from '../parts/graph/elk.ts';

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

/** Rejects if they cannot be placed. */
export async function placeBoxes(boxes: readonly Box[], arrows: readonly Arrow[]): Promise<Places> {
  const { children = [] } = await placeGraph({
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
  return new Map(children.map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
}
