// The picture of a graph. Its layout is computed in a worker, so that a large one stops no key and no scroll.
import '@xyflow/react/dist/style.css';
import './graph.css';
import { Skeleton, Text } from '@mantine/core';
import { Background, type Edge, Handle, MarkerType, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider } from '@xyflow/react';
import { useEffect, useState } from 'react';
import { Link } from 'react-router';
import { visible } from '../foreign.tsx';
import { OutcomeSign } from '../outcome.tsx';
import type { GraphEdge, GraphNode, GraphProps } from './graph.tsx';
import { type Laid, layOut, nodeHeight } from './layout.ts';

type Shown = Node<{ readonly node: GraphNode; readonly [key: string]: unknown }, 'shown'>;

export default function Picture({ nodes, edges, label }: GraphProps) {
  const [laid, setLaid] = useState<Laid | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    layOut(nodes, edges, stop.signal).then(
      (done) => {
        if (!stop.signal.aborted) setLaid(done);
      },
      (error: unknown) => {
        if (!stop.signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
      },
    );
    return () => stop.abort();
  }, [nodes, edges]);
  if (problem !== null) return <Text size="sm">The picture could not be drawn ({problem}). The text below has the same.</Text>;
  if (laid === null) return <Skeleton height={260} />;
  return (
    <figure className="graph" aria-label={label} style={{ height: Math.min(520, Math.max(180, laid.height + 60)) }}>
      <ReactFlowProvider>
        <ReactFlow
          nodes={shownNodes(nodes, laid)}
          edges={shownEdges(edges)}
          nodeTypes={nodeTypes}
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

const shownNodes = (nodes: readonly GraphNode[], laid: Laid): Shown[] =>
  nodes.flatMap((node) => {
    const box = laid.boxes.get(node.id);
    if (box === undefined) return [];
    return [{ id: node.id, type: 'shown', position: { x: box.x, y: box.y }, width: box.width, height: nodeHeight, data: { node } }];
  });

const shownEdges = (edges: readonly GraphEdge[]): Edge[] =>
  edges.map(({ from, to, note }) => ({
    id: `${from} ${to}`,
    source: from,
    target: to,
    ...(note === undefined ? {} : { label: note }),
    markerEnd: { type: MarkerType.ArrowClosed, color: 'var(--quiet)' },
  }));

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
        {node.to === undefined ? words : <Link to={node.to}>{words}</Link>}
      </span>
      {node.note !== undefined && <span className="graph-note">{node.note}</span>}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

const nodeTypes = { shown: ShownNode };
