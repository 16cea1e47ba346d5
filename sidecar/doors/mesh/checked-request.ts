// Reads a request that Envoy describes, with the settings of its route. The tool is set by the operator who configured
// the route (`context_extensions`, or route metadata of the namespace `tollgate`), or by the path, as at the sidecar's
// own endpoint. A caller never chooses it.
import type { AttributeContext__Output, Struct__Output } from '@tollgate/proto/mesh';
import type { Headers } from '../entrance/caller-headers.ts';
import type { HttpTool } from '../../upstream/http-tool-definition.ts';

interface Route {
  /** The MCP server that the bodies belong to. Null: plain HTTP. */
  readonly mcpServer: string | null;
  readonly tool: string | null;
  readonly nameByMethod: boolean;
  /** True: the gateway's operator is responsible for redaction in the answers. */
  readonly outputsElsewhere: boolean;
}

export interface CheckedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  /** Null: there is a body, or may be one, and Envoy did not send all of it. */
  readonly body: Uint8Array | null;
  readonly route: Route;
}

/** Null: it is not an HTTP request. */
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

/** A repeated name keeps all its values, so the first one cannot pass for the only one. */
export function headersOf(pairs: readonly (readonly [string, string])[]): Headers {
  const all = new Map<string, readonly string[]>();
  for (const [key, value] of pairs) all.set(key.toLowerCase(), [...(all.get(key.toLowerCase()) ?? []), value]);
  return Object.fromEntries([...all].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

/** Whether the given body is complete and exactly what the headers announce. */
function isWhole(shown: Uint8Array, headers: Headers): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding, 'x-envoy-auth-partial-body': partial = 'false' } = headers;
  return partial === 'false' && (length === undefined || (encoding === undefined && length === String(shown.length)));
}

interface RequestLine {
  readonly method: string;
  readonly protocol: string;
}

/** For a request without a given body. */
function mayHaveBody({ method, protocol }: RequestLine, headers: Headers): boolean {
  const { 'content-length': length, 'content-type': type, 'transfer-encoding': encoding } = headers;
  if (encoding !== undefined) return true;
  if (length !== undefined) return length !== '0';
  const seldom = ['GET', 'HEAD', 'DELETE', 'OPTIONS'].includes(method);
  // Over HTTP/2 a body needs neither header. Over HTTP/1 some clients send a content type without a body.
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

/** A text, or a boolean as text. Null: the field does not exist. */
export function metadataText(struct: Struct__Output | null | undefined, name: string): string | null {
  const value = struct?.fields?.[name];
  return value?.kind === 'boolValue' ? String(value.boolValue) : (value?.stringValue ?? null) || null;
}

/** The tool that a path names, and the prefix before the tool's own path. */
export function toolOfPath(
  target: string,
  tools: ReadonlyMap<string, HttpTool>,
): { readonly name: string; readonly prefix: string; readonly tool: HttpTool } | null {
  const name = /^\/tools\/([a-z0-9-]+)(?=[/?]|$)/.exec(target)?.[1];
  const tool = name === undefined ? undefined : tools.get(name);
  return name === undefined || tool === undefined ? null : { name, prefix: `/tools/${name}`, tool };
}
