// The session of a call: who handed work to whom, and what each agent called. A graph where there is space for it, and
// always as text.
import { Anchor, Skeleton, Text } from '@mantine/core';
import { useIntersection, useMediaQuery } from '@mantine/hooks';
import { lazy, Suspense, useMemo, useRef } from 'react';
import { Link } from 'react-router';
import { callAddress } from '../parts/calls-list.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { OutcomeSign, outcomeWords } from '../parts/outcome.tsx';
import type { CallAnswer } from './answer.ts';
import css from './calls.module.css';
import { type AgentNode, graphOf, type SessionGraph } from './graph-of.ts';

const Graph = lazy(() => import('./graph.tsx'));

const graphNodes = { min: 3, max: 150 };

export function SessionCard({ answer }: { readonly answer: CallAnswer }) {
  const graph = useMemo(() => graphOf(answer), [answer]);
  const isWide = useMediaQuery('(min-width: 48em)', undefined, { getInitialValueInEffect: false });
  const { ref, entry } = useIntersection({ rootMargin: '200px' });
  // Once it was seen, it stays.
  const wasSeen = useRef(false);
  if (entry?.isIntersecting === true) wasSeen.current = true;
  const isDrawn = isWide && graph.nodes >= graphNodes.min && graph.nodes <= graphNodes.max;
  if (answer.session === null) return null;
  const { more, calls } = answer.session;
  return (
    <section className={css.card} ref={ref}>
      <h2>Its session</h2>
      <Text size="sm" c="var(--quiet)" mb={calls.length > 1 ? 'sm' : 0}>
        {more
          ? `Who handed work to whom, and what they called: the ${calls.length} calls around this one.`
          : calls.length === 1
            ? 'This is the only call of its session.'
            : `Who handed work to whom, and what they called: all ${calls.length} calls.`}
        {answer.before?.chainClaimed === true && ' The chain is what the caller says; it is not proved.'}
      </Text>
      {isDrawn && (
        <div className={css.graph}>
          {wasSeen.current && (
            <Suspense fallback={<Skeleton height={200} />}>
              <Graph graph={graph} />
            </Suspense>
          )}
        </div>
      )}
      {isDrawn ? (
        <details style={{ marginTop: 8 }}>
          <summary className={css.small}>As text</summary>
          <TextForm graph={graph} />
        </details>
      ) : (
        calls.length > 1 && <TextForm graph={graph} />
      )}
    </section>
  );
}

function TextForm({ graph: { person, agents } }: { readonly graph: SessionGraph }) {
  return (
    <ul className={css.tree}>
      <li>
        <Foreign text={person === '' ? 'A caller that is not known' : person} max={80} />
        <Agents agents={agents} />
      </li>
    </ul>
  );
}

function Agents({ agents }: { readonly agents: readonly AgentNode[] }) {
  if (agents.length === 0) return null;
  return (
    <ul>
      {agents.map(({ name, isHere, tools, below }) => (
        <li key={name}>
          <span style={{ fontWeight: isHere ? 650 : 400 }}>
            <Foreign text={name === '' ? 'no name' : name} max={80} />
          </span>
          {tools.length > 0 && (
            <ul>
              {tools.map(({ tool, outcome, count, newest, isHere: isThis }) => (
                <li key={`${tool} ${outcome}`}>
                  <OutcomeSign outcome={outcome} size={12} /> <ToolLink tool={tool} newest={newest} isHere={isThis} />{' '}
                  <span className={css.quiet}>
                    {outcomeWords[outcome]}
                    {count > 1 && `, ${count} times`}
                    {isThis && ', this call'}
                  </span>
                </li>
              ))}
            </ul>
          )}
          <Agents agents={below} />
        </li>
      ))}
    </ul>
  );
}

interface ToolLinkProps {
  readonly tool: string;
  readonly newest: { readonly requestId: string; readonly ts: string };
  readonly isHere: boolean;
}

function ToolLink({ tool, newest, isHere }: ToolLinkProps) {
  const name = <Foreign text={tool === '' ? 'no tool' : tool} max={100} />;
  if (isHere) return <strong className={css.mono}>{name}</strong>;
  return (
    <Anchor component={Link} to={callAddress(newest)} state={{ inConsole: true }} className={css.mono} size="sm">
      {name}
    </Anchor>
  );
}
