// The graph of a session. Loaded when it is seen, because its libraries are large.
import '@xyflow/react/dist/base.css';
import { Skeleton, Text, useComputedColorScheme } from '@mantine/core';
import { Background, type Edge, Handle, type Node, type NodeProps, Position, ReactFlow } from '@xyflow/react';
import { useEffect, useMemo, useState } from 'react';
import { Link } from 'react-router';
import { callAddress } from '../parts/calls-list.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { type Outcome, outcomeColour, OutcomeSign, outcomeWords } from '../parts/outcome.tsx';
import type { AgentNode, SessionGraph, ToolCalls } from './graph-of.ts';
import css from './graph.module.css';
import { type Arrow, type Box, layOut, type Places } from './layout.ts';

type Shown =
  | { readonly kind: 'person'; readonly name: string }
  | { readonly kind: 'agent'; readonly name: string; readonly isHere: boolean }
  | { readonly kind: 'tool'; readonly calls: ToolCalls };

type ShownNode = Node<{ readonly shown: Shown }, 'one'>;

interface Drawn extends Box {
  readonly shown: Shown;
}

interface DrawnArrow extends Arrow {
  readonly isHere: boolean;
  readonly outcome: Outcome | null;
}

const size = { height: 38, width: 176 };

/** Nodes and arrows with ids by their place in the tree. */
function drawnOf({ person, agents }: SessionGraph): { readonly boxes: readonly Drawn[]; readonly arrows: readonly DrawnArrow[] } {
  const boxes: Drawn[] = [{ id: 'p', ...size, shown: { kind: 'person', name: person === '' ? 'not known' : person } }];
  const arrows: DrawnArrow[] = [];
  const add = (list: readonly AgentNode[], above: string): void => {
    for (const [at, { name, isHere, tools, below }] of list.entries()) {
      const id = `${above}.${at}`;
      boxes.push({ id, ...size, shown: { kind: 'agent', name: name === '' ? 'no name' : name, isHere } });
      arrows.push({ from: above, to: id, isHere, outcome: null });
      for (const [index, calls] of tools.entries()) {
        const toolId = `${id}t${index}`;
        boxes.push({ id: toolId, ...size, width: 220, shown: { kind: 'tool', calls } });
        arrows.push({ from: id, to: toolId, isHere: calls.isHere, outcome: calls.outcome });
      }
      add(below, id);
    }
  };
  add(agents, 'p');
  return { boxes, arrows };
}

export default function Graph({ graph }: { readonly graph: SessionGraph }) {
  const drawn = useMemo(() => drawnOf(graph), [graph]);
  const places = usePlaces(drawn.boxes, drawn.arrows);
  const scheme = useComputedColorScheme('light');
  if (places instanceof Error)
    return (
      <Text size="sm" p="sm">
        The graph cannot be drawn here ({places.message}). Its text is below.
      </Text>
    );
  if (places === null) return <Skeleton height="100%" />;
  const nodes: ShownNode[] = drawn.boxes.map(({ id, width, height, shown }) => ({
    id,
    type: 'one',
    position: places.get(id) ?? { x: 0, y: 0 },
    width,
    height,
    data: { shown },
  }));
  const edges: Edge[] = drawn.arrows.map(({ from, to, isHere, outcome }) => ({
    id: `${from} ${to}`,
    source: from,
    target: to,
    style: {
      stroke: isHere && outcome !== null ? outcomeColour(outcome) : isHere ? 'var(--mantine-color-text)' : 'var(--line)',
      strokeWidth: isHere ? 2.5 : 1.5,
    },
  }));
  return (
    <section aria-label="The session as a graph" style={{ height: '100%' }}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        colorMode={scheme}
        fitView
        fitViewOptions={{ padding: 0.08, maxZoom: 1 }}
        minZoom={0.2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        // The wheel scrolls the page.
        zoomOnScroll={false}
        preventScrolling={false}
      >
        <Background gap={24} size={1} color="var(--line)" />
      </ReactFlow>
    </section>
  );
}

/** Null: not placed yet. An error: they cannot be placed. */
function usePlaces(boxes: readonly Drawn[], arrows: readonly DrawnArrow[]): Places | Error | null {
  const [places, setPlaces] = useState<Places | Error | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    const sizes = boxes.map(({ id, width, height }) => ({ id, width, height }));
    layOut(sizes, arrows, ended.signal).then(
      (found) => ended.signal.aborted || setPlaces(found),
      (error: unknown) => ended.signal.aborted || setPlaces(error instanceof Error ? error : new Error('the worker failed')),
    );
    return () => ended.abort();
  }, [boxes, arrows]);
  return places;
}

const nodeTypes = { one: NodeView };

function NodeView({ data: { shown } }: NodeProps<ShownNode>) {
  return (
    <>
      <Handle type="target" position={Position.Left} className={css.handle} />
      {shown.kind === 'tool' ? <ToolView calls={shown.calls} /> : <NameView shown={shown} />}
      <Handle type="source" position={Position.Right} className={css.handle} />
    </>
  );
}

function NameView({ shown }: { readonly shown: Exclude<Shown, { kind: 'tool' }> }) {
  return (
    <div className={css.box} data-kind={shown.kind} data-here={(shown.kind === 'agent' && shown.isHere) || undefined}>
      <span className={css.kind}>{shown.kind === 'person' ? 'for' : 'agent'}</span>
      <span className={css.name}>
        <Foreign text={shown.name} max={40} />
      </span>
    </div>
  );
}

function ToolView({ calls: { tool, outcome, count, newest, isHere } }: { readonly calls: ToolCalls }) {
  return (
    <Link
      to={callAddress(newest)}
      state={{ inConsole: true }}
      className={css.box}
      data-kind="tool"
      data-here={isHere || undefined}
      style={{ color: outcomeColour(outcome) }}
      title={`${outcomeWords[outcome]}${count > 1 ? `, ${count} times` : ''}`}
      tabIndex={-1}
    >
      <OutcomeSign outcome={outcome} size={12} />
      <span className={css.name}>
        <Foreign text={tool === '' ? 'no tool' : tool} max={40} />
      </span>
      {count > 1 && <span className={css.kind}>×{count}</span>}
    </Link>
  );
}
