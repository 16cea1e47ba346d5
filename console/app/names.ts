// The agents and the members of the workspace, where they are looked up or offered by their names.
import { useQuery } from '@tanstack/react-query';
import { readPages } from '../api/all-pages.ts';
import { read } from '../api/client.ts';
import { useSession } from './session.tsx';

/** 10,000 of each. A workspace has no more agents. A member after that is not offered, and can be typed. */
const pagesMax = 20;
const staleMs = 30_000;

export function useNamedAgents() {
  const { api, may } = useSession();
  return useQuery({
    queryKey: ['agents', 'names'],
    queryFn: async () =>
      (await readPages((query) => read(api.GET('/api/v1/agents', { params: { query } })), pagesMax)).flatMap(({ profiles }) => profiles),
    enabled: may('agents.read').why === null,
    staleTime: staleMs,
  });
}

/** `isWanted`: false: they are not read. */
export function useMembers(isWanted = true) {
  const { api, workspace, may } = useSession();
  return useQuery({
    queryKey: ['members'],
    queryFn: async () => {
      const ask = (query: { readonly limit: number; readonly cursor?: string }) =>
        read(api.GET('/{workspace}/admin/members', { params: { path: { workspace }, query } }));
      return (await readPages(ask, pagesMax)).flatMap(({ members }) => members);
    },
    enabled: isWanted && may('members.write', ['owner', 'admin']).why === null,
    staleTime: staleMs,
  });
}
