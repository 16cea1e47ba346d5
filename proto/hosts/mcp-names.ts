// Compares the MCP server that a host reports with the host's name for the tool. This file uses no packages, because
// `tollgate hook` loads it too.
import { type Fields, fieldsOf, textIn } from './fields.ts';
import type { ToolOwner } from './host.ts';

const mcpPrefix = 'mcp__';
/** Lengths at which Codex cuts a name. If the server's name is long, the cut name contains no joint. */
const cutLengthsOfCodex: readonly number[] = [64, 128];

/**
 * Parses `mcp__<server>__<tool>`, the form of Claude Code, Codex and older versions of Gemini CLI. Null: a tool of the
 * host itself.
 */
export function joinedIn(tool: string): Extract<ToolOwner, { readonly kind: 'joined' }> | null {
  if (!tool.startsWith(mcpPrefix)) return null;
  const text = tool.slice(mcpPrefix.length);
  const joint = text.indexOf('__', 1);
  const isParted = joint > 0 && joint < text.length - 2;
  return isParted || cutLengthsOfCodex.includes(tool.length) ? { kind: 'joined', text, joint: '__' } : null;
}

/**
 * Returns the server and tool if the host also reports the server. The reported server is accepted only if it agrees
 * with the tool's name.
 */
export function ownerNamed(server: string, tool: string): ToolOwner {
  const joined = joinedIn(tool);
  if (joined?.text.includes('__') !== true) return { kind: 'disputed', names: [tool, `${server}.${tool}`] };
  const { text } = joined;
  const written = writtenServers(server).filter((one) => text.startsWith(`${one}__`) && text.length > one.length + 2);
  const [named, another] = new Set(written.map((one) => text.slice(one.length + 2)));
  // A `_` after the server's name may belong to the server's name or to the tool's name.
  if (named !== undefined && another !== undefined) return { kind: 'disputed', names: [`${server}.${named}`, `${server}.${another}`] };
  if (named !== undefined) return { kind: 'named', name: server, tool: named };
  const joint = text.indexOf('__', 1);
  return { kind: 'disputed', names: [`${text.slice(0, joint)}.${text.slice(joint + 2)}`, `${server}.${tool}`] };
}

/**
 * Returns the possible spellings of a server: unchanged, or with `_` for characters that tool names do not allow.
 * Several such characters in a row may become one `_`.
 */
function writtenServers(server: string): readonly string[] {
  const replaced = server.replace(/[^A-Za-z0-9_-]/g, '_');
  const once = replaced.replace(/_+/g, '_').replace(/^_|_$/g, '');
  return [server, replaced, server.replace(/[^A-Za-z0-9_-]/gu, '_'), once].filter((one) => one !== '');
}

const letters = (text: string): string => text.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '');
/** Gemini CLI may have cut a name of this length or more, in its middle. */
const geminiCutMin = 60;
const sharedLetters = 16;

/**
 * Returns the server and tool for a host that reports both names and also a joined name. Versions of the host build the
 * joined name in different ways.
 */
export function ownerSaid(server: string, name: string, tool: string): ToolOwner {
  const written = letters(tool);
  const agrees = [name, `${server}_${name}`, `mcp_${server}_${name}`].map(letters).some((one) => one === written || isCut(one, tool));
  return agrees ? { kind: 'exact', name: server, tool: name } : { kind: 'disputed', names: [`${server}.${name}`, tool] };
}

const isCut = (whole: string, tool: string): boolean =>
  tool.length >= geminiCutMin &&
  whole.length >= geminiCutMin - 1 &&
  letters(tool).slice(0, sharedLetters) === whole.slice(0, sharedLetters);

/**
 * Some tools of hosts send a server a request that is not a tool call. This table gives the MCP method of the request
 * for each of these tools.
 */
const methods: ReadonlyMap<string, string> = new Map([
  ['ReadMcpResourceTool', 'resources/read'],
  ['ListMcpResourcesTool', 'resources/list'],
  ['read_mcp_resource', 'resources/read'],
  ['list_mcp_resources', 'resources/list'],
  ['list_mcp_resource_templates', 'resources/templates/list'],
]);

/**
 * Returns the request that a tool of the host sends to a server. Null: the tool sends no request, or sends it to all
 * servers.
 */
export function methodIn(tool: string, input: Fields): ToolOwner | null {
  const method = methods.get(tool);
  // Hosts ignore blanks around the name.
  const server = textIn(input, 'server')?.trim() ?? '';
  return method === undefined || server === '' ? null : { kind: 'method', server, method };
}

/** Returns the server's name in `mcp_server`, a field of Claude Code. */
export const serverSaid = (fields: Fields): string | null => textIn(fieldsOf(fields.get('mcp_server')), 'name');
