// The requests of agentgateway 1.4, message by message, with the documented configuration, examples/agentgateway.yaml.
// It is a script of its behaviour, because the program is not installed here. It asks before and after as `methods`
// configures, but never before a completion or a subscription. Its `apiKey` removes the header. Metadata are
// expressions; one that fails is left out. `*/list` has no params and is asked about once for all targets. The names in
// its result get the name of the target as a prefix.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { McpRequestResult, McpResponseResult } from '@tollgate/proto/mesh';
import { parse } from 'yaml';
import { jsonOf, type startTestMesh, text } from './asked-by-a-gateway.ts';

export const documentedText = readFileSync(fileURLToPath(new URL('../../../../examples/agentgateway.yaml', import.meta.url)), 'utf8');

interface Processor {
  readonly kind: string;
  readonly host: string;
  readonly failureMode: string;
  readonly methods: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Config {
  readonly mcp: {
    readonly policies: {
      readonly apiKey: {
        readonly mode: string;
        readonly keys: readonly { readonly key: string; readonly metadata: Record<string, string> }[];
      };
      readonly mcpGuardrails: { readonly processors: readonly [Processor] };
    };
    readonly targets: readonly { readonly name: string }[];
  };
}

export const documented = parse(documentedText) as Config;

const notAskedBefore = new Set(['completion/complete', 'resources/subscribe', 'resources/unsubscribe']);

type Values = Readonly<Record<string, string>>;

interface ExpressionValues {
  readonly headers: Values;
  readonly apiKey: Values;
  readonly mcpGuardrails: Values;
}

/** Evaluates `"text"`, `place.name`, `request.headers["name"]`, joined by `+`. Undefined: it fails. */
function evaluate(expression: string, { headers, apiKey, mcpGuardrails }: ExpressionValues): string | undefined {
  const values = expression.split(' + ').map((term) => {
    const [, literal] = /^"(.*)"$/.exec(term) ?? [];
    if (literal !== undefined) return literal;
    const [, header] = /^request\.headers\["([a-z-]+)"\]$/.exec(term) ?? [];
    if (header !== undefined) return headers[header];
    const [, place, name = ''] = /^(apiKey|mcpGuardrails)\.([a-z_]+)$/.exec(term) ?? [];
    if (place === undefined) throw new Error(`this expression is not known here: ${term}`);
    return (place === 'apiKey' ? apiKey : mcpGuardrails)[name];
  });
  return values.every((value) => value !== undefined) ? values.join('') : undefined;
}

interface GatewayCall {
  readonly params?: object;
  readonly headers?: Values;
  readonly targets?: readonly string[];
  /** The answer of the server. */
  readonly result: object;
}

export interface GatewayResult {
  /** `params` as they reached the server. Null: they did not reach it. */
  readonly params: unknown;
  /** The headers that reached it. */
  readonly headers: Values;
  /** The answer that the client gets. */
  readonly answer: unknown;
}

/** Sends one request of a client through it. `key`: the value that identifies the caller in its configuration. */
export async function through(
  { checkRequest, checkResponse }: Pick<Awaited<ReturnType<typeof startTestMesh>>, 'checkRequest' | 'checkResponse'>,
  { key, config = documented }: { readonly key: string; readonly config?: Config },
  method: string,
  { params = {}, headers = {}, targets = ['github'], result }: GatewayCall,
): Promise<GatewayResult> {
  const { metadata, methods } = config.mcp.policies.mcpGuardrails.processors[0];
  const known = { headers: { ...headers }, apiKey: { tollgate: key }, mcpGuardrails: {} as Record<string, string> };
  const metadataContext = () => {
    const values = Object.entries(metadata).map(([name, expression]) => [name, evaluate(expression, known)] as const);
    return text(Object.fromEntries(values.filter((one): one is [string, string] => one[1] !== undefined)));
  };
  const asksAround = methods[method] ?? methods['*'];
  let sent: unknown = params;
  if (asksAround !== undefined && !notAskedBefore.has(method)) {
    const before = await checkRequest({
      serviceNames: [...targets],
      method,
      metadataContext: metadataContext(),
      headers: Object.entries(known.headers).map(([name, value]) => ({ key: name, value: Buffer.from(value) })),
      ...(method.endsWith('/list') ? {} : { mcpRequest: Buffer.from(JSON.stringify(params)) }),
    });
    if (before.error) return { params: null, headers: {}, answer: errorOf(before) };
    if (before.mutated && !method.endsWith('/list')) sent = jsonOf(before.mutated);
    for (const name of before.headerMutation?.remove ?? []) Reflect.deleteProperty(known.headers, name);
    for (const { key: name, value } of before.headerMutation?.set ?? []) known.headers[name ?? ''] = Buffer.from(value ?? '').toString();
    for (const [name, value] of Object.entries(before.metadata?.fields ?? {})) known.mcpGuardrails[name] = value.stringValue ?? '';
  }
  const reached = { params: sent, headers: known.headers };
  if (asksAround !== 'full') return { ...reached, answer: result };
  const after = await checkResponse({
    serviceNames: [...targets],
    method,
    metadataContext: metadataContext(),
    mcpResponse: Buffer.from(JSON.stringify(result)),
  });
  if (after.error) return { ...reached, answer: errorOf(after) };
  return { ...reached, answer: after.mutated ? jsonOf(after.mutated) : result };
}

const errorOf = ({ error }: McpRequestResult | McpResponseResult) => ({ error: error?.code, reason: error?.reason });
