// Classifies an MCP message, for any gateway. Tool calls and reads are decided. A list of tools is filtered. Other
// known methods pass, and unknown methods do not.
import { type ClientMessage, isFields } from '../../upstream/wire/message.ts';
import type { ToolCall } from '../../engine/govern/govern.ts';
import { isClientNotification, listedBy, treatmentOf } from '../../upstream/wire/methods.ts';
import { paramsBesides } from '../besides.ts';

export interface GovernedAsk {
  /** The input of a read is all of `params` except `_meta`, because `params` names what is read. */
  readonly kind: 'call' | 'read';
  readonly tool: string;
  readonly input: unknown;
  /** The field of the input that contains the arguments. Absent: the input is the arguments. */
  readonly argumentsIn?: 'arguments';
}

/** Returns the call that is decided for a message. */
export const calledBy = ({ tool, input, argumentsIn }: GovernedAsk): ToolCall => ({
  tool,
  input,
  isOwnInput: true,
  ...(argumentsIn === undefined ? {} : { argumentsIn }),
});

/** Returns what the server receives of the params of a request besides the input that is decided. */
export const besidesOf = ({ kind }: GovernedAsk, params: Params): Params =>
  paramsBesides(params, (name) => kind === 'read' || inInput.has(name), false);

const inInput = new Set(['name', 'arguments', 'inputResponses']);

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
      return { kind: 'call', tool: `${server}.${name}`, ...callInput(params) };
    }
    // A gateway treats these lists like any other answer. So their request is decided like a read, and the result is
    // redacted.
    case 'read':
    case 'check': {
      const { _meta: _, ...input } = params;
      return { kind: 'read', tool: `${server}.${method}`, input };
    }
    case 'tools':
      return { kind: 'tools' };
    default:
      return { kind: 'pass' };
  }
}

const unknown: McpAsk = { kind: 'unknown', problem: 'this gateway forwards no such method' };

type Params = Readonly<Record<string, unknown>>;

/**
 * Returns the input of a call: its arguments. If the server asked questions within the call, the client's answers are
 * included.
 */
const callInput = (params: Params): Pick<GovernedAsk, 'input' | 'argumentsIn'> => {
  const { arguments: given = {}, inputResponses } = params;
  return inputResponses === undefined ? { input: given } : { input: { arguments: given, inputResponses }, argumentsIn: 'arguments' };
};

/** Returns `params` with the decided input in place of the original input. */
export function withInput(kind: 'call' | 'read', params: Params, input: unknown): Params {
  if (kind === 'call' && params['inputResponses'] === undefined) return { ...params, arguments: input };
  if (!isFields(input)) throw new TypeError('the decided input must be an object, because its fields replace the "params" of the request');
  if (kind === 'call') return { ...params, ...input };
  const { _meta: meta } = params;
  return { ...input, ...(meta === undefined ? {} : { _meta: meta }) };
}

/** Whether a gateway sends a request of this method to all servers at once, and not only to one. */
export const goesToAll = (method: string): boolean => listedBy(method) !== null || method === 'logging/setLevel';

/**
 * Whether agentgateway, in every configuration, sends requests of this method without asking first. Then only the
 * result is visible here, without the headers of the request.
 */
export const isShownAfterwards = (method: string): boolean => shownAfterwards.has(method);

const shownAfterwards: ReadonlySet<string> = new Set(['completion/complete', 'resources/subscribe', 'resources/unsubscribe']);
