// Compares the MCP server that a host reports with the host's name for the tool. `tollgate hook` loads this file too,
// so it uses no packages.
import { type Fields, fieldsOf, textIn } from './fields.ts';
import type { ToolOwner } from './host.ts';

const mcpPrefix = 'mcp__';
/** Lengths at which Codex cuts a name. If the server's name is long, no joint is left. */
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
 * The owner of a tool if the host also reports the server. The reported server counts only if it agrees with the tool's
 * name.
 */
export function ownerNamed(server: string, tool: string): ToolOwner {
  const joined = joinedIn(tool);
  if (joined?.text.includes('__') !== true) return { kind: 'disputed', names: [tool, `${server}.${tool}`] };
  const { text } = joined;
  const written = writtenServers(server).filter((one) => text.startsWith(`${one}__`) && text.length > one.length + 2);
  const [named, another] = new Set(written.map((one) => text.slice(one.length + 2)));
  // A `_` at the end of the server may belong to either name.
  if (named !== undefined && another !== undefined) return { kind: 'disputed', names: [`${server}.${named}`, `${server}.${another}`] };
  if (named !== undefined) return { kind: 'named', name: server, tool: named };
  const joint = text.indexOf('__', 1);
  return { kind: 'disputed', names: [`${text.slice(0, joint)}.${text.slice(joint + 2)}`, `${server}.${tool}`] };
}

/**
 * The possible spellings of a server: unchanged, or with `_` for characters that tool names do not allow. A run of
 * these characters may become one `_`.
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

/** For a host that reports both names and a joined name, which its versions build differently. */
export function ownerSaid(server: string, name: string, tool: string): ToolOwner {
  const written = letters(tool);
  const agrees = [name, `${server}_${name}`, `mcp_${server}_${name}`].map(letters).some((one) => one === written || isCut(one, tool));
  return agrees ? { kind: 'exact', name: server, tool: name } : { kind: 'disputed', names: [`${server}.${name}`, tool] };
}

const isCut = (whole: string, tool: string): boolean =>
  tool.length >= geminiCutMin &&
  whole.length >= geminiCutMin - 1 &&
  letters(tool).slice(0, sharedLetters) === whole.slice(0, sharedLetters);

/** Host tools that send a server a request other than a tool call. */
const methods: ReadonlyMap<string, string> = new Map([
  ['ReadMcpResourceTool', 'resources/read'],
  ['ListMcpResourcesTool', 'resources/list'],
  ['read_mcp_resource', 'resources/read'],
  ['list_mcp_resources', 'resources/list'],
  ['list_mcp_resource_templates', 'resources/templates/list'],
]);

/** Null: the tool asks no server, or all servers. */
export function methodIn(tool: string, input: Fields): ToolOwner | null {
  const method = methods.get(tool);
  // Hosts ignore blanks around the name.
  const server = textIn(input, 'server')?.trim() ?? '';
  return method === undefined || server === '' ? null : { kind: 'method', server, method };
}

/** Reads `mcp_server` of Claude Code. */
export const serverSaid = (fields: Fields): string | null => textIn(fieldsOf(fields.get('mcp_server')), 'name');
