// The picture of a graph. Its layout is computed in a worker, so that a large one stops no key and no scroll.
import '@xyflow/react/dist/style.css';
import './graph.css';
import { Anchor, Skeleton, Text } from '@mantine/core';
import {
  Background,
  BaseEdge,
  type Edge,
  type EdgeProps,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
} from '@xyflow/react';
import { useEffect, useState } from 'react';
import { Link } from 'react-router';
import { visible } from '../foreign.tsx';
import { OutcomeSign } from '../outcome.tsx';
import type { GraphEdge, GraphNode, GraphProps } from './graph.tsx';
import { type Layout, arrange, nodeHeight, type Point } from './layout.ts';

type Shown = Node<{ readonly node: GraphNode; readonly [key: string]: unknown }, 'shown'>;

export default function Picture({ nodes, edges, label }: GraphProps) {
  const [layout, setLayout] = useState<Layout | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isWanted = true;
    const draw = async (): Promise<void> => {
      try {
        const done = await arrange(nodes, edges);
        if (isWanted) setLayout(done);
      } catch (error) {
        if (isWanted) setProblem(error instanceof Error ? error.message : String(error));
      }
    };
    void draw();
    return () => {
      isWanted = false;
    };
  }, [nodes, edges]);
  if (problem !== null) return <Text size="sm">The picture could not be drawn ({problem}). The text below has the same.</Text>;
  if (layout === null) return <Skeleton height={260} />;
  return (
    <figure className="graph alone" aria-label={label} style={{ height: Math.min(520, Math.max(180, layout.height + 60)) }}>
      <ReactFlowProvider>
        <ReactFlow
          nodes={shownNodes(nodes, layout)}
          edges={shownEdges(edges, layout)}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          fitView
          fitViewOptions={{ padding: 0.08, maxZoom: 1 }}
          minZoom={0.2}
          maxZoom={2}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          zoomOnScroll={false}
          preventScrolling={false}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={20} color="var(--line)" />
        </ReactFlow>
      </ReactFlowProvider>
    </figure>
  );
}

const shownNodes = (nodes: readonly GraphNode[], layout: Layout): Shown[] =>
  nodes.flatMap((node) => {
    const box = layout.boxes.get(node.id);
    if (box === undefined) return [];
    return [{ id: node.id, type: 'shown', position: { x: box.x, y: box.y }, width: box.width, height: nodeHeight, data: { node } }];
  });

type Way = Edge<{ readonly points: readonly Point[]; readonly [key: string]: unknown }, 'way'>;

const shownEdges = (edges: readonly GraphEdge[], { ways }: Layout): Way[] =>
  edges.map(({ from, to, note }, at) => ({
    id: `${from} ${to}`,
    type: 'way',
    source: from,
    target: to,
    data: { points: ways[at] ?? [] },
    // The note of an edge would repeat that of its end, if no other edge leads there.
    ...(note === undefined || edges.filter((one) => one.to === to).length < 2 ? {} : { label: note }),
    markerEnd: { type: MarkerType.ArrowClosed, color: 'var(--quiet)' },
  }));

function WayEdge({ data, label, markerEnd }: EdgeProps<Way>) {
  const points = data?.points ?? [];
  const middle = middleOf(points);
  if (middle === null) return null;
  const path = points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x} ${y}`).join('');
  return (
    <BaseEdge
      path={path}
      labelX={middle.x}
      labelY={middle.y}
      {...(label === undefined ? {} : { label })}
      {...(markerEnd === undefined ? {} : { markerEnd })}
    />
  );
}

/** The middle of the longest part of a way. Null: it has no part. */
function middleOf(points: readonly Point[]): Point | null {
  let longest: { readonly length: number; readonly middle: Point } | null = null;
  for (const [at, to] of points.entries()) {
    const from = points[at - 1];
    if (from === undefined) continue;
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    if (longest === null || length > longest.length) longest = { length, middle: { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } };
  }
  return longest?.middle ?? null;
}

const edgeTypes = { way: WayEdge };

function ShownNode({ data: { node } }: NodeProps<Shown>) {
  const name = visible(node.name.slice(0, 60));
  const words = (
    <bdi className="foreign graph-name" dir="ltr" title={name}>
      {name}
    </bdi>
  );
  return (
    <div className={`graph-node graph-${node.kind}${node.isHere === true ? ' graph-here' : ''}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className="graph-kind">{node.kind}</span>
      <span className="graph-line">
        {node.outcome !== undefined && <OutcomeSign outcome={node.outcome} size={12} />}
        {node.to === undefined ? (
          words
        ) : (
          <Anchor component={Link} to={node.to} inherit className="graph-link">
            {words}
          </Anchor>
        )}
      </span>
      {node.note !== undefined && <span className="graph-note">{node.note}</span>}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

const nodeTypes = { shown: ShownNode };
