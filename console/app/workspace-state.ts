// Follows the state of the workspace, so that a freeze by someone else shows at once, on every page.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { type StreamState, useStream } from '../api/stream.ts';
import { type fetchSession, sessionKey } from './session.tsx';

type KnownSession = Awaited<ReturnType<typeof fetchSession>>;

/** Returns whether the control plane is connected. */
export function useWorkspaceState(workspace: string): StreamState {
  const queries = useQueryClient();
  const state = useStream(`/${workspace}/admin/session/stream`, 'workspace', (data) => {
    const { frozen } = JSON.parse(data) as { readonly frozen: boolean };
    queries.setQueryData<KnownSession>(sessionKey, (known) => (known === undefined || known === null ? known : { ...known, frozen }));
  });
  useEffect(() => {
    // The stream ends with the session, too.
    if (state === 'lost') void queries.invalidateQueries({ queryKey: sessionKey });
  }, [state, queries]);
  return state;
}
