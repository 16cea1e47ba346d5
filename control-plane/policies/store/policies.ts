// Stores policy documents. Each write also adds the new document to the table policy_history, which `policy-history.ts`
// reads.
import { type DocumentId, isRole, type Layer, type Part } from '@tollgate/proto/contract';
import { type CaseCount, countCases, type PolicyDocument, type StoredDocument } from '@tollgate/sidecar/engine/compile';
import { isObject } from '@tollgate/proto/shape';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

interface RowKey {
  readonly layer: Layer;
  readonly key: string;
  readonly part: Part | '';
}

export interface DocumentRow {
  readonly layer: string;
  readonly key: string;
  readonly part: string;
  readonly document: unknown;
}

// `checkDocument` has checked each document before it was written, so this check is enough.
export const isDocument = (value: unknown): value is PolicyDocument => isObject(value);
const isPart = (value: unknown): value is Part => value === 'organisation' || value === 'self';

export function rowKeyOf(id: DocumentId): RowKey {
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

export function idFromRow({ layer, key, part }: DocumentRow): DocumentId {
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
      throw new Error(`the database contains a document of an unknown layer: ${layer}`);
  }
}

export async function readDocument(db: Queryable, workspaceId: number, id: DocumentId): Promise<PolicyDocument | null> {
  const { layer, key, part } = rowKeyOf(id);
  const { rows } = await db.query<{ document: unknown }>(
    'select document from policy_document where workspace_id = $1 and layer = $2 and key = $3 and part = $4',
    [workspaceId, layer, key, part],
  );
  return rows[0] === undefined ? null : rowIs(isDocument, rows[0].document);
}

/** Lists the documents of one layer in a fixed order, or of all layers if `layer` is null. */
export async function listDocuments(db: Queryable, workspaceId: number, layer: Layer | null = null): Promise<readonly StoredDocument[]> {
  const { rows } = await db.query<DocumentRow>(
    'select layer, key, part, document from policy_document where workspace_id = $1 and layer = coalesce($2, layer) order by layer, key, part',
    [workspaceId, layer],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document) }));
}

/** Lists a part of the documents of a layer that has one for each key, by their key, with their sizes as text. */
export async function listDocumentsAfter(
  db: Queryable,
  workspaceId: number,
  layer: 'role' | 'agent-type',
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<readonly (StoredDocument & { readonly bytes: number })[]> {
  const { rows } = await db.query<DocumentRow & { readonly bytes: number }>(
    `select layer, key, part, document, octet_length(document::text) as bytes from policy_document
     where workspace_id = $1 and layer = $2 and ($3::text is null or key > $3) order by key limit $4`,
    [workspaceId, layer, after, limit],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document), bytes: row.bytes }));
}

/** Returns those documents that exist among these keys (`documentKey`). */
export async function findDocuments(db: Queryable, workspaceId: number, keys: readonly string[]): Promise<readonly StoredDocument[]> {
  const { rows } = await db.query<DocumentRow>(
    `select layer, key, part, document from policy_document
     join unnest($2::text[], $3::text[], $4::text[]) as asked(layer, key, part) using (layer, key, part)
     where workspace_id = $1 order by layer, key, part`,
    [workspaceId, ...columnsOf(keys.map(rowKeyFromText))],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document) }));
}

/** Returns the keys of rows as one list for each column. */
export const columnsOf = (rows: readonly Omit<DocumentRow, 'document'>[]): readonly (readonly string[])[] => [
  rows.map(({ layer }) => layer),
  rows.map(({ key }) => key),
  rows.map(({ part }) => part),
];

/**
 * Parses a `documentKey`. In the key of a user's document, the part follows the last colon, because the name of a part
 * contains no colon.
 */
function rowKeyFromText(text: string): Omit<DocumentRow, 'document'> {
  const [, layer = '', rest = ''] = /^([^:]*):?(.*)$/s.exec(text) ?? [];
  if (layer !== 'user') return { layer, key: rest, part: '' };
  const end = rest.lastIndexOf(':');
  return { layer, key: rest.slice(0, end), part: rest.slice(end + 1) };
}

