// What hosts say of an MCP server in addition to the name of a tool, and whether the two agree. `tollgate hook` loads it too: without packages.
import { type Fields, fieldsOf, textIn } from './fields.ts';
import type { ToolOwner } from './host.ts';

const mcpPrefix = 'mcp__';
/** What is longer it cuts: where the server's name is long, no joint is left. */
const cutLengthsOfCodex: readonly number[] = [64, 128];

/** `mcp__<server>__<tool>`, as Claude Code, Codex and older versions of Gemini CLI write it; null: a tool of the host's own. */
export function joinedIn(tool: string): Extract<ToolOwner, { readonly kind: 'joined' }> | null {
  if (!tool.startsWith(mcpPrefix)) return null;
  const text = tool.slice(mcpPrefix.length);
  const joint = text.indexOf('__', 1);
  const isParted = joint > 0 && joint < text.length - 2;
  return isParted || cutLengthsOfCodex.includes(tool.length) ? { kind: 'joined', text, joint: '__' } : null;
}

/** Whose tool it is where the server is said as well. What it is said to be holds only where the tool's name agrees with it. */
export function ownerNamed(server: string, tool: string): ToolOwner {
  const joined = joinedIn(tool);
  if (joined?.text.includes('__') !== true) return { kind: 'disputed', names: [tool, `${server}.${tool}`] };
  const { text } = joined;
  const written = writtenServers(server).filter((one) => text.startsWith(`${one}__`) && text.length > one.length + 2);
  const [named, another] = new Set(written.map((one) => text.slice(one.length + 2)));
  // A `_` at its end may be of the one or the other.
  if (named !== undefined && another !== undefined) return { kind: 'disputed', names: [`${server}.${named}`, `${server}.${another}`] };
  if (named !== undefined) return { kind: 'named', name: server, tool: named };
  const joint = text.indexOf('__', 1);
  return { kind: 'disputed', names: [`${text.slice(0, joint)}.${text.slice(joint + 2)}`, `${server}.${tool}`] };
}

/** As it is, or with `_` for what is not written in a tool's name, a run of which may be one. */
function writtenServers(server: string): readonly string[] {
  const replaced = server.replace(/[^A-Za-z0-9_-]/g, '_');
  const once = replaced.replace(/_+/g, '_').replace(/^_|_$/g, '');
  return [server, replaced, server.replace(/[^A-Za-z0-9_-]/gu, '_'), once].filter((one) => one !== '');
}

const letters = (text: string): string => text.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, '');
/** Of Gemini CLI: what is as long may have been cut, in its middle. */
const geminiCutMin = 60;
const sharedLetters = 16;

/** Of a host that says both names and one that is made of them, in a way that differs between its versions. */
export function ownerSaid(server: string, name: string, tool: string): ToolOwner {
  const written = letters(tool);
  const agrees = [name, `${server}_${name}`, `mcp_${server}_${name}`].map(letters).some((one) => one === written || isCut(one, tool));
  return agrees ? { kind: 'exact', name: server, tool: name } : { kind: 'disputed', names: [`${server}.${name}`, tool] };
}

const isCut = (whole: string, tool: string): boolean =>
  tool.length >= geminiCutMin &&
  whole.length >= geminiCutMin - 1 &&
  letters(tool).slice(0, sharedLetters) === whole.slice(0, sharedLetters);

/** Tools of hosts' own that ask a server for something else than a tool. */
const methods: ReadonlyMap<string, string> = new Map([
  ['ReadMcpResourceTool', 'resources/read'],
  ['ListMcpResourcesTool', 'resources/list'],
  ['read_mcp_resource', 'resources/read'],
  ['list_mcp_resources', 'resources/list'],
  ['list_mcp_resource_templates', 'resources/templates/list'],
]);

/** Null where it asks no server, or all of them. */
export function methodIn(tool: string, input: Fields): ToolOwner | null {
  const method = methods.get(tool);
  // Blanks around it are no part of the name to a host.
  const server = textIn(input, 'server')?.trim() ?? '';
  return method === undefined || server === '' ? null : { kind: 'method', server, method };
}

/** `mcp_server` of Claude Code. */
export const serverSaid = (fields: Fields): string | null => textIn(fieldsOf(fields.get('mcp_server')), 'name');
