// Filters lists that agentgateway collected from one or several servers, so only items that the caller may see are
// returned. A list is rebuilt from its items as they were written, and contains only items that were parsed here.
import type { McpResponseResult } from '@tollgate/proto/mesh';
import type { GovernDeps } from '../../engine/govern/governing.ts';
import { deniesByName, offers } from '../../engine/govern/offers.ts';
import type { GovernedRun } from '../../engine/govern/run.ts';
import { itemsAt, memberAt, withMember } from '../../upstream/wire/json-text.ts';
import { isFields } from '../../upstream/wire/message.ts';
import { malformed } from './asking.ts';
import { ownerOfUri, ownersOfNames, readNames } from './list-owners.ts';
import { mutated, refused } from './mcp-answer.ts';

export interface List {
  readonly result: Readonly<Record<string, unknown>>;
  /** The text as written. */
  readonly text: string;
  readonly servers: readonly string[];
}

/**
 * A tool is shown if the policy permits it under one of its readings, and no rule denies any of its readings by name.
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

/** A collected list reduced to the items of permitted servers. Null: it is not such a list. */
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
  if (list === null) throw new RangeError('a list that was read is missing');
  const shown = itemsAt(text, list.start).flatMap(({ start, end }, at) => (isShown[at] === true ? [text.slice(start, end)] : []));
  return withMember(text, [field], `[${shown.join(',')}]`);
}
