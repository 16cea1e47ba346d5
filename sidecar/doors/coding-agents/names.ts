// Maps a host's name of a tool to our name, so the same rule applies at every endpoint. It uses, in this order: the
// workspace's table for the host, the server and tool that the host reports, and the known names (the tools of
// registered servers, and the rules that can apply to the caller). Hosts replace characters in names. Therefore each
// known name is compared in the form that the host would write. If two names remain, or a rule would be missed, the
// call is denied.
import {
  bounds,
  type BroughtName,
  broughtName,
  type CompiledToolNames,
  type HostName,
  nameProblem,
  namesTool,
  wildcardPrefix,
} from '@tollgate/proto/contract';
import type { Index } from '../../engine/decide/build-index.ts';
import type { IndexedDocument } from '../../engine/decide/document.ts';
import { callerOf, type GovernedRun, heldBy } from '../../engine/govern/run.ts';
import type { HostCall, JoinedNames, ToolOwner } from '@tollgate/proto/hosts';
import {
  mayBeCut,
  type PreparedSpelling,
  type Spelling,
  spellings,
  writtenEither,
  writtenJoined,
  writtenTool,
  writtenWithin,
} from './spelling.ts';

/** The data for the mapping. */
export type Names = Pick<Index, 'settings' | 'servers' | 'spelledTools'> & {
  /** The policy documents that can apply to the caller. */
  readonly documents: readonly IndexedDocument[];
};

export interface OurName {
  readonly tool: string;
  /**
   * A second name under which the call must be permitted too. It is the host's own name, or the name to which the
   * workspace maps it.
   */
  readonly also?: string;
  /** The reason, in words, why the name is ambiguous. */
  readonly problem?: string;
}

/** Returns the data for mapping names: the caller's current policy and the workspace's settings. */
export function namesFor(cell: Parameters<typeof heldBy>[0], run: GovernedRun): Names {
  const { settings, servers, spelledTools } = heldBy(cell);
  return { settings, servers, spelledTools, documents: callerOf(run).hops.flatMap((hop) => hop.documents) };
}

/** The maximum length of a name, including the prefix and the joint that a host adds. */
const writtenMax = bounds.nameLength + 8;

export function ourName(names: Names, host: HostName, { tool, server }: Pick<HostCall, 'tool' | 'server'>): OurName {
  const table = tablesOf(names.settings.toolNames).get(host) ?? noNames;
  // `decide` refuses this name because of its length. It would also refuse the name that consists of the reported
  // server and tool, because that name is equally long.
  if (tool.length > writtenMax) return { tool };
  const spelling = spellings[host];
  const brought = broughtName(table, tool);
  if (server?.kind === 'method') return { ...methodName(known(names), server, spelling), also: brought?.ours ?? tool };
  if (brought !== null) return brought.kept === 0 ? { tool: brought.ours } : endingOf(known(names), { tool, server }, brought, spelling);
  return server === null ? { tool } : ownedName(known(names), tool, { owner: server, spelling });
}

interface KnownNames extends Names {
  /** The documents in enforce mode. */
  readonly enforcing: readonly IndexedDocument[];
  /**
   * The enforced documents that members did not write for themselves. A member's own documents must not determine the
   * meaning of a name.
   */
  readonly organisation: readonly IndexedDocument[];
}

function known(names: Names): KnownNames {
  const enforcing = names.documents.filter(({ enforces }) => enforces);
  return { ...names, enforcing, organisation: enforcing.filter(({ part }) => part !== 'self') };
}

/** A name written by a host, with its possible meanings. */
interface WrittenName {
  /** The host's name of the tool. */
  readonly tool: string;
  readonly written: PreparedSpelling;
  /** The meaning if the host replaced no characters and no known name matches. */
  readonly plain: string;
  /** The meanings, according to the known servers and rules, if the host replaced no characters. */
  readonly readings: readonly string[];
  /** True: rules for the host's own name apply as well. */
  readonly isBare: boolean;
}

function ownedName(
  names: KnownNames,
  tool: string,
  { owner, spelling }: { readonly owner: ToolOwner; readonly spelling: Spelling },
): OurName {
  switch (owner.kind) {
    case 'exact':
      return { tool: `${owner.name}.${owner.tool}` };
    case 'disputed':
      return ambiguous(tool, owner.names);
    case 'method':
      return methodName(names, owner, spelling);
    case 'named': {
      const written = writtenWithin({ before: `${owner.name}.`, written: owner.tool, behind: '' }, spelling);
      return settled(names, { tool, written, plain: `${owner.name}.${owner.tool}`, readings: [], isBare: true });
    }
    case 'unnamed':
      return unnamed(names, tool, { owner, spelling });
    case 'joined': {
      const ways = owner.or === undefined ? [owner] : [owner, owner.or];
      const written = writtenEither(...ways.map(({ text, joint }) => writtenJoined(text, joint, spelling)));
      const readings = ways.flatMap((way) => readingsOf(names, way, written));
      return settled(names, { tool, written, plain: plainOf(tool, owner), readings, isBare: true });
    }
  }
}

function unnamed(
  names: KnownNames,
  tool: string,
  { owner, spelling }: { readonly owner: Extract<ToolOwner, { readonly kind: 'unnamed' }>; readonly spelling: Spelling },
): OurName {
  const { tool: text, joint } = owner;
  const alone = writtenTool(text, spelling);
  const asItIs = names.organisation.flatMap(({ spelled }) => alone.among(spelled, true).filter((name) => name.endsWith(`.${text}`)));
  if (joint === null) return settled(names, { tool, written: alone, plain: `mcp.${text}`, readings: asItIs, isBare: true });
  const joined: JoinedNames = { text, joint };
  const both = writtenEither(alone, writtenJoined(text, joint, spelling));
  const readings = [...asItIs, ...readingsOf(names, joined, both)];
  return settled(names, { tool, written: both, plain: plainOf(tool, joined), readings, isBare: true });
}

