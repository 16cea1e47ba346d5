// Reads a request that Envoy describes, and the settings of the route of this request. The operator who configured the
// route sets the tool (`context_extensions`, or route metadata of the namespace `tollgate`). If the route sets no tool,
// the path names the tool, as at the sidecar's own endpoint. A header from the caller never sets the tool.
import type { AttributeContext__Output, Struct__Output } from '@tollgate/proto/mesh';
import type { Headers } from '../entrance/caller-headers.ts';
import type { HttpTool } from '../../upstream/http-tool-definition.ts';

interface Route {
  /** The MCP server that receives the request. Null: plain HTTP. */
  readonly mcpServer: string | null;
  readonly tool: string | null;
  readonly nameByMethod: boolean;
  /** True: the gateway's operator is responsible for the redaction of answers, so it is not required here. */
  readonly outputsElsewhere: boolean;
}

export interface CheckedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  /** Null: Envoy did not send the whole body, or sent no body although there may be one. */
  readonly body: Uint8Array | null;
  readonly route: Route;
}

/** Returns the request. Null: Envoy describes no HTTP request. */
export function readChecked(attributes: AttributeContext__Output | null): CheckedRequest | null {
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

/**
 * Returns the headers by name, in lower case. A repeated header keeps all its values, so a check never sees only the
 * first one.
 */
export function headersOf(pairs: readonly (readonly [string, string])[]): Headers {
  const all = new Map<string, readonly string[]>();
  for (const [key, value] of pairs) all.set(key.toLowerCase(), [...(all.get(key.toLowerCase()) ?? []), value]);
  return Object.fromEntries([...all].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

/** Whether Envoy sent the complete body, with the length that the headers announce. */
function isWhole(shown: Uint8Array, headers: Headers): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding, 'x-envoy-auth-partial-body': partial = 'false' } = headers;
  return partial === 'false' && (length === undefined || (encoding === undefined && length === String(shown.length)));
}

interface RequestLine {
  readonly method: string;
  readonly protocol: string;
}

/** Whether a request may have a body although Envoy sent none. */
function mayHaveBody({ method, protocol }: RequestLine, headers: Headers): boolean {
  const { 'content-length': length, 'content-type': type, 'transfer-encoding': encoding } = headers;
  if (encoding !== undefined) return true;
  if (length !== undefined) return length !== '0';
  const seldom = ['GET', 'HEAD', 'DELETE', 'OPTIONS'].includes(method);
  // Over HTTP/2 a request with a body needs neither `content-length` nor `transfer-encoding`. Over HTTP/1 some clients
  // send a content type without a body.
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

/** Returns a text field, or a boolean field as text. Null: the field does not exist or is empty. */
export function metadataText(struct: Struct__Output | null | undefined, name: string): string | null {
  const value = struct?.fields?.[name];
  return value?.kind === 'boolValue' ? String(value.boolValue) : (value?.stringValue ?? null) || null;
}

/**
 * Returns the tool that a path names, and the prefix before the tool's own path. Null: the path names no known tool.
 */
export function toolOfPath(
  target: string,
  tools: ReadonlyMap<string, HttpTool>,
): { readonly name: string; readonly prefix: string; readonly tool: HttpTool } | null {
  const name = /^\/tools\/([a-z0-9-]+)(?=[/?]|$)/.exec(target)?.[1];
  const tool = name === undefined ? undefined : tools.get(name);
  return name === undefined || tool === undefined ? null : { name, prefix: `/tools/${name}`, tool };
}
