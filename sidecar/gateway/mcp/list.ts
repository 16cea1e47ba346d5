// The list of tools as one caller may see it: what identity and policy permit, in a stable order, each definition as its
// server wrote it. A list is one caller's own, so nobody else may be served it from a cache.
import type { Caller } from '../../decide/caller.ts';
import type { GovernDeps } from '../../govern/governing.ts';
import { offers, offersTo } from '../../govern/offers.ts';
import { type GovernedRun, rebind } from '../../govern/run.ts';
import { type Catalog, isAdmitted } from './catalog.ts';
import { itemsAt, memberAt, withMember } from './wire/json-text.ts';
import { isFields } from './wire/message.ts';
import type { Era } from './wire/methods.ts';
import type { Pending } from './pending.ts';
import type { ToolServer } from './upstream.ts';

/** As policy names the tool of a server. */
export const policyName = (server: ToolServer, tool: string): string => `${server.name}.${tool}`;

export interface Viewer {
  readonly govern: GovernDeps;
  readonly run: GovernedRun;
  readonly server: ToolServer;
  readonly catalog: Catalog;
}

/** A definition that is not admitted is not shown either: its description is what would be read. */
const isShown = ({ govern, run, server, catalog }: Viewer, name: string): boolean =>
  offers(govern, run, policyName(server, name)) && isAdmitted(server, name, catalog.tools.get(name));

/** By what a viewer is shown tools at one moment. It leads to the snapshot: whoever keeps one replaces it with the snapshot. */
export interface Sight {
  /** Null: it may call nothing. */
  readonly caller: Caller | null;
  readonly admitted: ToolServer['admitted'];
}

export function sightOf({ govern, run, server }: Viewer): Sight {
  const bound = rebind(govern, run);
  return { caller: 'caller' in bound ? bound.caller : null, admitted: server.admitted };
}

/** The names that it was shown by that, of all that are known by now: whoever saw the list may have seen any of them. */
export const shownBy = ({ server, catalog }: Viewer, { caller, admitted }: Sight): string =>
  JSON.stringify(
    [...catalog.tools]
      .filter(([name, tool]) => caller !== null && offersTo(caller, policyName(server, name)) && isAdmitted({ admitted }, name, tool))
      .map(([name]) => name)
      .sort(),
  );

export const listPending = (viewer: Viewer, era: Era, passing: Pending['passing']): Pending => ({
  method: 'tools/list',
  settle: async ({ holds, value, text }) =>
    holds === 'result' && isFields(value) && Array.isArray(value['tools']) ? filtered(viewer, era, value['tools'], text) : text,
  abandon: () => Promise.resolve(),
  passing,
});

function filtered(viewer: Viewer, era: Era, tools: readonly unknown[], text: string): string {
  const listed = viewer.catalog.note(tools);
  const list = memberAt(text, ['result', 'tools']);
  if (list === null) throw new RangeError('a list that was read is not there');
  const shown = new Map<string, string>();
  for (const [at, { start, end }] of itemsAt(text, list.start).entries()) {
    const tool = tools[at];
    const name = isFields(tool) ? tool['name'] : undefined;
    if (typeof name === 'string' && listed.has(name) && !shown.has(name) && isShown(viewer, name)) shown.set(name, text.slice(start, end));
  }
  const inOrder = [...shown].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, definition]) => definition);
  const replaced = withMember(text, ['result', 'tools'], `[${inOrder.join(',')}]`);
  return era === 'modern' ? withMember(replaced, ['result', 'cacheScope'], '"private"') : replaced;
}
