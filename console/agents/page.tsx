// Agents: those that are registered, with what they did, and those that called and are not registered.
import { Anchor, Button, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { lazy, Suspense, useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import '../parts/rows.css';
import './agents.css';
import { PageHead } from '../parts/page-head.tsx';
import { Spark } from '../parts/spark.tsx';
import { Empty, Loaded, Refused } from '../parts/states.tsx';
import { When } from '../parts/when.tsx';
import {
  type Agent,
  type AgentCounts,
  money,
  type Period,
  periods,
  periodLabels,
  periodWords,
  useAgentCounts,
  useAgents,
  useSpend,
  useUnknownAgents,
} from './data.ts';
import type { Wanted } from './register.tsx';
import { Unknown, unknownId } from './unknown.tsx';
import { AgentState, Denied } from './words.tsx';

const isPeriod = (text: string | null): text is Period => periods.some((one) => one === text);

const Register = lazy(() => import('./register.tsx').then((loaded) => ({ default: loaded.Register })));

export function Page() {
  const { may } = useSession();
  const [asked, setAsked] = useSearchParams();
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const asksFor = asked.get('period');
  const period = isPeriod(asksFor) ? asksFor : '24h';
  const words = asked.get('search') ?? '';
  const set = (name: string, value: string): void =>
    setAsked(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  useEffect(() => {
    document.title = 'Agents · Tollgate';
  }, []);
  const { why: whyNotWrite } = may('agents.write');
  const { why: whyNoCounts } = may('admin.audit.read');
  return (
    <Stack gap="md">
      <PageHead title="Agents" sentence={`Who calls tools, and what they did in ${periodWords[period]}.`}>
        <Button size="xs" onClick={() => setWanted({ name: null })} disabled={whyNotWrite !== null} title={whyNotWrite ?? undefined}>
          Register an agent
        </Button>
      </PageHead>
      <Group justify="space-between" align="end">
        <SearchField value={words} set={(text) => set('search', text)} />
        <SegmentedControl
          size="xs"
          value={period}
          onChange={(one) => set('period', one === '24h' ? '' : one)}
          data={periods.map((one) => ({ value: one, label: periodLabels[one] }))}
          aria-label="Period of the counts"
        />
      </Group>
      {whyNoCounts !== null && (
        <Text size="sm" c="var(--quiet)">
          Calls, denials and costs are not shown. {whyNoCounts}
        </Text>
      )}
      {whyNoCounts === null && <UnknownHint period={period} />}
      <Registered words={words} period={period} />
      {whyNoCounts === null && <Unknown period={period} words={words} whyNot={whyNotWrite} register={(name) => setWanted({ name })} />}
      <Suspense>
        <Register wanted={wanted} close={() => setWanted(null)} />
      </Suspense>
    </Stack>
  );
}

/** They are below all that are registered, which on a small screen is far. */
function UnknownHint({ period }: { readonly period: Period }) {
  const { data } = useUnknownAgents(period);
  const count = data?.pages.reduce((sum, { agents }) => sum + agents.length, 0) ?? 0;
  if (count === 0) return null;
  const isMore = data?.pages.at(-1)?.next !== undefined;
  return (
    <Anchor size="sm" href={`#${unknownId}`} onClick={toUnknown} style={{ alignSelf: 'start' }}>
      {isMore ? `More than ${count} agents` : count === 1 ? 'One agent' : `${count} agents`} that called{' '}
      {count === 1 && !isMore ? 'is' : 'are'} not registered ↓
    </Anchor>
  );
}

function toUnknown(event: React.MouseEvent): void {
  event.preventDefault();
  document.querySelector(`#${unknownId}`)?.scrollIntoView({ block: 'start' });
}

function SearchField({ value, set }: { readonly value: string; readonly set: (text: string) => void }) {
  const [typed, setTyped] = useState(value);
  const later = useDebouncedCallback(set, 200);
  useEffect(() => setTyped(value), [value]);
  return (
    <TextInput
      label="Search"
      placeholder="Name, description or model"
      size="xs"
      w={{ base: '100%', xs: 280 }}
      type="search"
      value={typed}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        later(currentTarget.value);
      }}
    />
  );
}

const rowsMax = 500;

function Registered({ words, period }: { readonly words: string; readonly period: Period }) {
  const { may } = useSession();
  const agents = useAgents();
  const counts = useAgentCounts(period);
  const spend = useSpend();
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = agents;
  // The API does not search, so a search reads all pages.
  useEffect(() => {
    if (words !== '' && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [words, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const { why } = may('agents.read');
  if (why !== null) return <Refused error={new Error(why)} what="You cannot see agents" />;
  return (
    <Loaded query={agents} what="The agents could not be read" height={240}>
      {({ pages }) => {
        const all = pages.flatMap(({ profiles }) => profiles);
        const found = all.filter((one) => isLike(one, words));
        if (all.length === 0) return <NoAgents />;
        return (
          <Stack gap="sm">
            {counts.error !== null && (
              <Refused error={counts.error} what="The calls could not be counted" retry={() => void counts.refetch()} />
            )}
            {found.length === 0 ? (
              <Text size="sm">{hasNextPage ? 'Searching…' : `None of ${all.length.toLocaleString()} agents is like this.`}</Text>
            ) : (
              <Table agents={found.slice(0, rowsMax)} period={period} counts={counts.data} spend={spend.data} />
            )}
            {found.length > rowsMax && <Text size="sm">The first {rowsMax} are shown. Search for fewer.</Text>}
            {hasNextPage && words === '' && (
              <Button variant="default" onClick={() => void fetchNextPage()} loading={isFetchingNextPage}>
                Older agents
              </Button>
            )}
          </Stack>
        );
      }}
    </Loaded>
  );
}

const NoAgents = () => (
  <Empty
    title="No agent is registered yet"
    command={`curl -X POST ${location.origin}/api/v1/agents -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"name": "triage", "model": "anthropic/claude-sonnet-4-5"}'`}
  >
    <Text size="sm">A registered agent has its own tools and caps. One that is not registered may still call, if the policy says so.</Text>
  </Empty>
);

function isLike({ name, description, model, id }: Agent, words: string): boolean {
  const wanted = words.trim().toLowerCase();
  return wanted === '' || [name, description, model, id].some((text) => text.toLowerCase().includes(wanted));
}

interface TableProps {
  readonly period: Period;
  readonly agents: readonly Agent[];
  readonly counts: AgentCounts | undefined;
  readonly spend: ReadonlyMap<string, number> | undefined;
}

function Table({ agents, period, counts, spend }: TableProps) {
  const { may } = useSession();
  const hasCounts = may('admin.audit.read').why === null;
  return (
    <table className="rows agent-rows">
      <caption className="only-read">Registered agents, the newest first</caption>
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">Model</th>
          <th scope="col">State</th>
          {hasCounts && (
            <>
              <th scope="col">Last call</th>
              <th scope="col" className="rows-number">
                Calls
              </th>
              <th scope="col" className="rows-number">
                Denied
              </th>
              <th scope="col" className="rows-number">
                Cost today
              </th>
            </>
          )}
        </tr>
      </thead>
      <tbody>
        {agents.map((agent) => (
          <Row
            key={agent.id}
            agent={agent}
            period={period}
            counts={counts}
            cents={spend?.get(agent.id) ?? (spend === undefined ? null : 0)}
            hasCounts={hasCounts}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  readonly agent: Agent;
  readonly period: Period;
  readonly counts: AgentCounts | undefined;
  readonly cents: number | null;
  readonly hasCounts: boolean;
}

function Row({ agent, period, counts, cents, hasCounts }: RowProps) {
  const own = counts?.byName.get(agent.name);
  const isUnknown = counts === undefined || (own === undefined && counts.isCut);
  return (
    <tr>
      <td className="rows-wide alone">
        <Anchor component={Link} to={`/agents/${agent.id}`} size="sm" fw={600} underline="hover">
          <Foreign text={agent.name} max={80} />
        </Anchor>
        {agent.description !== '' && (
          <Text size="xs" c="var(--quiet)" lineClamp={1}>
            <Foreign text={agent.description} max={160} />
          </Text>
        )}
      </td>
      <td data-label="Model">
        <Foreign text={agent.model} max={60} />
      </td>
      <td data-label="State">
        <AgentState isSuspended={agent.suspended} />
      </td>
      {hasCounts && (
        <>
          <td data-label="Last call">
            {own === undefined ? (
              <Text span size="sm" c="var(--quiet)">
                {isUnknown ? '–' : 'none'}
              </Text>
            ) : (
              <When at={own.calls.lastAt} hasDate={period === '7d'} />
            )}
          </td>
          <td data-label="Calls" className="rows-number">
            <Group gap={8} justify="flex-end" wrap="nowrap" className="rows-figure">
              {own !== undefined && counts !== undefined && (
                <Spark counts={own.calls.counts} since={counts.since} until={counts.until} every={counts.every} colour="var(--quiet)" />
              )}
              <span className="agent-calls">{isUnknown ? '–' : (own?.calls.total ?? 0).toLocaleString()}</span>
            </Group>
          </td>
          <td data-label="Denied" className="rows-number">
            {isUnknown ? '–' : <Denied count={own?.denied ?? 0} />}
          </td>
          <td data-label="Cost today" className="rows-number">
            {cents === null ? '–' : money(cents)}
          </td>
        </>
      )}
    </tr>
  );
}
