// The graph of a session. Loaded when it is seen, because its libraries are large.
import '@xyflow/react/dist/base.css';
import { Skeleton, Text, useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { Background, type Edge, Handle, type Node, type NodeProps, Position, ReactFlow } from '@xyflow/react';
import { useEffect, useMemo, useState } from 'react';
import { Link } from 'react-router';
import { callAddress } from '../parts/calls-list.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { outcomeColour, OutcomeSign, outcomeWords } from '../parts/outcome.tsx';
import type { AgentNode, SessionGraph, ToolCalls } from './graph-of.ts';
import css from './graph.module.css';
import { type Arrow, type Box, placeBoxes, type Places } from './layout.ts';

type Shown = { readonly kind: 'person'; readonly name: string } | { readonly kind: 'agent'; readonly agent: AgentNode };

type ShownNode = Node<{ readonly shown: Shown }, 'one'>;

interface Drawn extends Box {
  readonly shown: Shown;
}

interface DrawnArrow extends Arrow {
  readonly isHere: boolean;
}

const sizes = { person: { width: 150, height: 36 }, agent: { width: 208, head: 32, row: 22, foot: 6 } };
const toolsMax = 12;

/** Nodes and arrows with ids by their place in the tree. */
function drawnOf({ person, agents }: SessionGraph): { readonly boxes: readonly Drawn[]; readonly arrows: readonly DrawnArrow[] } {
  const boxes: Drawn[] = [{ id: 'p', ...sizes.person, shown: { kind: 'person', name: person === '' ? 'not known' : person } }];
  const arrows: DrawnArrow[] = [];
  const add = (list: readonly AgentNode[], above: string): void => {
    for (const [at, agent] of list.entries()) {
      const id = `${above}.${at}`;
      const { width, head, row, foot } = sizes.agent;
      const rows = Math.min(agent.tools.length, toolsMax + 1);
      boxes.push({ id, width, height: head + rows * row + (rows > 0 ? foot : 0), shown: { kind: 'agent', agent } });
      arrows.push({ from: above, to: id, isHere: agent.isHere });
      add(agent.below, id);
    }
  };
  add(agents, 'p');
  return { boxes, arrows };
}

const heights = { max: 560, none: 200, padding: 32 };

export default function Graph({ graph }: { readonly graph: SessionGraph }) {
  const drawn = useMemo(() => drawnOf(graph), [graph]);
  const places = usePlaces(drawn.boxes, drawn.arrows);
  const scheme = useComputedColorScheme('light');
  const { ref, width } = useElementSize();
  if (places instanceof Error)
    return (
      <Text size="sm" p="sm">
        The graph cannot be drawn here ({places.message}). Its text is below.
      </Text>
    );
  if (places === null) return <Skeleton height={heights.none} />;
  const nodes: ShownNode[] = drawn.boxes.map(({ id, width, height, shown }) => ({
    id,
    type: 'one',
    position: places.get(id) ?? { x: 0, y: 0 },
    width,
    height,
    data: { shown },
  }));
  const edges: Edge[] = drawn.arrows.map(({ from, to, isHere }) => ({
    id: `${from} ${to}`,
    source: from,
    target: to,
    style: { stroke: isHere ? 'var(--mantine-color-text)' : 'var(--line)', strokeWidth: isHere ? 2.5 : 1.5 },
  }));
  return (
    <section ref={ref} className="alone" aria-label="The session as a graph" style={{ height: heightOf(drawn.boxes, places, width) }}>
      <ReactFlow
        className={css.graph ?? ''}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        colorMode={scheme}
        fitView
        fitViewOptions={{ padding: 0.04, maxZoom: 1 }}
        // Drawn again, so that it fits, when its space changes.
        key={width}
        minZoom={0.2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        // The wheel scrolls the page.
        zoomOnScroll={false}
        proOptions={{ hideAttribution: true }}
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
    let isWanted = true;
    const show = (found: Places | Error): void => {
      if (isWanted) setPlaces(found);
    };
    const sizes = boxes.map(({ id, width, height }) => ({ id, width, height }));
    placeBoxes(sizes, arrows).then(show, (error: unknown) => show(error instanceof Error ? error : new Error('the worker failed')));
    return () => {
      isWanted = false;
    };
  }, [boxes, arrows]);
  return places;
}

/** As high as the graph is when it fits into the width. */
function heightOf(boxes: readonly Drawn[], places: Places, width: number): number {
  const right = Math.max(...boxes.map((box) => (places.get(box.id)?.x ?? 0) + box.width));
  const bottom = Math.max(...boxes.map((box) => (places.get(box.id)?.y ?? 0) + box.height));
  const scale = width === 0 ? 1 : Math.min(1, (width * 0.94) / right);
  return Math.min(heights.max, Math.max(110, bottom * scale * 1.06 + heights.padding));
}

const nodeTypes = { one: NodeView };

function NodeView({ data: { shown } }: NodeProps<ShownNode>) {
  return (
    <>
      <Handle type="target" position={Position.Left} className={css.handle} />
      {shown.kind === 'person' ? <PersonView name={shown.name} /> : <AgentView agent={shown.agent} />}
      <Handle type="source" position={Position.Right} className={css.handle} />
    </>
  );
}

function PersonView({ name }: { readonly name: string }) {
  return (
    <div className={css.person}>
      <span className={css.quiet}>for</span>
      <span className={css.name}>
        <Foreign text={name} max={40} />
      </span>
    </div>
  );
}

function AgentView({ agent: { name, isHere, tools } }: { readonly agent: AgentNode }) {
  const shown =
    tools.length > toolsMax ? [...tools].sort((one, other) => Number(other.isHere) - Number(one.isHere)).slice(0, toolsMax) : tools;
  return (
    <div className={css.agent} data-here={isHere || undefined}>
      <div className={css.head}>
        <span className={css.quiet}>agent</span>
        <span className={css.name}>
          <Foreign text={name === '' ? 'no name' : name} max={40} />
        </span>
      </div>
      {shown.map((calls) => (
        <ToolView key={`${calls.tool} ${calls.outcome}`} calls={calls} />
      ))}
      {tools.length > shown.length && <div className={`${css.tool} ${css.quiet}`}>{tools.length - shown.length} more</div>}
    </div>
  );
}

function ToolView({ calls: { tool, outcome, count, newest, isHere } }: { readonly calls: ToolCalls }) {
  return (
    <Link
      to={callAddress(newest)}
      state={{ inConsole: true }}
      className={css.tool}
      data-here={isHere || undefined}
      style={{ color: outcomeColour(outcome) }}
      title={`${outcomeWords[outcome]}${count > 1 ? `, ${count} times` : ''}${isHere ? ', this call' : ''}`}
      // The text below has the same links for the keyboard.
      tabIndex={-1}
    >
      <OutcomeSign outcome={outcome} size={11} />
      <span className={css.name}>
        <Foreign text={tool === '' ? 'no tool' : tool} max={40} />
      </span>
      {count > 1 && <span className={css.quiet}>×{count}</span>}
    </Link>
  );
}
