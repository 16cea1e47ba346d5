// A request as Envoy shows it, and what its route says of it. Which tool it is for is said by whoever configured the route
// (`context_extensions`, or route metadata of the namespace `tollgate`), or by its path, as at the sidecar's own door; never
// by a caller.
import type { AttributeContext__Output, Struct__Output } from '@tollgate/proto/mesh';
import type { Headers } from '../caller-headers.ts';
import type { HttpTool } from '../http-tools/definition.ts';

interface Route {
  /** Of the server whose messages the bodies are; null: plain HTTP. */
  readonly mcpServer: string | null;
  readonly tool: string | null;
  readonly nameByMethod: boolean;
  /** The gateway's operator answers for what of the answers must be redacted. */
  readonly outputsElsewhere: boolean;
}

export interface Checked {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  /** Null: there is one, or may be, and not all of it was shown. */
  readonly body: Uint8Array | null;
  readonly route: Route;
}

/** Null where it is no HTTP request. */
export function readChecked(attributes: AttributeContext__Output | null): Checked | null {
  const http = attributes?.request?.http;
  if (attributes == null || http == null || http.method === '') return null;
  const raw = (http.headerMap?.headers ?? []).map(
    ({ key, value, rawValue }) => [key, rawValue.length > 0 ? rawValue.toString('latin1') : value] as const,
  );
  const headers = headersOf([...Object.entries(http.headers), ...raw]);
  const shown = http.rawBody.length > 0 ? http.rawBody : Buffer.from(http.body);
  const whole = shown.length > 0 ? isWhole(shown, headers) : !mayHaveBody(http, headers);
  return { method: http.method, target: http.path, headers, body: whole ? shown : null, route: routeOf(attributes) };
}

/** Of names that are there more than once, all values: nobody may take the first for the only one. */
export function headersOf(pairs: readonly (readonly [string, string])[]): Headers {
  const all = new Map<string, readonly string[]>();
  for (const [key, value] of pairs) all.set(key.toLowerCase(), [...(all.get(key.toLowerCase()) ?? []), value]);
  return Object.fromEntries([...all].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

/** Whether what is shown is what the headers say: not the beginning of it, and nothing besides. */
function isWhole(shown: Uint8Array, headers: Headers): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding, 'x-envoy-auth-partial-body': partial = 'false' } = headers;
  return partial === 'false' && (length === undefined || (encoding === undefined && length === String(shown.length)));
}

interface Sent {
  readonly method: string;
  readonly protocol: string;
}

/** Of a request that nothing is shown of. */
function mayHaveBody({ method, protocol }: Sent, headers: Headers): boolean {
  const { 'content-length': length, 'content-type': type, 'transfer-encoding': encoding } = headers;
  if (encoding !== undefined) return true;
  if (length !== undefined) return length !== '0';
  const seldom = ['GET', 'HEAD', 'DELETE', 'OPTIONS'].includes(method);
  // Over HTTP/2 a body needs neither; over HTTP/1 some say of what type it is where there is none.
  return !seldom || (type !== undefined && !protocol.startsWith('HTTP/1'));
}

function routeOf({ contextExtensions, routeMetadataContext }: AttributeContext__Output): Route {
  const metadata = routeMetadataContext?.filterMetadata['tollgate'];
  const said = (name: string): string | null => contextExtensions[`tollgate_${name}`] || metadataText(metadata, name);
  return {
    mcpServer: said('mcp_server'),
    tool: said('tool'),
    nameByMethod: said('name_by_method') === 'true',
    outputsElsewhere: said('outputs') === 'elsewhere',
  };
}

/** A text, or `true` as one; null where there is none. */
export function metadataText(struct: Struct__Output | null | undefined, name: string): string | null {
  const value = struct?.fields?.[name];
  return value?.kind === 'boolValue' ? String(value.boolValue) : (value?.stringValue ?? null) || null;
}

/** The tool that a path names, and what stands before its own path. */
export function toolOfPath(
  target: string,
  tools: ReadonlyMap<string, HttpTool>,
): { readonly name: string; readonly prefix: string; readonly tool: HttpTool } | null {
  const name = /^\/tools\/([a-z0-9-]+)(?=[/?]|$)/.exec(target)?.[1];
  const tool = name === undefined ? undefined : tools.get(name);
  return name === undefined || tool === undefined ? null : { name, prefix: `/tools/${name}`, tool };
}
