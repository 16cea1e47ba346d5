// Filters lists that agentgateway collected from one or several servers, so that the caller receives only items that it
// may see. A list is rebuilt from its items as they were written. It contains only items that were parsed here.
import type { McpResponseResult } from '@tollgate/proto/mesh';
import type { GovernDeps } from '../../engine/govern/governing.ts';
import { deniesByName, offers } from '../../engine/govern/offers.ts';
import type { GovernedRun } from '../../engine/govern/run.ts';
import { itemsAt, memberAt, withMember } from '../../upstream/wire/json-text.ts';
import { isFields } from '../../upstream/wire/message.ts';
import { malformed } from './asking.ts';
import { mutated, refused } from './mcp-answer.ts';

export interface List {
  readonly result: Readonly<Record<string, unknown>>;
  /** The text of the result, as it was written. */
  readonly text: string;
  readonly servers: readonly string[];
}

/**
 * Returns the list with only the tools that are shown. A name may have several readings. A tool is shown if two
 * conditions are met. The policy permits at least one reading of its name. And no rule with the exact name of one of
 * the readings denies this reading.
 */
export function shownTools(govern: GovernDeps, run: GovernedRun, list: List): McpResponseResult {
  const tools = listAt(list, 'tools');
  if (tools === null) return refused(malformed('the result is not a list of tools').refusal);
  const isShown = readNames(namesOf(tools, 'name'), list.servers).map(
    (readings) =>
      readings.some(({ server, name }) => offers(govern, run, `${server}.${name}`)) &&
      !readings.some((reading) => deniesByName(govern, run, reading)),
  );
  return mutated(filtered(list.text, 'tools', isShown));
}

/** Returns a collected list that is reduced to the items of permitted servers. Null: the result is not such a list. */
export function ofServers({ result, text, servers }: List, field: string, permitted: ReadonlySet<string>): string | null {
  const items = listAt({ result, text, servers }, field);
  if (items === null) return null;
  const owners =
    field === 'prompts'
      ? ownersOfNames(namesOf(items, 'name'), servers)
      : namesOf(items, field === 'resources' ? 'uri' : 'uriTemplate').map((uri) => ownerOfUri(uri, servers));
  return filtered(
    text,
    field,
    owners.map((owner) => owner !== null && permitted.has(owner)),
  );
}

function listAt({ result }: List, field: string): readonly unknown[] | null {
  const items = result[field];
  const strange = Object.keys(result).find((key) => key !== field && key.toLowerCase() === field.toLowerCase());
  return Array.isArray(items) && strange === undefined ? (items as readonly unknown[]) : null;
}

const namesOf = (items: readonly unknown[], key: string): readonly (string | null)[] =>
  items.map((item) => {
    const name = isFields(item) ? item[key] : undefined;
    return typeof name === 'string' ? name : null;
  });

function filtered(text: string, field: string, isShown: readonly boolean[]): string {
  const list = memberAt(text, [field]);
  if (list === null) throw new RangeError('memberAt must find the list in the text from which the list was parsed');
  const shown = itemsAt(text, list.start).flatMap(({ start, end }, at) => (isShown[at] === true ? [text.slice(start, end)] : []));
  return withMember(text, [field], `[${shown.join(',')}]`);
}

// Finds the servers that a name in a combined list may belong to. agentgateway puts the target and `_` before a name,
// either always, never, or only if there are several targets (`prefixMode`). It does not report which. Therefore a list
// is interpreted by its names. A name with two interpretations is checked under both.

/** One possible meaning of a name. In the policy it is `<server>.<name>`. */
interface Reading {
  readonly server: string;
  readonly name: string;
}

/** Returns the possible readings of each name of a list, in the order of the list. */
function readNames(names: readonly (string | null)[], servers: readonly string[]): readonly (readonly Reading[])[] {
  const arePrefixed = names.every((name) => name !== null && prefixesOf(name, servers).length > 0);
  return names.map((name) => {
    if (name === null) return [];
    const prefixing = prefixesOf(name, servers);
    // A tool's own name may begin with the name of its target: `slack_post` of the target `slack`. If there are several
    // targets and the names have no prefix, the mode is `prefixMode: never`, and each target may have the tool.
    return [
      ...prefixing.map((server) => ({ server, name: name.slice(server.length + 1) })),
      ...(arePrefixed ? prefixing : servers).map((server) => ({ server, name })),
    ];
  });
}

const prefixesOf = (name: string, servers: readonly string[]): readonly string[] =>
  servers.filter((server) => name.startsWith(`${server}_`));

/** Returns the only possible server of each name. Null: there are several, or there are none. */
const ownersOfNames = (names: readonly (string | null)[], servers: readonly string[]): readonly (string | null)[] =>
  readNames(names, servers).map((readings) => onlyOne(readings.map(({ server }) => server)));

/** Returns the owner of a URI. With several targets each URI has the prefix `<target>+`, except `ui://` URIs. */
const ownerOfUri = (uri: string | null, servers: readonly string[]): string | null =>
  onlyOne(servers.filter((server) => uri?.startsWith(`${server}+`) === true));

function onlyOne(servers: readonly string[]): string | null {
  const [first = null, ...others] = new Set(servers);
  return others.length === 0 ? first : null;
}
