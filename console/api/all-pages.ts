// Reads a list over its pages. The console asks for no list as a whole, because it may have many thousand items.

interface Page {
  readonly next?: string | undefined;
}

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

const pageLimit = 500;

/** Returns the pages of a list, up to `pagesMax` of them. `ask` requests one page. */
export async function readPages<T extends Page>(
  ask: (query: PageQuery) => Promise<T>,
  pagesMax = Number.POSITIVE_INFINITY,
): Promise<readonly T[]> {
  const pages: T[] = [];
  let query: PageQuery = { limit: pageLimit };
  while (pages.length < pagesMax) {
    const page = await ask(query);
    pages.push(page);
    if (page.next === undefined) break;
    query = { limit: pageLimit, cursor: page.next };
  }
  return pages;
}
