// The site of docs/: `npm run docs` serves it, `npm run docs:build` builds it into `dist`. It needs no other host.
import { relative } from 'node:path';
import { defineConfig } from 'vitepress';
import { anchorOf } from '../anchor.ts';
import { rewriteLinks } from '../links.ts';
import { excluded, isStub, pageOf } from '../pages.ts';
import { indexOptions, searchOptions } from '../search.ts';
import { sidebar } from '../sidebar.ts';

const root = new URL('../..', import.meta.url).pathname;

/** `realPath`: the file of a page whose path on the site is another one. */
const sourceOf = ({ path, realPath }: { path: string; realPath?: string }): string =>
  relative(root, realPath ?? path).replaceAll('\\', '/');

export default defineConfig({
  title: 'Tollgate',
  description: 'Decides which AI agent may call which tool, for whom and how often, and proves afterwards what happened.',
  lang: 'en',
  // No icon: without this line browsers ask for one.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // Documents outside of docs/ are pages too.
  srcDir: '..',
  srcExclude: [...excluded],
  rewrites: (source) => pageOf(source) ?? source,
  markdown: {
    // The comments of the standard dark theme are too dark to read.
    theme: { light: 'github-light', dark: 'github-dark-default' },
    anchor: { slugify: anchorOf },
    config(md) {
      md.core.ruler.push('links of the repository', (state) => {
        const make = (type: string, content: string) => {
          const token = new state.Token(type, type === 'code_inline' ? 'code' : '', 0);
          token.content = content;
          return token;
        };
        for (const token of state.tokens)
          if (token.children !== null) token.children = rewriteLinks(sourceOf(state.env), token.children, make);
      });
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/guide/index.md', activeMatch: '^/guide/' },
      { text: 'Doors', link: '/doors/library.md', activeMatch: '^/doors/' },
      { text: 'Operate', link: '/operate/index.md', activeMatch: '^/operate/' },
      { text: 'Reference', link: '/reference/rest.md', activeMatch: '^/reference/' },
      { text: 'Design', link: '/design/semantics.md', activeMatch: '^/design/' },
    ],
    sidebar: structuredClone(sidebar) as never,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        miniSearch: { options: indexOptions, searchOptions },
        _render: (text, env, md) => (isStub(sourceOf(env)) ? '' : md.render(text, env)),
      },
    },
  },
  vite: {
    plugins: [
      {
        // The documents are outside of this package, so Vue is not found from where they are. While pages are rendered it is
        // loaded from here, once.
        name: 'vue of this package',
        enforce: 'pre',
        resolveId: (id, _from, { ssr }) => (ssr === true && /^vue(?:\/|$)/.test(id) ? { id, external: true } : null),
      },
    ],
    // Databases and built files of the checkout are no pages.
    server: { watch: { ignored: ['**/{.git,.tollgate,dist,coverage,node_modules}/**'] } },
  },
});
