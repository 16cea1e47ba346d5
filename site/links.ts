// Where a link of a document leads on the site: to a page; or to a file of the repository, which the site does not have
// and shows as its path. Nothing of the project is published, so there is no host where such a file could be read.
import { posix } from 'node:path';
import { exists, pageOf } from './pages.ts';

export type Target =
  | { readonly kind: 'page'; readonly href: string }
  | { readonly kind: 'file'; readonly path: string }
  /** An anchor of the same page, or another host. */
  | { readonly kind: 'as written' }
  | { readonly kind: 'dead'; readonly path: string };

/** `source`: the document with the link, from the root of the repository. */
export function targetOf(source: string, href: string): Target {
  if (/^(?:[a-z][a-z+.-]*:|#)/i.test(href)) return { kind: 'as written' };
  const [file = '', anchor] = href.split('#', 2);
  const path = posix.join(posix.dirname(source), file).replace(/\/$/, '');
  const page = pageOf(path) ?? pageOf(`${path}/README.md`) ?? pageOf(`${path}/index.md`);
  if (page !== null) return { kind: 'page', href: `/${page}${anchor === undefined ? '' : `#${anchor}`}` };
  return exists(path) ? { kind: 'file', path } : { kind: 'dead', path };
}

/** The part of a token of markdown-it that is used here. */
interface Token {
  readonly type: string;
  readonly content: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

type Make<T> = (type: 'code_inline' | 'text', content: string) => T;

/** The tokens of one line with its links changed. `make` makes a token. Throws at a link that leads nowhere. */
export function rewriteLinks<T extends Token>(source: string, tokens: readonly T[], make: Make<T>): T[] {
  const made: T[] = [];
  /** Tokens before this one are in `made`. */
  let next = 0;
  for (const [at, token] of tokens.entries()) {
    if (at < next) continue;
    next = at + 1;
    const target = token.type === 'link_open' ? targetOf(source, decodeURI(token.attrGet('href') ?? '')) : null;
    if (target?.kind === 'dead') throw new Error(`${source} links to ${target.path}, which does not exist`);
    if (target?.kind === 'page') token.attrSet('href', target.href);
    if (target?.kind !== 'file') {
      made.push(token);
      continue;
    }
    const end = tokens.findIndex((one, index) => index > at && one.type === 'link_close');
    made.push(...fileInText(target.path, tokens.slice(next, end), make));
    next = end + 1;
  }
  return made;
}

/** A text that is the name of the file becomes its path; another text is followed by the path. */
function fileInText<T extends Token>(path: string, text: readonly T[], make: Make<T>): readonly T[] {
  const code = make('code_inline', path);
  const words = text.map(({ content }) => content).join('');
  if (path === words || path.endsWith(`/${words}`)) return [code];
  return [...text, make('text', ' ('), code, make('text', ')')];
}
