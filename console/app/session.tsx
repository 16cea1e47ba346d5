// Who is signed in, and what they may do. A page reads both from here.
import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { type Api, ApiError, createApi, read } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';

export type SessionAnswer = paths['/api/v1/session']['get']['responses']['200']['content']['application/json'];
export type Scope = SessionAnswer['scopes'][number];
export type Role = SessionAnswer['role'];

/** `why`: what is missing; null if the action is permitted. */
interface Permission {
  readonly why: string | null;
}

export interface Session extends SessionAnswer {
  readonly api: Api;
  /** Whether the key or session has the scope, and, if `roles` are given, whether its role is one of them. */
  readonly may: (scope: Scope, roles?: readonly Role[]) => Permission;
  readonly signOut: () => Promise<void>;
}

export const sessionKey = ['session'] as const;

/** Returns null if no one is signed in. */
export async function fetchSession(): Promise<SessionAnswer | null> {
  try {
    return await read(createApi(null).GET('/api/v1/session'));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

const SessionContext = createContext<Session | null>(null);

export function SessionProvider({ answer, children }: { readonly answer: SessionAnswer; readonly children: ReactNode }) {
  const queries = useQueryClient();
  const session = useMemo(() => sessionFrom(answer, queries), [answer, queries]);
  return <SessionContext value={session}>{children}</SessionContext>;
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('useSession needs a SessionProvider above it');
  return session;
}

function sessionFrom(answer: SessionAnswer, queries: QueryClient): Session {
  const api = createApi(answer.csrf ?? null);
  return {
    ...answer,
    api,
    may: (scope, roles) => ({ why: whyNot(answer, scope, roles) }),
    signOut: async () => {
      await read(api.DELETE('/{workspace}/admin/session', { params: { path: { workspace: answer.workspace } } }));
      queries.clear();
      location.assign('/console/');
    },
  };
}

function whyNot({ scopes, role }: SessionAnswer, scope: Scope, roles: readonly Role[] | undefined): string | null {
  if (!scopes.includes(scope) && !scopes.includes('*')) return `The key that you signed in with lacks the scope ${scope}.`;
  if (roles !== undefined && !roles.includes(role)) return `This needs the role ${roles.join(' or ')}; yours is ${role}.`;
  return null;
}
