// Reads `TOLLGATE_GATEWAY_FILE`, which defines the tool servers and HTTP tools behind this sidecar, in the format that
// MCP clients use. It belongs to the operator, who is trusted with its programs and addresses. It is read once, at
// start. If it has problems, it is rejected as a whole, with all of them. The result contains secrets.
//
//   {"mcpServers": {"github": {"url": "https://…/mcp", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}},
//                   "files": {"command": "mcp-files", "args": ["/srv"], "env": {}, "cwd": "/srv"},
//                   "crm": {"headers": {"X-Key": "${CRM_KEY}"}}},
//    "httpTools": {"billing": {"url": "https://billing.internal", "headers": {}}}}
//
// `crm` is a server that the control plane defines. The file gives the values that the control plane does not send.
import {
  childPath,
  headerNameProblem,
  headerValueProblem,
  isServerName,
  serverNameWords,
  serverUrlProblem,
} from '@tollgate/proto/contract';
import { type HttpTool, readHttpTool } from './http-tool-definition.ts';
import { parseStrict } from '../engine/json/strict-json.ts';
import { createEntryReader, type EntryReader } from './entry-reader.ts';

type Texts = Readonly<Record<string, string>>;

export type FileServer =
  | { readonly kind: 'url'; readonly url: string; readonly headers: Texts; readonly admitted: Texts | null }
  | {
      readonly kind: 'command';
      readonly program: string;
      readonly args: readonly string[];
      readonly env: Texts;
      readonly cwd: string | null;
      readonly admitted: Texts | null;
    }
  /** The values of headers and variables for a server that the control plane defines. */
  | { readonly kind: 'values'; readonly headers: Texts; readonly env: Texts };

export interface GatewayFile {
  readonly mcpServers: ReadonlyMap<string, FileServer>;
  readonly httpTools: ReadonlyMap<string, HttpTool>;
}

export const noGatewayFile: GatewayFile = { mcpServers: new Map(), httpTools: new Map() };

export const gatewayFileBytesMax = 1_048_576;

export function readGatewayFile(
  bytes: Uint8Array,
  env: Readonly<Record<string, string | undefined>>,
): { readonly file: GatewayFile } | { readonly problems: readonly string[] } {
  if (bytes.length > gatewayFileBytesMax) return { problems: [`the file is larger than ${gatewayFileBytesMax} bytes`] };
  const parsed = parseStrict(bytes);
  if ('problem' in parsed) return { problems: [`the file ${parsed.problem}`] };
  const reader = createEntryReader(env);
  const fields = reader.object(parsed.value, '') ?? {};
  reader.only(fields, '', ['mcpServers', 'httpTools']);
  const mcpServers = section(reader, fields, 'mcpServers', readServer);
  const httpTools = section(reader, fields, 'httpTools', readHttpTool);
  for (const name of httpTools.keys())
    if (mcpServers.has(name)) reader.report(childPath('httpTools', name), 'is also the name of an MCP server; each name must be used once');
  return reader.problems.length > 0 ? { problems: reader.problems } : { file: { mcpServers, httpTools } };
}

type Fields = Readonly<Record<string, unknown>>;
type ReadEntry<T> = (reader: EntryReader, fields: Fields, path: string) => T | null;

function section<T>(reader: EntryReader, fields: Fields, name: string, read: ReadEntry<T>): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const [key, value] of Object.entries(fields[name] === undefined ? {} : (reader.object(fields[name], name) ?? {}))) {
    const path = childPath(name, key);
    if (!isServerName(key)) reader.report(path, `is not a valid name: it ${serverNameWords}`);
    const own = reader.object(value, path);
    const entry = own === null ? null : read(reader, own, path);
    if (entry !== null) found.set(key, entry);
  }
  return found;
}

function readServer(reader: EntryReader, fields: Fields, path: string): FileServer | null {
  const [url, command] = [Object.hasOwn(fields, 'url'), Object.hasOwn(fields, 'command')];
  if (url && command) {
    reader.report(path, 'must have either "url" or "command"');
    return null;
  }
  if (url) return readUrlServer(reader, fields, path);
  if (command) return readCommandServer(reader, fields, path);
  reader.only(fields, path, ['headers', 'env']);
  if (!Object.hasOwn(fields, 'headers') && !Object.hasOwn(fields, 'env'))
    reader.report(path, 'must have "url" or "command"; or, for a server that the control plane defines, the values of its headers or env');
  return { kind: 'values', headers: readHeaders(reader, fields, path), env: readEnv(reader, fields, path) };
}

function readUrlServer(reader: EntryReader, fields: Fields, path: string): FileServer | null {
  // The field `type` is accepted, because MCP clients write it next to a `url`.
  reader.only(fields, path, ['type', 'url', 'headers', 'toolDefinitions']);
  const type = fields['type'] ?? 'http';
  if (type !== 'http' && type !== 'streamable-http')
    reader.report(`${path}.type`, 'must be "http": Streamable HTTP is what is spoken here');
  const url = readUrl(reader, fields, path);
  const server = { headers: readHeaders(reader, fields, path), admitted: readAdmitted(reader, fields, path) };
  return url === null ? null : { kind: 'url', url, ...server };
}

function readCommandServer(reader: EntryReader, fields: Fields, path: string): FileServer | null {
  reader.only(fields, path, ['type', 'command', 'args', 'env', 'cwd', 'toolDefinitions']);
  if ((fields['type'] ?? 'stdio') !== 'stdio') reader.report(`${path}.type`, 'must be "stdio" with a command');
  const program = reader.text(fields['command'], `${path}.command`, (text) => (text === '' ? 'must name a program' : null));
  const args = fields['args'] === undefined ? [] : reader.texts(fields['args'], `${path}.args`);
  const cwd = fields['cwd'] === undefined ? null : reader.text(fields['cwd'], `${path}.cwd`);
  const server = { args, cwd, env: readEnv(reader, fields, path), admitted: readAdmitted(reader, fields, path) };
  return program === null ? null : { kind: 'command', program, ...server };
}

const readUrl = (reader: EntryReader, fields: Fields, path: string): string | null =>
  reader.text(fields['url'], `${path}.url`, (text) => serverUrlProblem(text, true));

function readHeaders(reader: EntryReader, fields: Fields, path: string): Texts {
  const headers = reader.named(fields['headers'], `${path}.headers`, { name: headerNameProblem, value: headerValueProblem });
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) reader.report(`${path}.headers`, `names ${twice} twice`);
  return headers;
}

const envName = /^[^=]+$/;
const readEnv = (reader: EntryReader, fields: Fields, path: string): Texts =>
  reader.named(fields['env'], `${path}.env`, {
    name: (name) => (envName.test(name) && !name.includes('\0') ? null : 'is not the name of a variable'),
    value: () => null,
  });

/**
 * Reads the digests that this sidecar's operator admits, for a server that no control plane knows. Null: the file has
 * none, so the digests of the control plane apply.
 */
function readAdmitted(reader: EntryReader, fields: Fields, path: string): Texts | null {
  if (fields['toolDefinitions'] === undefined) return null;
  return reader.named(fields['toolDefinitions'], `${path}.toolDefinitions`, {
    name: () => null,
    value: (text) => (/^[0-9a-f]{64}$/.test(text) ? null : 'must be 64 hex digits in lower case: the digest that a denial names'),
  });
}
