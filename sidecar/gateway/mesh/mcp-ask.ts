// What an MCP message asks for, whichever gateway shows it: a tool call and what is read are decided on, a list of tools is
// what is seen of it, other known methods pass, and unknown ones do not.
import { type ClientMessage, isFields } from '../mcp/wire/message.ts';
import { isClientNotification, listedBy, treatmentOf } from '../mcp/wire/methods.ts';

export type GovernedAsk =
  | { readonly kind: 'call'; readonly tool: string; readonly input: unknown }
  /** What is read is an input too: all of `params` but what is about the message itself. */
  | { readonly kind: 'read'; readonly tool: string; readonly input: unknown };

export type McpAsk = GovernedAsk | { readonly kind: 'tools' | 'pass' } | { readonly kind: 'unknown'; readonly problem: string };

export function mcpAsk(message: ClientMessage, server: string): McpAsk {
  if (message.kind === 'response') return { kind: 'pass' };
  const { method, params } = message;
  if (message.kind === 'notification')
    return isClientNotification('legacy', method) || isClientNotification('modern', method) ? { kind: 'pass' } : unknown;
  const treatment = treatmentOf('legacy', method) ?? treatmentOf('modern', method);
  switch (treatment) {
    case null:
      return unknown;
    case 'call': {
      const { name } = params;
      if (typeof name !== 'string') return { kind: 'unknown', problem: 'params.name must be the name of a tool' };
      return { kind: 'call', tool: `${server}.${name}`, input: callInput(params) };
    }
    // A gateway shows a list as it shows any answer: it is decided on, and redacted when it comes back.
    case 'read':
    case 'aside': {
      const { _meta: _, ...input } = params;
      return { kind: 'read', tool: `${server}.${method}`, input };
    }
    case 'tools':
      return { kind: 'tools' };
    default:
      return { kind: 'pass' };
  }
}

const unknown: McpAsk = { kind: 'unknown', problem: 'the method is not one that passes here' };

type Params = Readonly<Record<string, unknown>>;

/** Its arguments, and beside them what a client answers that a server has asked within the call. */
const callInput = (params: Params): unknown => {
  const { arguments: given = {}, inputResponses } = params;
  return inputResponses === undefined ? given : { arguments: given, inputResponses };
};

/** `params` with a decided input in its place. */
export function withInput(kind: 'call' | 'read', params: Params, input: unknown): Params {
  if (kind === 'call' && params['inputResponses'] === undefined) return { ...params, arguments: input };
  if (!isFields(input)) throw new TypeError('an input has become what no message can hold');
  if (kind === 'call') return { ...params, ...input };
  const { _meta: meta } = params;
  return { ...input, ...(meta === undefined ? {} : { _meta: meta }) };
}

/** What a gateway sends to all servers at once, and not to the one that it names. */
export const goesToAll = (method: string): boolean => listedBy(method) !== null || method === 'logging/setLevel';

/**
 * What agentgateway does not ask about before it sends it, whatever its configuration says: only its result is shown, without the
 * request's headers.
 */
export const isShownAfterwards = (method: string): boolean => shownAfterwards.has(method);

const shownAfterwards: ReadonlySet<string> = new Set(['completion/complete', 'resources/subscribe', 'resources/unsubscribe']);
