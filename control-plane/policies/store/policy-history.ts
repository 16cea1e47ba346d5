// Reads the history of policy documents by revision, also for rollback.
import type { DocumentId } from '@tollgate/proto/contract';
import type { PolicyDocument, StoredDocument } from '@tollgate/sidecar/engine/compile';
import type { HistoryQuery } from '../rules/policy-history.ts';
import { columnsOf, type DocumentRow, idFromRow, isDocument, rowKeyOf } from './policies.ts';
import { rowIs } from '../../database/row.ts';
import type { Queryable } from '../../database/transaction.ts';

/** The organisation's documents as they were at a revision. */
export async function listDocumentsAt(db: Queryable, workspaceId: number, revision: number): Promise<readonly StoredDocument[]> {
  const { rows } = await db.query<DocumentRow>(
    `select layer, key, part, document from (
       select distinct on (layer, key, part) layer, key, part, document from policy_history
       where workspace_id = $1 and revision <= $2 and part <> 'self' order by layer, key, part, revision desc
     ) as past where document is not null order by layer, key, part`,
    [workspaceId, revision],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document) }));
}

/** Returns these documents as they were at a revision, a member's own part included. Those that did not exist are absent. */
export async function findDocumentsAt(
  db: Queryable,
  workspaceId: number,
  ids: readonly DocumentId[],
  revision: number,
): Promise<readonly StoredDocument[]> {
  const { rows } = await db.query<DocumentRow>(
    `select layer, key, part, document from unnest($3::text[], $4::text[], $5::text[]) as asked(layer, key, part)
     cross join lateral (
       select document from policy_history past
       where past.workspace_id = $1 and past.layer = asked.layer and past.key = asked.key and past.part = asked.part
         and past.revision <= $2
       order by past.revision desc limit 1
     ) as newest where document is not null order by layer, key, part`,
    [workspaceId, revision, ...columnsOf(ids.map(rowKeyOf))],
  );
  return rows.map((row) => ({ id: idFromRow(row), document: rowIs(isDocument, row.document) }));
}

interface PastWrite {
  readonly revision: number;
  readonly at: Date;
  readonly sub: string;
  readonly id: DocumentId;
  /** Null: the document did not exist at that time. */
  readonly before: PolicyDocument | null;
  readonly after: PolicyDocument | null;
}

interface HistoryRow extends DocumentRow {
  readonly revision: string;
  readonly at: Date;
  readonly sub: string;
  readonly before: unknown;
  readonly found: string;
}

/** Maximum size of the documents of a page as text. A page with a single write can be larger. */
const pageBytesMax = 4 * 1_048_576;

/** Lists the writes, newest first. A page ends at `limit` writes or at its maximum size. */
export async function listHistory(
  db: Queryable,
  workspaceId: number,
  { limit, document, after }: HistoryQuery,
): Promise<{ readonly writes: readonly PastWrite[]; readonly more: boolean }> {
  const only = document === null ? null : rowKeyOf(document);
  const from = after === null ? null : rowKeyOf(after.id);
  const { rows } = await db.query<HistoryRow>(
    `with recursive newest as materialized (
       select revision, layer, key, part, row_number() over (order by revision desc, layer desc, key desc, part desc) as position
       from policy_history
       where workspace_id = $1
         and ($2::text is null or (layer, key, part) = ($2, $3, $4))
         and ($5::bigint is null or (revision, layer, key, part) < ($5, $6, $7, $8))
       order by revision desc, layer desc, key desc, part desc limit $9 + 1
     ), page as (
       select 0::bigint as position, 0::bigint as weight
       union all
       -- One at a time: what does not come on the page is not read.
       select n.position, page.weight + heavy.weight
       from page join newest n on n.position = page.position + 1 cross join lateral (
         select coalesce(sum(octet_length(document::text)), 0)::bigint as weight from (
           select document from policy_history h
           where h.workspace_id = $1 and h.layer = n.layer and h.key = n.key and h.part = n.part and h.revision <= n.revision
           order by h.revision desc limit 2
         ) as both_documents
       ) as heavy
       where n.position <= $9 and (n.position = 1 or page.weight + heavy.weight <= $10)
     )
     select h.revision, h.layer, h.key, h.part, h.document, h.sub, h.at, earlier.document as before,
       (select count(*) from newest) as found
     from page join newest n using (position)
     join policy_history h on h.workspace_id = $1
       and (h.revision, h.layer, h.key, h.part) = (n.revision, n.layer, n.key, n.part)
     left join lateral (
       select document from policy_history e
       where e.workspace_id = $1 and e.layer = n.layer and e.key = n.key and e.part = n.part and e.revision < n.revision
       order by e.revision desc limit 1
     ) as earlier on true
     order by n.position`,
    [workspaceId, only?.layer, only?.key, only?.part, after?.revision, from?.layer, from?.key, from?.part, limit, pageBytesMax],
  );
  return { writes: rows.map(pastWriteFromRow), more: Number(rows[0]?.found ?? 0) > rows.length };
}

const pastWriteFromRow = (row: HistoryRow): PastWrite => ({
  revision: Number(row.revision),
  at: row.at,
  sub: row.sub,
  id: idFromRow(row),
  before: row.before === null ? null : rowIs(isDocument, row.before),
  after: row.document === null ? null : rowIs(isDocument, row.document),
});
