// Policy documents, and what each revision made of them.
import { type DocumentId, isRole, type Layer, type Part } from '@tollgate/proto/contract';
import { isObject, type PolicyDocument } from '../domain/policy.ts';
import { rowIs } from './row.ts';
import type { Queryable } from './transaction.ts';

interface Place {
  readonly layer: Layer;
  readonly key: string;
  readonly part: Part | '';
}

interface DocumentRow {
  readonly layer: string;
  readonly key: string;
  readonly part: string;
  readonly document: unknown;
}

// Documents pass `checkDocument` before they are written.
const isDocument = (value: unknown): value is PolicyDocument => isObject(value);
const isPart = (value: unknown): value is Part => value === 'organisation' || value === 'self';

function placeOf(id: DocumentId): Place {
  switch (id.layer) {
    case 'workspace':
      return { layer: 'workspace', key: '', part: '' };
    case 'role':
      return { layer: 'role', key: id.role, part: '' };
    case 'agent-type':
      return { layer: 'agent-type', key: id.agentType, part: '' };
    case 'user':
      return { layer: 'user', key: id.uid, part: id.part };
  }
}

function idFromRow({ layer, key, part }: DocumentRow): DocumentId {
  switch (layer) {
    case 'workspace':
      return { layer };
    case 'role':
      return { layer, role: rowIs(isRole, key) };
    case 'agent-type':
      return { layer, agentType: key };
    case 'user':
      return { layer, uid: key, part: rowIs(isPart, part) };
    default:
      throw new Error(`the database holds a document of a layer that is none of ours: ${layer}`);
  }
}

export async function readDocument(db: Queryable, workspaceId: number, id: DocumentId): Promise<PolicyDocument | null> {
  const { layer, key, part } = placeOf(id);
  const { rows } = await db.query<{ document: unknown }>(
    'select document from policy_document where workspace_id = $1 and layer = $2 and key = $3 and part = $4',
    [workspaceId, layer, key, part],
  );
  return rows[0] === undefined ? null : rowIs(isDocument, rows[0].document);
}

export interface StoredDocument {
  readonly id: DocumentId;
  readonly document: PolicyDocument;
}

/** In a fixed order; of one layer or of all. */
export async function listDocuments(db: Queryable, workspaceId: number, layer: Layer | null = null): Promise<readonly StoredDocument[]> {
  const { rows } = await db.query<DocumentRow>(
    'select layer, key, part, document from policy_document where workspace_id = $1 and layer = coalesce($2, layer) order by layer, key, part',
    [workspaceId, layer],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document) }));
}

/** Those that hold an explicit exception anywhere. */
export async function listOverridingDocuments(db: Queryable, workspaceId: number): Promise<readonly StoredDocument[]> {
  const { rows } = await db.query<DocumentRow>(
    `select layer, key, part, document from policy_document
     where workspace_id = $1 and document @? '$.**.override ? (@ == true)' order by layer, key, part`,
    [workspaceId],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document) }));
}

/** Which write it is, for the history. */
export interface Authorship {
  readonly revision: number;
  readonly sub: string;
  readonly at: Date;
}

export async function writeDocument(db: Queryable, workspaceId: number, { id, document }: StoredDocument, by: Authorship): Promise<void> {
  const { layer, key, part } = placeOf(id);
  await db.query(
    `insert into policy_document (workspace_id, layer, key, part, document, revision) values ($1, $2, $3, $4, $5, $6)
     on conflict (workspace_id, layer, key, part) do update set document = excluded.document, revision = excluded.revision`,
    [workspaceId, layer, key, part, JSON.stringify(document), by.revision],
  );
  await insertHistory(db, workspaceId, { id, document }, by);
}

/** Writes history only where there was a document. */
export async function deleteDocument(db: Queryable, workspaceId: number, id: DocumentId, by: Authorship): Promise<void> {
  const { layer, key, part } = placeOf(id);
  const { rowCount } = await db.query('delete from policy_document where workspace_id = $1 and layer = $2 and key = $3 and part = $4', [
    workspaceId,
    layer,
    key,
    part,
  ]);
  if (rowCount === 1) await insertHistory(db, workspaceId, { id, document: null }, by);
}

async function insertHistory(
  db: Queryable,
  workspaceId: number,
  { id, document }: { id: DocumentId; document: PolicyDocument | null },
  by: Authorship,
): Promise<void> {
  const { layer, key, part } = placeOf(id);
  await db.query(
    'insert into policy_history (workspace_id, revision, layer, key, part, document, sub, at) values ($1, $2, $3, $4, $5, $6, $7, $8)',
    [workspaceId, by.revision, layer, key, part, document === null ? null : JSON.stringify(document), by.sub, by.at],
  );
}
