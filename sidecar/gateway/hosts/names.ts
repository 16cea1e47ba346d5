// Brings a host's name of a tool to ours, so that one rule holds behind every door: by the workspace's table for the host,
// else as `<server>.<tool>` where it can be told whose tool it is, else as the host calls it. Where a name does not say whose
// tool it is, what the workspace knows decides; where that leaves two, nobody guesses: the call is denied.
import { broughtBy, type HostName, type CompiledToolNames, namesTool } from '@tollgate/proto/contract';
import type { Index } from '../../decide/build-index.ts';
import type { HostCall, ToolOwner } from './host.ts';

/** What names are brought by. */
export type Names = Pick<Index, 'settings' | 'servers' | 'documents'>;

interface OurName {
  readonly tool: string;
  /** Why it is no one tool's name, in words. */
  readonly problem?: string;
}

export function ourName(names: Names, host: HostName, { tool, server }: Pick<HostCall, 'tool' | 'server'>): OurName {
  const brought = broughtBy(tablesOf(names.settings.toolNames).get(host) ?? noNames, tool);
  if (brought !== null) return { tool: brought };
  if (server === null) return { tool };
  if (server.kind === 'named') return { tool: `${server.name}.${server.tool}` };
  return oneOf(tool, server, knownOf(names));
}

function oneOf(tool: string, owner: Exclude<ToolOwner, { readonly kind: 'named' }>, known: Known): OurName {
  const owned = candidatesOf(owner, known);
  if (owned.length === 0) return { tool: owner.kind === 'unnamed' ? `mcp.${owner.tool}` : tool };
  const sure = owned.filter(({ has }) => has);
  const meant = [
    ...(sure.length === 1 ? sure : owned).map(({ name }) => name),
    // A rule for the name that the host has would else hold no more.
    ...(namesTool(known.rules, tool) ? [tool] : []),
  ];
  const [only, ...others] = meant;
  if (only !== undefined && others.length === 0) return { tool: only };
  const quoted = meant.slice(0, shownMax).map((name) => JSON.stringify(name));
  return { tool, problem: `${JSON.stringify(tool)} could be ${quoted.join(' or ')}: say which in toolNames of the workspace document` };
}

const shownMax = 3;

interface Candidate {
  readonly name: string;
  /** Whether the server is known to have this tool. */
  readonly has: boolean;
}

function candidatesOf(owner: Exclude<ToolOwner, { readonly kind: 'named' }>, { tools }: Known): readonly Candidate[] {
  const all = [...tools].flatMap(([server, known]) => {
    const tool = owner.kind === 'unnamed' ? owner.tool : behind(owner.text, `${server}${owner.joint}`);
    return tool === null ? [] : [{ name: `${server}.${tool}`, has: namesTool(known, tool) }];
  });
  return owner.kind === 'unnamed' ? all.filter(({ has }) => has) : all;
}

const behind = (text: string, start: string): string | null =>
  text.startsWith(start) && text.length > start.length ? text.slice(start.length) : null;

/** Of servers: those that are registered, and those whose tools a rule for more than one member names. */
interface Known {
  /** By server, what is known of its tools: names, or wildcards of rules. */
  readonly tools: ReadonlyMap<string, readonly string[]>;
  readonly rules: readonly string[];
}

// By what a snapshot never changes.
const knowns = new WeakMap<Names['documents'], Known>();

function knownOf(names: Names): Known {
  const known = knowns.get(names.documents) ?? learn(names);
  knowns.set(names.documents, known);
  return known;
}

function learn({ servers, documents }: Names): Known {
  const tools = new Map<string, Set<string>>();
  const learnOf = (server: string): Set<string> => {
    const one = tools.get(server) ?? new Set<string>();
    tools.set(server, one);
    return one;
  };
  for (const server of servers.values()) for (const { name } of server.tools) learnOf(server.name).add(name);
  for (const name of servers.keys()) learnOf(name);
  // What members write for themselves must not change what a name means to others.
  const rules = [...documents.values()].filter(({ layer }) => layer !== 'user').flatMap(({ exact }) => [...exact.keys()]);
  for (const rule of rules) {
    const dot = rule.indexOf('.');
    if (dot > 0 && dot < rule.length - 1) learnOf(rule.slice(0, dot)).add(rule.slice(dot + 1));
  }
  return { tools: new Map([...tools].map(([server, names]) => [server, [...names]])), rules };
}

type Tables = ReadonlyMap<HostName, ReadonlyMap<string, string>>;
const noNames: ReadonlyMap<string, string> = new Map();

// By the settings object itself, which never changes: every call asks.
const tables = new WeakMap<CompiledToolNames, Tables>();

function tablesOf(toolNames: CompiledToolNames): Tables {
  const known = tables.get(toolNames);
  if (known !== undefined) return known;
  const made: Tables = new Map(toolNames.map(([host, names]) => [host, new Map(names)]));
  tables.set(toolNames, made);
  return made;
}
