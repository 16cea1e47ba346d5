// Brings a database back to the schema of before a migration, as an earlier version left it.
import { readdirSync, readFileSync } from 'node:fs';
import type { Pool } from 'pg';

const folder = new URL('../../control-plane/database/migrations/', import.meta.url);

/** Undoes the migration of this name, and all that came after it, the newest first. */
export async function undoMigrationsFrom(pool: Pool, migration: string): Promise<void> {
  const names = readdirSync(folder).map((file) => file.replace('.sql', ''));
  for (const name of names
    .filter((one) => one >= migration)
    .toSorted()
    .reverse()) {
    const file = readFileSync(new URL(`${name}.sql`, folder), 'utf8');
    await pool.query(`${file.split('-- Down Migration')[1]}; delete from migrations where name = '${name}'`);
  }
}
