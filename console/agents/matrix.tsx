// What an agent may do for one subject: tools by tiers. One cell has the focus at a time, and arrow keys move it; Enter
// shows which layer says so.
import { Anchor, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { useClickOutside } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Link } from 'react-router';
import { read } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useSession } from '../app/session.tsx';
import { Fact, Facts } from '../parts/facts.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { outcomeColour, outcomes, OutcomeSign, OutcomeWord, outcomeWords } from '../parts/outcome.tsx';
import { Loaded } from '../parts/states.tsx';
import type { Agent } from './data.ts';
import './matrix.css';
import { ownClient, type Subject } from './subject.tsx';

type Effective = paths['/{workspace}/admin/effective']['get']['responses']['200']['content']['application/json'];
type EffectiveTool = Effective['tools'][number];
type EffectiveCell = NonNullable<EffectiveTool['cells'][Tier]>;

const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
type Tier = (typeof tiers)[number];

const pageLimit = 50;

interface MatrixProps {
  readonly agent: Pick<Agent, 'id' | 'name'>;
  readonly subject: Subject;
  readonly client: string;
}

function useEffective({ agent, subject, client }: MatrixProps) {
  const { api, workspace, may } = useSession();
  // Of two agents with one name the API takes the id; any client but its own is named in an agent type, of any tier.
  const caller = client === ownClient ? { agent: agent.id } : { agentType: `${client}::api::${agent.name}` };
  return useInfiniteQuery({
    queryKey: ['agents', 'effective', caller, subject],
    queryFn: ({ pageParam }) => {
      const query = {
        ...caller,
        ...(subject.kind === 'role' ? { role: subject.role } : { sub: subject.sub }),
        limit: pageLimit,
        ...(pageParam === '' ? {} : { cursor: pageParam }),
      };
      return read(api.GET('/{workspace}/admin/effective', { params: { path: { workspace }, query } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    enabled: may('policies.read').why === null,
  });
}

export function Matrix(props: MatrixProps) {
  const { may } = useSession();
  const effective = useEffective(props);
  const { why } = may('policies.read');
  if (why !== null) return <Text size="sm">What it may do is not shown. {why}</Text>;
  return (
    <Loaded query={effective} what="What the agent may do could not be read" height={260}>
      {({ pages }) => {
        const tools = pages.flatMap((page) => page.tools);
        if (tools.length === 0)
          return (
            <Text size="sm">
              No tool is known yet: no tool server has one, no policy and no agent names one, and none was called in 30 days.
            </Text>
          );
        return (
          <Stack gap="sm">
            <Legend />
            <Grid tools={tools} />
            {effective.hasNextPage && (
              <Button size="xs" variant="default" onClick={() => void effective.fetchNextPage()} loading={effective.isFetchingNextPage}>
                More tools
              </Button>
            )}
            {effective.isFetching && !effective.isFetchingNextPage && <Loader size="xs" aria-label="reading again" />}
          </Stack>
        );
      }}
    </Loaded>
  );
}

const Legend = () => (
  <Group gap="md">
    {outcomes.map((outcome) => (
      <Text key={outcome} size="xs" span>
        <OutcomeWord outcome={outcome} />
      </Text>
    ))}
    <Text size="xs" span c="var(--quiet)">
      <Depends /> depends on the input
    </Text>
  </Group>
);

const Depends = () => <span className="matrix-depends">if</span>;

interface Place {
  readonly row: number;
  readonly column: number;
}

const moves: Readonly<Record<string, Place>> = {
  ArrowUp: { row: -1, column: 0 },
  ArrowDown: { row: 1, column: 0 },
  ArrowLeft: { row: 0, column: -1 },
  ArrowRight: { row: 0, column: 1 },
};

const within = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));

function Grid({ tools }: { readonly tools: readonly EffectiveTool[] }) {
  const [at, setAt] = useState<Place>({ row: 0, column: 0 });
  const [open, setOpen] = useState<Place | null>(null);
  const grid = useRef<HTMLTableElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = moves[event.key];
    if (move === undefined || open !== null) return;
    event.preventDefault();
    const to = { row: within(at.row + move.row, tools.length), column: within(at.column + move.column, tiers.length) };
    setAt(to);
    grid.current?.querySelector<HTMLElement>(`[data-cell="${to.row} ${to.column}"]`)?.focus();
  };
  return (
    <table className="matrix" role="grid" aria-label="What the agent may do, by tool and tier" ref={grid} onKeyDown={onKeyDown}>
      <thead>
        <tr>
          <th scope="col">Tool</th>
          {tiers.map((tier) => (
            <th scope="col" key={tier}>
              {tier}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {tools.map(({ tool, cells }, row) => (
          <tr key={tool}>
            <th scope="row">
              <Foreign text={tool} max={80} />
            </th>
            {tiers.map((tier, column) => {
              const cell = cells[tier];
              const isHere = at.row === row && at.column === column;
              const isOpen = open?.row === row && open.column === column;
              return (
                <td key={tier}>
                  {cell === undefined ? (
                    <Text span size="xs" c="var(--quiet)">
                      –
                    </Text>
                  ) : (
                    <CellButton
                      cell={cell}
                      tier={tier}
                      tool={tool}
                      place={{ row, column }}
                      isHere={isHere}
                      isOpen={isOpen}
                      focus={() => setAt({ row, column })}
                      setOpen={(wanted) => setOpen(wanted ? { row, column } : null)}
                    />
                  )}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CellProps {
  readonly cell: EffectiveCell;
  readonly tool: string;
  readonly tier: Tier;
  readonly place: Place;
  readonly isHere: boolean;
  readonly isOpen: boolean;
  readonly focus: () => void;
  readonly setOpen: (isOpen: boolean) => void;
}

function CellButton({ cell, tool, tier, place, isHere, isOpen, focus, setOpen }: CellProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const isConditional = cell.decision === 'depends';
  return (
    <>
      <button
        ref={button}
        type="button"
        className="matrix-cell"
        data-cell={`${place.row} ${place.column}`}
        tabIndex={isHere ? 0 : -1}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onFocus={focus}
        onClick={() => setOpen(!isOpen)}
        style={{ color: isConditional ? undefined : outcomeColour(cell.outcome) }}
      >
        <span className="matrix-tier">
          {tier}
          <span className="only-read">: </span>
        </span>
        {isConditional ? (
          <>
            <Depends />
            <span className="only-read"> it depends on the input</span>
          </>
        ) : (
          <>
            <OutcomeSign outcome={cell.outcome} />
            <span>{outcomeWords[cell.outcome]}</span>
          </>
        )}
        {cell.rateLimit !== null && cell.outcome !== 'deny' && (
          <span className="matrix-limit">
            {cell.rateLimit}
            /min
          </span>
        )}
      </button>
      {isOpen && (
        <Details
          id={id}
          cell={cell}
          tool={tool}
          tier={tier}
          close={() => {
            setOpen(false);
            button.current?.focus();
          }}
          leave={() => setOpen(false)}
          column={place.column}
        />
      )}
    </>
  );
}

interface DetailsProps {
  readonly id: string;
  readonly cell: EffectiveCell;
  readonly tool: string;
  readonly tier: Tier;
  readonly column: number;
  /** Closes it and returns the focus. */
  readonly close: () => void;
  readonly leave: () => void;
}

const layerWords: Readonly<Record<string, string>> = {
  workspace: 'the workspace',
  role: 'the role',
  'agent-type': 'the agent type',
  user: 'the user',
  agent: 'the agent itself',
  default: 'the built-in default',
};

function Details({ id, cell, tool, tier, column, close, leave }: DetailsProps) {
  const box = useRef<HTMLDivElement>(null);
  const outside = useClickOutside<HTMLDivElement>(leave);
  useEffect(() => {
    box.current?.focus();
    box.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <div
      ref={(element) => {
        box.current = element;
        outside.current = element;
      }}
      id={id}
      className={`matrix-details${column >= 2 ? ' matrix-left' : ''}`}
      role="dialog"
      aria-label={`Why: ${tier} calls`}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
      }}
      onBlur={(event) => {
        if (event.relatedTarget instanceof Node && !event.currentTarget.contains(event.relatedTarget)) leave();
      }}
    >
      <Facts>
        <Fact name="Tool">
          <Foreign text={tool} max={120} />, {tier}
        </Fact>
        <Fact name="Decision">
          {cell.decision === 'depends' ? (
            <>
              <Depends /> depends on the input of the call; at the strictest <OutcomeWord outcome={cell.outcome} />
            </>
          ) : (
            <OutcomeWord outcome={cell.outcome} />
          )}
        </Fact>
        <Fact name="Who says so">
          {layerWords[cell.layer] ?? cell.layer}
          {cell.path !== '' && (
            <>
              {', '}
              <Foreign text={cell.path} max={200} />
            </>
          )}
        </Fact>
        <Fact name="Limit">{cell.rateLimit === null ? 'none' : `${cell.rateLimit} calls in any 60 seconds, for each person`}</Fact>
        <Fact name="Input and output">{cell.transform === 'redact' ? 'redacted' : 'recorded as they are'}</Fact>
        <Fact name="Reason">
          <Foreign text={cell.reason} max={400} />
        </Fact>
      </Facts>
      <Group justify="space-between" mt="xs">
        <Anchor component={Link} to={`/audit?tool=${encodeURIComponent(tool)}`} size="sm">
          Its calls in the log
        </Anchor>
        <Button size="compact-sm" variant="default" onClick={close}>
          Close
        </Button>
      </Group>
    </div>
  );
}
