// ⌘K: goes to a page, an agent, or a call by its request id.
import '@mantine/spotlight/styles.css';
import { Spotlight, spotlight, type SpotlightActionData } from '@mantine/spotlight';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { read } from '../api/client.ts';
import { pages } from './pages.ts';
import { useSession } from './session.tsx';

/** It is open as long as it is rendered. */
export default function Search({ close }: { readonly close: () => void }) {
  const go = useNavigate();
  const { api, may } = useSession();
  const [words, setWords] = useState('');
  useEffect(() => spotlight.open(), []);
  const agents = useQuery({
    queryKey: ['agents', 'names'],
    queryFn: async () => (await read(api.GET('/api/v1/agents'))).profiles,
    enabled: may('agents.read').why === null,
  });
  const actions: SpotlightActionData[] = [
    ...pages
      .filter(({ scope, roles }) => may(scope, roles).why === null)
      .map(({ path, name, about }) => ({ id: `page ${path}`, label: name, description: about, onClick: () => void go(`/${path}`) })),
    ...(agents.data ?? []).map(({ id, name }) => ({
      id: `agent ${id}`,
      label: name,
      description: 'Agent',
      onClick: () => void go(`/agents/${id}`),
    })),
  ];
  const wanted = words.trim();
  if (wanted !== '') {
    actions.push({
      id: 'call',
      label: `Call ${wanted}`,
      keywords: [wanted],
      description: 'Open a call by its request id',
      onClick: () => void go(`/calls/${encodeURIComponent(wanted)}`),
    });
  }
  return (
    <Spotlight
      actions={actions}
      query={words}
      onQueryChange={setWords}
      onSpotlightClose={close}
      shortcut={null}
      nothingFound="Nothing has this name"
      limit={12}
      searchProps={{ placeholder: 'A page, an agent, or a request id', 'aria-label': 'Go to' }}
    />
  );
}
