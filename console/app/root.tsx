// The frame of every page. Without a session it shows the sign-in page in place, so that the address stays and the page
// that was wanted opens afterwards.
import { Container, Skeleton } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { ApiError } from '../api/client.ts';
import { Refused } from '../parts/states.tsx';
import { exchangeLink } from '../sign-in/link.ts';
import { SignIn } from '../sign-in/page.tsx';
import { fetchSession, sessionKey, SessionProvider } from './session.tsx';
import { Shell } from './shell.tsx';

export function Root() {
  const session = useQuery({ queryKey: sessionKey, queryFn: askSession, staleTime: Number.POSITIVE_INFINITY });
  useSessionEnd();
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
    <SessionProvider answer={session.data}>
      <Shell />
    </SessionProvider>
  );
}

/** A link of the start is exchanged first: then there is a session. */
async function askSession(): ReturnType<typeof fetchSession> {
  await exchangeLink();
  return fetchSession();
}

/** Asks for the session again as soon as any request is answered 401: then it has ended. */
function useSessionEnd(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const ended = (error: unknown): void => {
      if (error instanceof ApiError && error.status === 401) void queries.invalidateQueries({ queryKey: sessionKey });
    };
    const stops = [
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
