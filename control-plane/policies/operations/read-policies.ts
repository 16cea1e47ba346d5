// Reads policy documents as they are stored. The result is `{}` if no document is set.
import { type DocumentId, parseAgentType, type Role } from '@tollgate/proto/contract';
import type { PolicyDocument, StoredDocument } from '@tollgate/sidecar/engine/compile';
import { cursorOfText, type PageWanted, textInCursor } from '../../base/page.ts';
import { requireAccessTo } from '../../access/rules/access.ts';
import { mergedUserView } from '../rules/user-policy.ts';
import { listDocuments, listDocumentsAfter, readDocument } from '../store/policies.ts';
import type { Queryable } from '../../database/transaction.ts';
import { readOperation } from '../../access/operation.ts';

const orEmpty = async (document: Promise<PolicyDocument | null>): Promise<PolicyDocument> => (await document) ?? {};

export const readWorkspacePolicy = readOperation('workspace-policy.read', ({ pool }, actor) =>
  orEmpty(readDocument(pool, actor.workspaceId, { layer: 'workspace' })),
);

export const readRolePolicy = readOperation('role-policy.read', ({ pool }, actor, role: Role) =>
  orEmpty(readDocument(pool, actor.workspaceId, { layer: 'role', role })),
);

export const readAgentTypePolicy = readOperation('agent-type-policy.read', ({ pool }, actor, agentType: string) =>
  orEmpty(readDocument(pool, actor.workspaceId, { layer: 'agent-type', agentType })),
);

const nameOf = (id: DocumentId): string => (id.layer === 'role' ? id.role : id.layer === 'agent-type' ? id.agentType : '');

const byName = (documents: readonly StoredDocument[]): Readonly<Record<string, PolicyDocument>> =>
  Object.fromEntries(documents.map(({ id, document }) => [nameOf(id), document]));

export const listRolePolicies = readOperation('role-policy.list', async ({ pool }, actor) =>
  byName(await listDocuments(pool, actor.workspaceId, 'role')),
);

interface PolicyPage {
  readonly policies: Readonly<Record<string, PolicyDocument>>;
  /** Absent on the last page. */
  readonly next?: string;
}

/** `atOnce`: how many documents are read at a time, so that few are read that are not on the page. */
const pageBounds = { documents: 1_000, bytes: 4 * 1_048_576, atOnce: 32 } as const;

/** Lists the policies of agent types by their key. The position is a key. */
export const listAgentTypePolicies = readOperation(
  'agent-type-policy.list',
  async ({ pool }, { workspaceId }, { limit, after }: PageWanted<string>): Promise<PolicyPage> => {
    if (limit === null && after === null) return { policies: byName(await listDocuments(pool, workspaceId, 'agent-type')) };
    const { documents, more } = await readPage(pool, workspaceId, { limit: limit ?? pageBounds.documents, after });
    const last = documents.at(-1);
    return { policies: byName(documents), ...(last !== undefined && more ? { next: cursorOfText(nameOf(last.id)) } : {}) };
  },
);

/** A page ends at `limit` documents, or before its documents are too large together. It has one at least. */
async function readPage(
  db: Queryable,
  workspaceId: number,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<{ readonly documents: readonly StoredDocument[]; readonly more: boolean }> {
  const documents: StoredDocument[] = [];
  let bytes = 0;
  let from = after;
  for (;;) {
    const atOnce = Math.min(pageBounds.atOnce, limit + 1 - documents.length);
    const found = await listDocumentsAfter(db, workspaceId, 'agent-type', { limit: atOnce, after: from });
    for (const one of found) {
      bytes += one.bytes;
      if (documents.length === limit || (documents.length > 0 && bytes > pageBounds.bytes)) return { documents, more: true };
      documents.push(one);
      from = nameOf(one.id);
    }
    if (found.length < atOnce) return { documents, more: false };
  }
}

export const parseAgentTypeCursor = (cursor: string): string | null => textInCursor(cursor, (text) => parseAgentType(text) !== null);

/** The two parts of a user's document. */
export async function readUserParts(db: Queryable, workspaceId: number, uid: string) {
  const organisation = await readDocument(db, workspaceId, { layer: 'user', uid, part: 'organisation' });
  const self = await readDocument(db, workspaceId, { layer: 'user', uid, part: 'self' });
  return { organisation, self };
}

export const readUserPolicy = readOperation('user-policy.read', async ({ pool }, actor, uid: string) => {
  requireAccessTo(actor, 'user-policy.read', uid);
  const { organisation, self } = await readUserParts(pool, actor.workspaceId, uid);
  return mergedUserView(organisation, self);
});
