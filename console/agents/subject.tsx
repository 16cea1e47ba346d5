// For whom an agent calls, and by which client: a role or one person, and the name of the program. The choice is in the URL.
import { Autocomplete, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import { useSearchParams } from 'react-router';
import { useMembers } from '../app/names.ts';
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
  const { data: entries } = useChains(agent, '7d');
  const choose = useChoose();
  const seen = useMemo(() => {
    const own = (entries ?? []).filter(({ agentName }) => agentName === agent).map((entry) => entry.client.name);
    return [...new Set([ownClient, client, ...own])].filter((name) => name !== '').slice(0, clientsMax);
  }, [entries, agent, client]);
  return (
    <Choice
      label="Client"
      width={180}
      chosen={client}
      data={seen}
      onChoose={(name) => choose({ client: name === '' || name === ownClient ? null : name })}
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
  return <AnySubject subject={subject} key={wordsOf(subject)} />;
}

function AnySubject({ subject }: { readonly subject: Subject }) {
  const choose = useChoose();
  const members = useMembers();
  return (
    <Choice
      label="For"
      placeholder="A role, a member or a service key"
      width={220}
      chosen={wordsOf(subject)}
      data={[
        { group: 'Roles', items: roles.map((one) => `${rolePrefix}${one}`) },
        { group: 'Members', items: members.data?.map(({ uid }) => uid) ?? [] },
      ]}
      onChoose={(words) => {
        if (words === '') return;
        const role = roles.find((one) => `${rolePrefix}${one}` === words);
        choose(role === undefined ? { sub: words, role: null } : { sub: null, role });
      }}
    />
  );
}

/** Sets parameters of the URL. Null removes one. */
function useChoose(): (parameters: Readonly<Record<string, string | null>>) => void {
  const [, setAsked] = useSearchParams();
  return (parameters) =>
    setAsked(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(parameters)) {
          if (value === null) after.delete(name);
          else after.set(name, value);
        }
        return after;
      },
      { replace: true },
    );
}

interface ChoiceProps {
  readonly label: string;
  readonly placeholder?: string;
  /** On a screen that is not small, in px. */
  readonly width: number;
  readonly chosen: string;
  readonly data: NonNullable<React.ComponentProps<typeof Autocomplete>['data']>;
  /** Gets what was typed or picked, if it is not what is chosen. */
  readonly onChoose: (words: string) => void;
}

/** A field that offers values and takes others too. It is left with Enter, with a pick, or with the focus. */
function Choice({ label, placeholder, width, chosen, data, onChoose }: ChoiceProps) {
  const [typed, setTyped] = useState(chosen);
  const choose = (words: string): void => {
    const wanted = words.trim();
    if (wanted !== chosen) onChoose(wanted);
  };
  return (
    <Autocomplete
      label={label}
      placeholder={placeholder}
      size="xs"
      w={{ base: '100%', xs: width }}
      value={typed}
      onChange={setTyped}
      onOptionSubmit={choose}
      onBlur={() => choose(typed)}
      onFocus={({ currentTarget }) => currentTarget.select()}
      onKeyDown={(event) => {
        if (event.key === 'Enter') choose(typed);
      }}
      limit={30}
      data={data}
      filter={({ options, search }) => (search === chosen ? options : options.flatMap((one) => filtered(one, search)))}
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
