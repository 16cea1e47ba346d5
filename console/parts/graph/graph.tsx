// Who called whom, as a picture and as text. The picture is loaded when it is needed, and only where there is space for
// it; the text is for small screens and for screen readers.
import { Anchor, Box, Skeleton, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
import { Link } from 'react-router';
import { Foreign } from '../foreign.tsx';
import { type Outcome, OutcomeSign, outcomeWords } from '../outcome.tsx';

export interface GraphNode {
  readonly id: string;
  readonly kind: 'person' | 'agent' | 'tool';
  /** A text from outside. */
  readonly name: string;
  /** In our words, such as `12 calls`. */
  readonly note?: string;
  readonly outcome?: Outcome;
  /** The page of what the node is. */
  readonly to?: string;
  /** What the page is about. */
  readonly isHere?: boolean;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly note?: string;
}

export interface GraphProps {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** What the graph shows, for people who do not see it. */
  readonly label: string;
}

const Picture = lazy(() => import('./picture.tsx'));
/** More cannot be told apart. */
export const nodesMax = 60;

export function Graph(props: GraphProps) {
  const hasSpace = useMediaQuery('(min-width: 48em)', false, { getInitialValueInEffect: false });
  if (!hasSpace) return <AsText {...props} />;
  return (
    <Box>
      <Suspense fallback={<Skeleton height={260} />}>
        <Picture {...props} />
      </Suspense>
      <details>
        <summary>
          <Text span size="xs" c="var(--quiet)">
            As text
          </Text>
        </summary>
        <AsText {...props} />
      </details>
    </Box>
  );
}

function AsText({ nodes, edges, label }: GraphProps) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const alone = nodes.filter(({ id }) => !edges.some(({ from, to }) => from === id || to === id));
  return (
    <ul aria-label={label} style={{ margin: 0, paddingLeft: 18, fontSize: '0.875rem' }}>
      {edges.map(({ from, to, note }) => {
        const [source, target] = [byId.get(from), byId.get(to)];
        if (source === undefined || target === undefined) return null;
        return (
          <li key={`${from} ${to}`}>
            <Name node={source} /> <span aria-label={target.kind === 'tool' ? 'calls' : 'delegates to'}>→</span> <Name node={target} />
            {note !== undefined && <>, {note}</>}
          </li>
        );
      })}
      {alone.map((node) => (
        <li key={node.id}>
          <Name node={node} />
          {node.note !== undefined && <>, {node.note}</>}
        </li>
      ))}
    </ul>
  );
}

function Name({ node }: { readonly node: GraphNode }) {
  const name = <Foreign text={node.name} max={80} />;
  return (
    <>
      {node.outcome !== undefined && (
        <span title={outcomeWords[node.outcome]}>
          <OutcomeSign outcome={node.outcome} size={12} />
          <span className="only-read">{outcomeWords[node.outcome]} </span>{' '}
        </span>
      )}
      {node.to === undefined ? (
        name
      ) : (
        <Anchor component={Link} to={node.to} inherit>
          {name}
        </Anchor>
      )}
    </>
  );
}
