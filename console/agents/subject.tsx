// For whom an agent calls, and by which client: a role or one person, and the name of the program. The choice is in the URL.
import { Autocomplete, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useSearchParams } from 'react-router';
import { read } from '../api/client.ts';
import { type Role, useSession } from '../app/session.tsx';
import { Foreign } from '../parts/foreign.tsx';
import { useChains } from './data.ts';

export type Subject = { readonly kind: 'role'; readonly role: Role } | { readonly kind: 'sub'; readonly sub: string };

const roles = ['owner', 'admin', 'member'] as const satisfies readonly Role[];

/** Members may ask only about themselves. */
export function useSubject(): Subject {
  const { role, sub } = useSession();
  const [asked] = useSearchParams();
  if (role === 'member') return { kind: 'sub', sub };
  const person = asked.get('sub');
  if (person !== null && person !== '') return { kind: 'sub', sub: person };
  return { kind: 'role', role: roles.find((one) => one === asked.get('role')) ?? 'member' };
}

/** The client of the control plane's own runs, which the API takes for a registered agent. */
export const ownClient = 'tollgate';

/** The client that the agent calls by: rules of an agent type are for one client. */
export function useClient(): string {
  const [asked] = useSearchParams();
  return asked.get('client') || ownClient;
}

interface ClientChoiceProps {
  readonly agent: string;
  readonly client: string;
}

/** Offers the clients that the agent was seen with. */
export function ClientChoice({ agent, client }: ClientChoiceProps) {
  const [, setAsked] = useSearchParams();
  const [typed, setTyped] = useState(client);
  const { data: entries } = useChains(agent, '7d');
  const seen = useMemo(() => {
    const own = (entries ?? []).filter(({ agentName }) => agentName === agent).map((entry) => entry.client.name);
    return [...new Set([ownClient, client, ...own])].filter((name) => name !== '').slice(0, clientsMax);
  }, [entries, agent, client]);
  const choose = (words: string): void => {
    const wanted = words.trim();
    if (wanted === client) return;
    setAsked(
      (before) => {
        const after = new URLSearchParams(before);
        if (wanted === '' || wanted === ownClient) after.delete('client');
        else after.set('client', wanted);
        return after;
      },
      { replace: true },
    );
  };
  return (
    <Autocomplete
      label="Client"
      size="xs"
      w={{ base: '100%', xs: 180 }}
      value={typed}
      onChange={setTyped}
      onOptionSubmit={choose}
      onBlur={() => choose(typed)}
      onFocus={({ currentTarget }) => currentTarget.select()}
      onKeyDown={(event) => {
        if (event.key === 'Enter') choose(typed);
      }}
      data={seen}
      filter={({ options, search }) => (search === client ? options : options.flatMap((one) => filtered(one, search)))}
    />
  );
}

const clientsMax = 30;

const rolePrefix = 'role: ';
const wordsOf = (subject: Subject): string => (subject.kind === 'role' ? `${rolePrefix}${subject.role}` : subject.sub);

export function SubjectChoice({ subject }: { readonly subject: Subject }) {
  const { role, sub } = useSession();
  if (role === 'member')
    return (
      <Text size="sm" c="var(--quiet)">
        For you, <Foreign text={sub} />. Owners and admins see it for others.
      </Text>
    );
  return <Choice subject={subject} key={wordsOf(subject)} />;
}

function Choice({ subject }: { readonly subject: Subject }) {
  const { api, workspace, may } = useSession();
  const [, setAsked] = useSearchParams();
  const [typed, setTyped] = useState(wordsOf(subject));
  const members = useQuery({
    queryKey: ['members'],
    queryFn: async () => (await read(api.GET('/{workspace}/admin/members', { params: { path: { workspace } } }))).members,
    enabled: may('members.write', ['owner', 'admin']).why === null,
  });
  const choose = (words: string): void => {
    const wanted = words.trim();
    if (wanted === '' || wanted === wordsOf(subject)) return;
    const role = roles.find((one) => `${rolePrefix}${one}` === wanted);
    setAsked(
      (before) => {
        const after = new URLSearchParams(before);
        after.delete('sub');
        after.delete('role');
        after.set(role === undefined ? 'sub' : 'role', role ?? wanted);
        return after;
      },
      { replace: true },
    );
  };
  return (
    <Autocomplete
      label="For"
      placeholder="A role, a member or a service key"
      size="xs"
      w={{ base: '100%', xs: 220 }}
      value={typed}
      onChange={setTyped}
      onOptionSubmit={choose}
      onBlur={() => choose(typed)}
      onFocus={({ currentTarget }) => currentTarget.select()}
      onKeyDown={(event) => {
        if (event.key === 'Enter') choose(typed);
      }}
      limit={30}
      data={[
        { group: 'Roles', items: roles.map((one) => `${rolePrefix}${one}`) },
        { group: 'Members', items: members.data?.map(({ uid }) => uid) ?? [] },
      ]}
      filter={({ options, search }) => (search === wordsOf(subject) ? options : options.flatMap((one) => filtered(one, search)))}
    />
  );
}

type Options = Parameters<NonNullable<React.ComponentProps<typeof Autocomplete>['filter']>>[0]['options'];

/** Options that contain the text. What is chosen already filters nothing, so that the others can be seen. */
function filtered(option: Options[number], search: string): Options {
  const has = (text: string): boolean => text.toLowerCase().includes(search.trim().toLowerCase());
  if (!('items' in option)) return has(option.label) ? [option] : [];
  const items = option.items.filter(({ label }) => has(label));
  return items.length === 0 ? [] : [{ ...option, items }];
}
