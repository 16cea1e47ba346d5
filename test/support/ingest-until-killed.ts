// A control plane that takes entries in until it is killed. Arguments: the database as JSON, the workspace's id, the spool
// id. It begins after what is stored, prints a byte after each batch, and each batch has entries of two days.
import { Pool } from 'pg';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { acknowledgedOf, batchOf, entry, records } from '../control-plane/spool.ts';

const [connection = '{}', workspace = '', spoolId = ''] = process.argv.slice(2);
const pool = new Pool(JSON.parse(connection));
const ingest = createIngest({ pool, clock: () => new Date('2026-06-25T12:00:00Z') });
const workspaceId = Number(workspace);
const { rows } = await pool.query<{ sequence: string }>('select sequence from audit_stream where workspace_id = $1 and spool_id = $2', [
  workspaceId,
  spoolId,
]);
for (let next = Number(rows[0]?.sequence ?? 0) + 1; ; ) {
  const batch = records(next, next + 99, (n) =>
    entry({
      ts: `2026-06-${n % 2 === 0 ? 24 : 25}T0${n % 7}:00:00.000Z`,
      tool: `tool-${n % 9}`,
      ...(n % 3 === 0 ? { transform: 'redact', findings: [{ kind: 'email', count: n % 4 }].filter(({ count }) => count > 0) } : {}),
    }),
  );
  next = acknowledgedOf(await ingest(batchOf({ workspaceId, spoolId, records: batch }))) + 1;
  process.stdout.write('.');
}
