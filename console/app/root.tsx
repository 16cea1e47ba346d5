// The frame of every page. Without a session it shows the sign-in page in place, so that the address stays and the page
// that was wanted opens afterwards.
import { Container, Skeleton } from '@mantine/core';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { ApiError } from '../api/client.ts';
import { Refused } from '../parts/states.tsx';
import { exchangeLink } from '../sign-in/link.ts';
import { SignIn } from '../sign-in/page.tsx';
import { followOtherTabs, identityOf, takeIdentity } from './one-identity.ts';
import { fetchSession, sessionKey, SessionProvider } from './session.tsx';
import { Shell } from './shell.tsx';

export function Root() {
  const queries = useQueryClient();
  const session = useQuery({ queryKey: sessionKey, queryFn: () => askSession(queries), staleTime: Number.POSITIVE_INFINITY });
  useSessionChange();
  if (session.data === undefined) {
    return (
      <Container py="xl" size="xs">
        {session.error === null ? (
          <Skeleton height={200} />
        ) : (
          <Refused error={session.error} what="The console could not ask who you are" retry={() => void session.refetch()} />
        )}
      </Container>
    );
  }
  if (session.data === null) return <SignIn />;
  return (
    <SessionProvider answer={session.data} key={identityOf(session.data)}>
      <Shell />
    </SessionProvider>
  );
}

/** A link of the start is exchanged first: then there is a session. */
async function askSession(queries: QueryClient): ReturnType<typeof fetchSession> {
  await exchangeLink();
  const session = await fetchSession();
  takeIdentity(session, queries);
  return session;
}

/** Asks for the session again as soon as any request is answered 401, because it has ended, and when another tab has changed it. */
function useSessionChange(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const ended = (error: unknown): void => {
      if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: sessionKey });
    };
    const stops = [
      followOtherTabs(() => void queries.invalidateQueries({ queryKey: sessionKey })),
      queries.getQueryCache().subscribe((event) => {
        if (event.type === 'updated' && event.action.type === 'error') ended(event.action.error);
      }),
      queries.getMutationCache().subscribe((event) => {
        if (event.type === 'updated' && event.action.type === 'error') ended(event.action.error);
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [queries]);
}
