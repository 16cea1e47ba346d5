// The folder list/ handles the list of tools that one caller sees. Begin here: this file filters the list. The filtered
// list contains what identity and policy permit, in a stable order, with each definition as its server wrote it. It is
// private to the caller, so a cache must not serve it to another caller. `catalog.ts` stores what is known of the tools
// of a server, `ask-tools.ts` requests the list from the server, and `changes.ts` notifies clients when the list
// changed.
import type { Caller } from '../../../engine/decide/caller.ts';
import type { GovernDeps } from '../../../engine/govern/governing.ts';
import { offers, offersTo } from '../../../engine/govern/offers.ts';
import { type GovernedRun, rebind } from '../../../engine/govern/run.ts';
import { type Catalog, isAdmitted } from './catalog.ts';
import { itemsAt, memberAt, withMember } from '../../../upstream/wire/json-text.ts';
import { isFields } from '../../../upstream/wire/message.ts';
import type { Era } from '../../../upstream/wire/methods.ts';
import type { Pending } from '../request/pending.ts';
import type { ToolServer } from '../../../upstream/upstream.ts';

/** Returns the name of a server's tool in the policy. */
export const policyName = (server: ToolServer, tool: string): string => `${server.name}.${tool}`;

export interface Viewer {
  readonly govern: GovernDeps;
  readonly run: GovernedRun;
  readonly server: ToolServer;
  readonly catalog: Catalog;
}

/**
 * Whether the caller sees a tool. A tool whose definition is not admitted is hidden too, because a model would read its
 * description.
 */
const isShown = ({ govern, run, server, catalog }: Viewer, name: string): boolean =>
  offers(govern, run, policyName(server, name)) && isAdmitted(server, name, catalog.tools.get(name));

/**
 * The state that determines which tools a viewer sees at one moment. It references the snapshot, so code that keeps it
 * must replace it with each new snapshot.
 */
export interface Sight {
  /** Null: the viewer may call nothing. */
  readonly caller: Caller | null;
  readonly admitted: ToolServer['admitted'];
}

export function sightOf({ govern, run, server }: Viewer): Sight {
  const bound = rebind(govern, run);
  return { caller: 'caller' in bound ? bound.caller : null, admitted: server.admitted };
}

/**
 * Returns the tool names that are visible in that state, as JSON text. It checks all names that are known now, because
 * a client that received the list may have seen any of them.
 */
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
  if (list === null) throw new RangeError('memberAt must find the list of tools in the text from which the list was parsed');
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