/** Documents that contain an explicit exception in any place. */
export async function listOverridingDocuments(db: Queryable, workspaceId: number): Promise<readonly StoredDocument[]> {
  const { rows } = await db.query<DocumentRow>(
    `select layer, key, part, document from policy_document
     where workspace_id = $1 and document @? '$.**.override ? (@ == true)' order by layer, key, part`,
    [workspaceId],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document) }));
}

/** Returns how many cases the documents of the workspace have. */
export async function countStoredCases(db: Queryable, workspaceId: number): Promise<CaseCount> {
  const { rows } = await db.query<CaseCount>(
    `select coalesce(sum(cases), 0)::int as cases, coalesce(sum(condition_bytes), 0)::int as bytes
     from policy_document where workspace_id = $1 and cases > 0`,
    [workspaceId],
  );
  return rows[0] ?? { cases: 0, bytes: 0 };
}

/** The revision, the author and the time of a write, for the history. */
export interface Authorship {
  readonly revision: number;
  readonly sub: string;
  readonly at: Date;
}

export function writeDocument(db: Queryable, workspaceId: number, written: StoredDocument, by: Authorship): Promise<void> {
  return writeDocuments(db, workspaceId, [written], by);
}

/**
 * Deletes a document and records the deletion in the history. Returns false, and records nothing, if the document did
 * not exist.
 */
export async function deleteDocument(db: Queryable, workspaceId: number, id: DocumentId, by: Authorship): Promise<boolean> {
  if ((await readDocument(db, workspaceId, id)) === null) return false;
  await writeDocuments(db, workspaceId, [{ id, document: null }], by);
  return true;
}

interface WrittenDocument {
  readonly id: DocumentId;
  /** Null: the document is removed. */
  readonly document: PolicyDocument | null;
}

/**
 * The maximum number of documents in one statement. It is small enough that the statement stays far below the query
 * timeout.
 */
const documentsInStatement = 1_000;

export async function writeDocuments(
  db: Queryable,
  workspaceId: number,
  documents: readonly WrittenDocument[],
  by: Authorship,
): Promise<void> {
  for (let at = 0; at < documents.length; at += documentsInStatement)
    await writeAtOnce(db, workspaceId, documents.slice(at, at + documentsInStatement), by);
}

/** Writes the documents and their history in one statement. */
async function writeAtOnce(
  db: Queryable,
  workspaceId: number,
  documents: readonly WrittenDocument[],
  { revision, sub, at }: Authorship,
): Promise<void> {
  const rows = documents.map(({ id, document }) => {
    const { cases, bytes } = countCases([document]);
    return { ...rowKeyOf(id), document, cases, condition_bytes: bytes };
  });
  await db.query(
    `with changed as (
       select layer, key, part, document, cases, condition_bytes from jsonb_to_recordset($2::jsonb)
         as change(layer text, key text, part text, document jsonb, cases int, condition_bytes int)
     ), removed as (
       delete from policy_document using changed
       where policy_document.workspace_id = $1 and policy_document.layer = changed.layer and policy_document.key = changed.key
         and policy_document.part = changed.part and changed.document is null
     ), written as (
       insert into policy_document (workspace_id, layer, key, part, document, revision, cases, condition_bytes)
       select $1, layer, key, part, document, $3, cases, condition_bytes from changed where document is not null
       on conflict (workspace_id, layer, key, part) do update set document = excluded.document, revision = excluded.revision,
         cases = excluded.cases, condition_bytes = excluded.condition_bytes
     )
     insert into policy_history (workspace_id, revision, layer, key, part, document, sub, at)
     select $1, $3, layer, key, part, document, $4, $5 from changed`,
    [workspaceId, JSON.stringify(rows), revision, sub, at],
  );
}
