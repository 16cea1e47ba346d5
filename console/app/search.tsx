// ⌘K: goes to a page, an agent, a sidecar, the calls of a tool or of a user, or a call by its request id.
import '@mantine/spotlight/styles.css';
import { Spotlight, spotlight, type SpotlightActionData } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { read } from '../api/client.ts';
import { fetchStats } from '../api/stats.ts';
import { useMembers, useNamedAgents } from './names.ts';
import { pages } from './pages.ts';
import { useSession } from './session.tsx';

/** A destination. */
interface Place {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  /** Below `/console`. */
  readonly to: string;
}

/** It is open as long as it is rendered. */
export default function Search({ close }: { readonly close: () => void }) {
  const go = useNavigate();
  const { may } = useSession();
  const [words, setWords] = useState('');
  useEffect(() => spotlight.open(), []);
  const named = useNamed();
  const typed = typedPlaces(words.trim(), named, may('admin.audit.read').why === null);
  const places: readonly Place[] = [
    ...pages
      .filter(({ scope, roles }) => may(scope, roles).why === null)
      .map(({ path, name, about }): Place => ({ id: `page ${path}`, label: name, description: about, to: `/${path}` })),
    ...named,
  ];
  const actionOf = ({ to, ...place }: Place): SpotlightActionData => ({ ...place, onClick: () => void go(to) });
  return (
    <Spotlight
      actions={[
        ...places.map(actionOf),
        // What is made of the words passes the filter by them.
        ...typed.map((place) => ({ ...actionOf(place), keywords: [words.trim()] })),
      ]}
      query={words}
      onQueryChange={setWords}
      onSpotlightClose={close}
      shortcut={null}
      nothingFound="Nothing has this name"
      limit={12}
      searchProps={{ placeholder: 'A page, agent, tool, user, sidecar or request id', 'aria-label': 'Go to' }}
    />
  );
}

const searched = '30d';
const searchedMs = 30 * 86_400_000;
const callsOf = (name: 'tool' | 'sub', value: string): string => `/audit?${name}=${encodeURIComponent(value)}&last=${searched}`;

/** What the API lists by name, as far as the reader may see it; of tools and sidecars the first page. */
function useNamed(): readonly Place[] {
  const { api, workspace, may } = useSession();
  const path = { workspace };
  const agents = useNamedAgents();
  const tools = useQuery({
    queryKey: ['search', 'tools', workspace],
    queryFn: async () =>
      (await fetchStats(api, workspace, { by: 'tool', since: new Date(Date.now() - searchedMs).toISOString(), top: 50 })).groups,
    enabled: may('admin.audit.read').why === null,
  });
  const users = useMembers(may('admin.audit.read').why === null);
  const sidecars = useQuery({
    queryKey: ['search', 'sidecars', workspace],
    queryFn: async () => (await read(api.GET('/{workspace}/admin/sidecars', { params: { path } }))).sidecars,
    enabled: may('policies.read', ['owner', 'admin']).why === null,
  });
  return [
    ...(agents.data ?? []).map(({ id, name }): Place => ({ id: `agent ${id}`, label: name, description: 'Agent', to: `/agents/${id}` })),
    ...(tools.data ?? []).map(
      ({ value }): Place => ({ id: `tool ${value}`, label: value, description: 'Tool: its calls of 30 days', to: callsOf('tool', value) }),
    ),
    ...(users.data ?? []).map(
      ({ uid, email }): Place => ({
        id: `user ${uid}`,
        label: email === '' ? uid : `${uid}, ${email}`,
        description: 'User: the calls of 30 days',
        to: callsOf('sub', uid),
      }),
    ),
    ...(sidecars.data ?? []).map(
      ({ id, bootId }): Place => ({ id: `sidecar ${bootId}`, label: id, description: 'Sidecar', to: `/sidecars/${bootId}` }),
    ),
  ];
}

/** A sidecar makes UUIDs; another caller may give ids of its own, which are long and have digits. */
const requestId = /^(?=.*\d)[\w:-]{16,}$/;

/** What the words themselves may be. A tool that is not listed may have been called before. */
function typedPlaces(words: string, named: readonly Place[], canSearch: boolean): readonly Place[] {
  if (words === '') return [];
  if (requestId.test(words))
    return [
      { id: 'call', label: `Call ${words}`, description: 'Open a call by its request id', to: `/calls/${encodeURIComponent(words)}` },
    ];
  if (!canSearch || named.some(({ label }) => label.toLowerCase().includes(words.toLowerCase()))) return [];
  return [{ id: 'typed tool', label: `Calls of the tool ${words}`, description: 'Search the log of 30 days', to: callsOf('tool', words) }];
}
