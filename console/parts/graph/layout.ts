// Places the nodes of a graph, and finds the way of each edge around them.
import type { ElkNode } from 'elkjs/lib/elk-api.js';
import { placeGraph } from './elk.ts';
import type { GraphEdge, GraphNode } from './graph.tsx';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly boxes: ReadonlyMap<string, Point & { readonly width: number }>;
  /** The way of each edge around the nodes, by its place in the list. */
  readonly ways: readonly (readonly Point[])[];
  readonly height: number;
}

export const nodeHeight = 60;
const widthOf = ({ name, note = '' }: GraphNode): number => Math.min(240, Math.max(110, 56 + 7.4 * Math.max(name.length, note.length)));

export async function arrange(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Promise<Layout> {
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
  const { children = [], edges: placed = [], height = 0 } = await placeGraph(graph);
  const ways = new Map(
    placed.map(({ id, sections = [] }) => [
      id,
      sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint]),
    ]),
  );
  return {
    boxes: new Map(children.map(({ id, x = 0, y = 0, width = 0 }) => [id, { x, y, width }])),
    ways: edges.map((_, at) => ways.get(String(at)) ?? []),
    height,
  };
}
