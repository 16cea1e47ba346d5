// The floor of S2: what PostgreSQL needs for the entries of a load without a control plane. The same entries, in groups
// of the same size, are written by COPY into a table with the same columns and indexes, in the same PostgreSQL.
import { rmSync } from 'node:fs';
import { withClient } from '../../support/database.ts';
import { cpuSecondsOf, readProcesses, treeOf } from './processes.ts';

/** Returns the process of the embedded PostgreSQL of a control plane. All others of the server descend from it. */
function postmasterOf(plane: number): number {
  const table = readProcesses();
  const found = [...treeOf(plane, table)].find(
    (pid) => table.get(pid)?.name === 'postgres' && table.get(table.get(pid)?.parent ?? 0)?.name !== 'postgres',
  );
  if (found === undefined) throw new Error(`process ${plane} has no PostgreSQL of its own`);
  return found;
}

/** CPU seconds for 1,000 entries: those after item `since` of the only log of a control plane with the process `plane`. */
export async function copyFloor(plane: number, since: number): Promise<number> {
  const pid = postmasterOf(plane);
  // The server works in the folder of its cluster, which has its socket.
  const folder = `/proc/${pid}/cwd`;
  return withClient({ host: folder, port: 5432, user: 'tollgate', database: 'tollgate' }, async (client) => {
    const { rows: cluster } = await client.query<{ path: string }>(`select current_setting('data_directory') as path`);
    // All entries of a commit arrived at the same time.
    const { rows: groups } = await client.query<{ first: string; last: string }>(
      'select min(ingest) as first, max(ingest) as last from audit_entry where ingest > $1 group by received_at order by first',
      [since],
    );
    await client.query('create table copy_floor (like audit_entry including indexes)');
    const fileOf = (at: number): string => `copy-floor-${at}`;
    try {
      for (const [at, { first, last }] of groups.entries())
        await client.query(
          `copy (select * from audit_entry where ingest between ${first} and ${last} order by ingest) to '${cluster[0]?.path}/${fileOf(at)}'`,
        );
      const before = cpuSecondsOf(pid);
      let entries = 0;
      for (const at of groups.keys())
        entries += (await client.query(`copy copy_floor from '${cluster[0]?.path}/${fileOf(at)}'`)).rowCount ?? 0;
      return ((cpuSecondsOf(pid) - before) / entries) * 1000;
    } finally {
      await client.query('drop table copy_floor');
      for (const at of groups.keys()) rmSync(`${folder}/${fileOf(at)}`, { force: true });
    }
  });
}
