// Reads the sidecars of a workspace over all pages.
import { type Row, rowsIn } from './answer.ts';
import type { Client } from './client.ts';

/** Returns all pages as one answer. The revision in the answer is that of the last page: it is the newest revision. */
export async function readAllSidecars(client: Client): Promise<Row> {
  const sidecars: Row[] = [];
  for (let cursor: string | undefined; ; ) {
    const { next, ...answer } = await client.ask('GET', '/{workspace}/admin/sidecars', { query: { limit: '1000', cursor } });
    sidecars.push(...rowsIn(answer, 'sidecars'));
    if (typeof next !== 'string' || next === cursor) return { ...answer, sidecars };
    cursor = next;
  }
}
