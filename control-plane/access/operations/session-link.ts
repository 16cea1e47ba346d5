// Makes the one-time link of a start, and exchanges its token for a session of the first workspace's owner.
import { forbidden } from '../../base/refusal.ts';
import { inTransaction } from '../../database/transaction.ts';
import { findFirstWorkspace } from '../../workspaces/store/workspaces.ts';
import type { OperationDeps } from '../operation.ts';
import { makeToken } from '../rules/session.ts';
import { type LinkUse, linkOf, type SessionLink, usedLink, useOf } from '../rules/session-link.ts';
import { holdFirstOwner } from '../store/members.ts';
import { insertFresh, type OpenSession } from './open-session.ts';

export interface SessionLinks {
  /** Returns the token of a new link. An earlier link is not valid any more. */
  make(): string;
  /** Uses the link up, if the token is that of a valid link. */
  take(token: string): LinkUse;
}

/** Keeps the newest link of this process. */
export function createSessionLinks({ clock, random }: Pick<OperationDeps, 'clock' | 'random'>): SessionLinks {
  let link: SessionLink | null = null;
  return {
    make: () => {
      const token = makeToken(random);
      link = linkOf(token, clock().getTime());
      return token;
    },
    take: (token) => {
      const use = useOf(link, token, clock().getTime());
      if (link !== null && use === 'opened') link = usedLink(link);
      return use;
    },
  };
}

const again = 'the control plane prints a new one when it starts on a terminal; or sign in with a key';
const refusals: Readonly<Record<Exclude<LinkUse, 'opened'>, string>> = {
  unknown: `this link is not valid: ${again}`,
  used: `this link was used already: ${again}`,
  expired: `this link is older than a minute: ${again}`,
};

interface LinkedSession extends OpenSession {
  readonly workspace: string;
  readonly uid: string;
}

/** `isLocal`: whether the request comes from a program on the same machine. */
export async function openLinkedSession(
  deps: Pick<OperationDeps, 'pool' | 'clock' | 'random'> & { readonly links: SessionLinks },
  { token, isLocal }: { readonly token: string; readonly isLocal: boolean },
): Promise<LinkedSession> {
  if (!isLocal) throw forbidden('a link of the console works only on the machine of the control plane; sign in with a key');
  const use = deps.links.take(token);
  if (use !== 'opened') throw forbidden(refusals[use]);
  return inTransaction(deps.pool, async (client) => {
    const workspace = await findFirstWorkspace(client);
    const uid = workspace === null ? null : await holdFirstOwner(client, workspace.id);
    if (workspace === null || uid === null) throw forbidden('there is no workspace with an owner; sign in with a key');
    return {
      workspace: workspace.slug,
      uid,
      ...(await insertFresh(deps, client, { workspaceId: workspace.id, on: { uid }, notAfter: null })),
    };
  });
}