/**
 * Returns the name if nothing is known about the server. Only the joints `__` and `:` reliably separate server and
 * tool. A single hyphen or underscore does not.
 */
function plainOf(tool: string, { text, joint }: JoinedNames): string {
  const at = text.indexOf(joint, 1);
  return at > 0 && (joint === '__' || joint === ':') ? `${text.slice(0, at)}.${text.slice(at + joint.length)}` : tool;
}

/**
 * Returns the possible names: one for each known server with which the text begins, and one for each rule that matches
 * exactly.
 */
function readingsOf({ servers, organisation }: KnownNames, { text, joint }: JoinedNames, written: PreparedSpelling): readonly string[] {
  const readings: string[] = [];
  for (let at = text.indexOf(joint, 1); at > 0 && at + joint.length < text.length; at = text.indexOf(joint, at + 1)) {
    const server = text.slice(0, at);
    if (servers.has(server) || organisation.some(({ spelled }) => spelled.servers.has(server)))
      readings.push(`${server}.${text.slice(at + joint.length)}`);
  }
  const exact = organisation.flatMap(({ spelled }) => written.among(spelled, false)).filter((key) => wildcardPrefix(key) === null);
  return [...readings, ...exact.filter((key) => isJoined(key, text, joint))];
}

const isJoined = (name: string, text: string, joint: string): boolean => {
  for (let dot = name.indexOf('.', 1); dot > 0; dot = name.indexOf('.', dot + 1))
    if (name.slice(0, dot) + joint + name.slice(dot + 1) === text) return true;
  return false;
};

/**
 * Maps a name that matches a wildcard of the workspace's table. The part of the name that the wildcard matches is
 * copied from the name that the host wrote. The host may have replaced characters in this part.
 */
function endingOf(
  names: KnownNames,
  { tool, server }: Pick<HostCall, 'tool' | 'server'>,
  { ours, kept }: BroughtName,
  spelling: Spelling,
): OurName {
  // The host may have cut the name, and the table does not contain the missing part.
  if (server !== null && mayBeCut(tool, spelling)) return ambiguous(tool, [ours, `${ours}…`]);
  const parts = { before: ours.slice(0, ours.length - kept), written: ours.slice(ours.length - kept), behind: '' };
  return settled(names, { tool, written: writtenWithin(parts, spelling), plain: ours, readings: [], isBare: false });
}

/**
 * Returns the name that the MCP proxy uses for a request to a server, such as `<server>.resources/read`. The model may
 * write the server in the host's spelling.
 */
function methodName(names: KnownNames, { server, method }: Extract<ToolOwner, { readonly kind: 'method' }>, spelling: Spelling): OurName {
  const plain = `${server}.${method}`;
  const written = writtenWithin({ before: '', written: server, behind: `.${method}` }, spelling);
  return settled(names, { tool: plain, written, plain, readings: [], isBare: false });
}

function settled(names: KnownNames, { tool, written, plain, readings, isBare }: WrittenName): OurName {
  // `decide` refuses this name because of its length.
  if (plain.length > bounds.nameLength) return { tool: plain };
  const tools = written.among(names.spelledTools, true);
  const meant = [...new Set(tools.length > 0 ? tools : readings)];
  const [ours = plain, another] = meant;
  if (another !== undefined) return ambiguous(tool, meant);
  const missed = names.enforcing.flatMap((document) => {
    const keys = [...written.among(document.spelled, false), ...(isBare && ours !== tool ? keysFor(document, tool) : [])];
    return keys.filter((key) => !namesTool([key], ours));
  });
  return missed.length === 0 ? { tool: ours } : ambiguous(tool, [ours, ...missed]);
}

/** Returns the keys of the document that match the tool name: the name itself, and wildcards. */
function keysFor({ exact, wildcards }: IndexedDocument, tool: string): readonly string[] {
  const keys = exact.has(tool) ? [tool] : [];
  for (let end = 1; wildcards.size > 0 && end <= tool.length; end++)
    if (wildcards.has(tool.slice(0, end))) keys.push(`${tool.slice(0, end)}*`);
  return keys;
}

const shownMax = 3;

function ambiguous(tool: string, candidates: readonly string[]): OurName {
  // `decide` refuses a tool with an invalid name.
  if (nameProblem(tool) !== null) return { tool };
  const all = [...new Set(candidates)];
  const shown = all.slice(0, shownMax).map((name) => JSON.stringify(name.slice(0, bounds.nameLength)));
  const more = all.length > shownMax ? ` or one of ${all.length - shownMax} more` : '';
  const words = `${JSON.stringify(tool)} could be ${shown.join(' or ')}${more}: say which in toolNames of the workspace document`;
  return { tool, problem: words };
}

type Tables = ReadonlyMap<HostName, ReadonlyMap<string, string>>;
const noNames: ReadonlyMap<string, string> = new Map();

// The tables are cached, because every call needs them. The settings object is the key of the cache, because it never
// changes.
const tables = new WeakMap<CompiledToolNames, Tables>();

function tablesOf(toolNames: CompiledToolNames): Tables {
  const known = tables.get(toolNames);
  if (known !== undefined) return known;
  const made: Tables = new Map(toolNames.map(([host, names]) => [host, new Map(names)]));
  tables.set(toolNames, made);
  return made;
}
