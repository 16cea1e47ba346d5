// Reads lists of a control plane page by page. No list is asked for whole, because a workspace may have many thousand
// items of a kind.
import { type Row, rowsIn } from './answer.ts';
import type { Client } from './client.ts';

const pageLimit = '500';

/** Yields the answers to the requests for a list, one for each page. */
export async function* pagesOf({ ask }: Client, path: string): AsyncGenerator<Row> {
  for (let cursor: string | undefined; ; ) {
    const answer = await ask('GET', path, { query: { limit: pageLimit, cursor } });
    yield answer;
    const { next } = answer;
    if (typeof next !== 'string' || next === cursor) return;
    cursor = next;
  }
}

/**
 * Returns all pages as one answer. `name`: the field that has the list. The other fields are those of the last page, such
 * as the newest revision.
 */
export async function readAllPages(client: Client, path: string, name: string): Promise<Row> {
  const rows: Row[] = [];
  let rest: Row = {};
  for await (const { next: _, ...answer } of pagesOf(client, path)) {
    rows.push(...rowsIn(answer, name));
    rest = answer;
  }
  return { ...rest, [name]: rows };
}
