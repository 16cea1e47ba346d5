// `npm run reference`: writes the generated parts of docs/reference. Without `--write` it checks them, and ends with
// code 1 where a page differs from the code. Each file of `.ci/reference` exports one `page`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A document, or a part of one, that is made of the code. */
export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  /** The part is from the line `<!-- between -->` to the next line `<!-- end -->`; absent: the whole file. */
  readonly between?: string;
  /** Without a line feed at the end. */
  readonly render: () => string | Promise<string>;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = new URL('reference/', import.meta.url);

async function readPages(): Promise<readonly Page[]> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const pages: Page[] = [];
  for (const name of names.toSorted()) {
    const { page } = (await import(new URL(name, folder).href)) as { readonly page?: Page };
    if (page === undefined) throw new Error(`.ci/reference/${name} exports no page`);
    pages.push(page);
  }
  return pages;
}

/** The text that the file should have; null where it has no place for the generated part. */
function place({ between }: Page, text: string, made: string): string | null {
  if (between === undefined) return `${made}\n`;
  const [before, after, ...more] = text.split(`<!-- ${between} -->\n`);
  const end = after?.indexOf('<!-- end -->') ?? -1;
  if (before === undefined || after === undefined || end === -1 || more.length > 0) return null;
  return `${before}<!-- ${between} -->\n${made}\n${after.slice(end)}`;
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Returns the problem of a page; null: it is as the code says, or it was written. */
async function settle(page: Page, write: boolean): Promise<string | null> {
  const file = `${root}${page.path}`;
  const text = readOrEmpty(file);
  const wanted = place(page, text, await page.render());
  if (wanted === null) return `${page.path} needs one line <!-- ${page.between} --> and a line <!-- end --> after it`;
  if (wanted === text) return null;
  if (!write) return `${page.path} differs from the code; run: npm run reference`;
  writeFileSync(file, wanted);
  process.stdout.write(`${page.path} was written\n`);
  return null;
}

const write = process.argv.includes('--write');
const pages = await readPages();
const problems: string[] = [];
for (const page of pages) {
  const problem = await settle(page, write);
  if (problem !== null) problems.push(problem);
}
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}
process.stdout.write(`${pages.length} pages of reference are as the code says\n`);
