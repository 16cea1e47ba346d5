// Approvals of any state, newest first, with the filters in the URL.
import { Anchor, Button, Group, NativeSelect, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import '../parts/rows.css';
import { When } from '../parts/when.tsx';
import { AgentName } from './agent-name.tsx';
import { type Filters, useHistory } from './live.ts';
import { type Approval, type State, states, StateWord } from './state.tsx';
import { BriefValues } from './values.tsx';

const texts = [
  ['tool', 'Tool'],
  ['agent', 'Agent'],
  ['sub', 'For'],
  ['session', 'Session'],
] as const;

const isState = (text: string | null): text is State => states.some((one) => one === text);

function filtersOf(asked: URLSearchParams): Filters {
  const state = asked.get('state');
  const given = texts.flatMap(([name]) => {
    const value = asked.get(name);
    return value === null || value === '' ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(given),
    ...(isState(state) ? { state } : {}),
    ...(asked.get('mine') === 'true' ? { mine: 'true' as const } : {}),
  };
}

export function History() {
  const [asked, setAsked] = useSearchParams();
  const list = useHistory(filtersOf(asked));
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
  return (
    <Stack gap="md">
      <FilterBar asked={asked} set={set} />
      <Loaded query={list} what="The approvals could not be read" height={320}>
        {({ pages }) => {
          const rows = pages.flatMap(({ approvals }) => approvals);
          return rows.length === 0 ? (
            <Empty title="No approval is like this">
              <Text size="sm">Filters are exact. Each call that a rule asks about is kept here, also after its answer.</Text>
            </Empty>
          ) : (
            <>
              <Table rows={rows} />
              {list.hasNextPage && (
                <Button variant="default" onClick={() => void list.fetchNextPage()} loading={list.isFetchingNextPage}>
                  Older ones
                </Button>
              )}
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}

function FilterBar({ asked, set }: { readonly asked: URLSearchParams; readonly set: (name: string, value: string) => void }) {
  const { role } = useSession();
  return (
    <Group gap="sm" align="end" role="search" aria-label="Filters">
      <NativeSelect
        label="State"
        size="xs"
        value={asked.get('state') ?? ''}
        onChange={(event) => set('state', event.currentTarget.value)}
        data={[{ value: '', label: 'any' }, ...states.map((state) => ({ value: state, label: state }))]}
      />
      {texts.map(([name, label]) => (
        <Filter key={name} label={label} value={asked.get(name) ?? ''} set={(value) => set(name, value)} />
      ))}
      <Switch
        size="xs"
        mb={6}
        label="Only calls for me"
        description={role === 'member' ? 'Others that you see are those you may answer' : undefined}
        checked={asked.get('mine') === 'true'}
        onChange={(event) => set('mine', event.currentTarget.checked ? 'true' : '')}
      />
    </Group>
  );
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
}

/** A text that is asked for when the person has finished it. */
function Filter({ label, value, set }: FilterProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return (
    <TextInput
      label={label}
      size="xs"
      w={140}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={() => set(typed.trim())}
      onKeyDown={(event) => {
        if (event.key === 'Enter') set(typed.trim());
      }}
    />
  );
}

function Table({ rows }: { readonly rows: readonly Approval[] }) {
  return (
    <table className="rows">
      <caption className="only-read">Approvals, newest first</caption>
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Call</th>
          <th scope="col">Agent</th>
          <th scope="col">For</th>
          <th scope="col">Asked</th>
          <th scope="col">Answered</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((one) => (
          <tr key={one.id}>
            <td data-label="State">
              <Anchor component={Link} to={`/approvals/${one.id}`} underline="hover" size="sm">
                <StateWord state={one.state} />
              </Anchor>
            </td>
            <td data-label="Call" className="rows-wide">
              <Text size="sm" ff="monospace" fw={600}>
                <Foreign text={one.call.tool} max={60} />
              </Text>
              <Text size="xs" component="div">
                <BriefValues input={one.shownInput} max={5} length={32} />
              </Text>
            </td>
            <td data-label="Agent">
              <AgentName call={one.call} />
            </td>
            <td data-label="For">
              <Foreign text={one.call.sub} max={40} />
            </td>
            <td data-label="Asked">
              <When at={one.createdAt} />
            </td>
            <td data-label="Answered">
              <AnsweredBy approval={one} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function AnsweredBy({ approval: { by, answeredAt } }: { readonly approval: Approval }) {
  const { uid } = useSession();
  if (by === null && answeredAt === null)
    return (
      <Text span size="sm" c="var(--quiet)">
        no one
      </Text>
    );
  return (
    <>
      {answeredAt !== null && <When at={answeredAt} />} {by !== null && `by ${by === uid ? 'you' : by}`}
    </>
  );
}
