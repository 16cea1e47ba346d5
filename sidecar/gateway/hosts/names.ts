// Brings a host's name of a tool to ours, so that one rule holds behind every door: by the workspace's table for the host,
// else by what the host says of server and tool, else by what is known: the tools of registered servers, and the rules that can
// speak for the caller. Hosts replace characters of names, so what they wrote is looked for among what is known as they would have
// written it. Where that leaves two names, or a rule that would be missed, the call is denied.
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
import type { Index } from '../../decide/build-index.ts';
import type { IndexedDocument } from '../../decide/document.ts';
import type { HostCall, JoinedNames, ToolOwner } from './host.ts';
import { mayBeCut, type Spelling, spellings, type Written, writtenEither, writtenJoined, writtenTool, writtenWithin } from './spelling.ts';

/** What names are brought by. */
export type Names = Pick<Index, 'settings' | 'servers' | 'spelledTools'> & {
  /** Those that can speak for the caller. */
  readonly documents: readonly IndexedDocument[];
};

interface OurName {
  readonly tool: string;
  /** What the host itself calls it, where the call must be permitted under that too. */
  readonly also?: string;
  /** Why it is no one tool's name, in words. */
  readonly problem?: string;
}

/** Of a name that may be one, with what hosts put before it and between its parts. */
const writtenMax = bounds.nameLength + 8;

export function ourName(names: Names, host: HostName, { tool, server }: Pick<HostCall, 'tool' | 'server'>): OurName {
  const table = tablesOf(names.settings.toolNames).get(host) ?? noNames;
  // `decide` refuses it for its length; what it says of server and tool is as long.
  if (tool.length > writtenMax) return { tool };
  const spelling = spellings[host];
  const brought = broughtName(table, tool);
  if (server?.kind === 'method') return { ...methodName(known(names), server, spelling), also: brought?.ours ?? tool };
  if (brought !== null) return brought.kept === 0 ? { tool: brought.ours } : endingOf(known(names), { tool, server }, brought, spelling);
  return server === null ? { tool } : ownedName(known(names), tool, { owner: server, spelling });
}

interface Known extends Names {
  /** Of the documents, those that act. */
  readonly enforcing: readonly IndexedDocument[];
  /** Of those, what members did not write for themselves: that must not choose what a name means. */
  readonly organisation: readonly IndexedDocument[];
}

function known(names: Names): Known {
  const enforcing = names.documents.filter(({ enforces }) => enforces);
  return { ...names, enforcing, organisation: enforcing.filter(({ part }) => part !== 'self') };
}

/** A name that a host wrote, with what it may be. */
interface Asked {
  /** As the host calls the tool. */
  readonly tool: string;
  readonly written: Written;
  /** What it is if the host changed nothing and nothing is known. */
  readonly plain: string;
  /** What it is if the host changed nothing, by the servers and rules that are known. */
  readonly readings: readonly string[];
  /** Rules for the host's own name count as well. */
  readonly isBare: boolean;
}

function ownedName(names: Known, tool: string, { owner, spelling }: { readonly owner: ToolOwner; readonly spelling: Spelling }): OurName {
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
  names: Known,
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

/** One hyphen or underscore is no sign that it parts the names. */
function plainOf(tool: string, { text, joint }: JoinedNames): string {
  const at = text.indexOf(joint, 1);
  return at > 0 && (joint === '__' || joint === ':') ? `${text.slice(0, at)}.${text.slice(at + joint.length)}` : tool;
}

/** With each server that is known and begins it, and each rule that has it as it stands. */
function readingsOf({ servers, organisation }: Known, { text, joint }: JoinedNames, written: Written): readonly string[] {
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

/** What of a wildcard's row stays as the host wrote it is its tool's name, whatever it replaced. */
function endingOf(
  names: Known,
  { tool, server }: Pick<HostCall, 'tool' | 'server'>,
  { ours, kept }: BroughtName,
  spelling: Spelling,
): OurName {
  // It may be cut, and the row does not say what stood there.
  if (server !== null && mayBeCut(tool, spelling)) return ambiguous(tool, [ours, `${ours}…`]);
  const parts = { before: ours.slice(0, ours.length - kept), written: ours.slice(ours.length - kept), behind: '' };
  return settled(names, { tool, written: writtenWithin(parts, spelling), plain: ours, readings: [], isBare: false });
}

/** As the MCP proxy calls it: `<server>.resources/read`. The model may say the server's name as the host writes it. */
function methodName(names: Known, { server, method }: Extract<ToolOwner, { readonly kind: 'method' }>, spelling: Spelling): OurName {
  const plain = `${server}.${method}`;
  const written = writtenWithin({ before: '', written: server, behind: `.${method}` }, spelling);
  return settled(names, { tool: plain, written, plain, readings: [], isBare: false });
}

function settled(names: Known, { tool, written, plain, readings, isBare }: Asked): OurName {
  // `decide` refuses such a name for its length.
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

/** The keys that name a tool as it stands. */
function keysFor({ exact, wildcards }: IndexedDocument, tool: string): readonly string[] {
  const keys = exact.has(tool) ? [tool] : [];
  for (let end = 1; wildcards.size > 0 && end <= tool.length; end++)
    if (wildcards.has(tool.slice(0, end))) keys.push(`${tool.slice(0, end)}*`);
  return keys;
}

const shownMax = 3;

function ambiguous(tool: string, candidates: readonly string[]): OurName {
  // `decide` refuses it.
  if (nameProblem(tool) !== null) return { tool };
  const all = [...new Set(candidates)];
  const shown = all.slice(0, shownMax).map((name) => JSON.stringify(name.slice(0, bounds.nameLength)));
  const more = all.length > shownMax ? ` or one of ${all.length - shownMax} more` : '';
  const words = `${JSON.stringify(tool)} could be ${shown.join(' or ')}${more}: say which in toolNames of the workspace document`;
  return { tool, problem: words };
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
