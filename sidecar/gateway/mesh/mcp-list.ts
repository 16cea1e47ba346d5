// Lists on their way back through agentgateway, gathered from one server or several: of each only what the caller may see goes
// back. A list is put together again of its items as they were written: only what was read here is in it.
import type { McpResponseResult } from '@tollgate/proto/mesh';
import type { GovernDeps } from '../../govern/governing.ts';
import { deniesByName, offers } from '../../govern/offers.ts';
import type { GovernedRun } from '../../govern/run.ts';
import { itemsAt, memberAt, withMember } from '../mcp/wire/json-text.ts';
import { isFields } from '../mcp/wire/message.ts';
import { malformed } from './asking.ts';
import { ownerOfUri, ownersOfNames, readNames } from './list-owners.ts';
import { mutated, refused } from './mcp-answer.ts';

export interface List {
  readonly result: Readonly<Record<string, unknown>>;
  /** As it was written. */
  readonly text: string;
  readonly servers: readonly string[];
}

/** A tool is shown where policy permits it, and no rule denies by name what it may also be. */
export function shownTools(govern: GovernDeps, run: GovernedRun, list: List): McpResponseResult {
  const tools = listAt(list, 'tools');
  if (tools === null) return refused(malformed('the result is no list of tools').refusal);
  const isShown = readNames(namesOf(tools, 'name'), list.servers).map(
    (readings) =>
      readings.some(({ server, name }) => offers(govern, run, `${server}.${name}`)) &&
      !readings.some((reading) => deniesByName(govern, run, reading)),
  );
  return mutated(filtered(list.text, 'tools', isShown));
}

/** What is said of one of several servers that a list was gathered from, where not all of them may be read; null: it is no such list. */
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
  if (list === null) throw new RangeError('a list that was read is not there');
  const shown = itemsAt(text, list.start).flatMap(({ start, end }, at) => (isShown[at] === true ? [text.slice(start, end)] : []));
  return withMember(text, [field], `[${shown.join(',')}]`);
}
