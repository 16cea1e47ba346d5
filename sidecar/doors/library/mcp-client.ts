// Governs the official MCP client. The result is the same client, but the run decides each `callTool`, and `listTools`
// shows only what the policy permits. Both official packages are supported, and neither is loaded here. Other ways to
// call a tool through this client are blocked, so they are not used by mistake. A program that keeps the original
// client can bypass this, as it can bypass any library in its own process.
import { AppError } from '@tollgate/proto/contract';
import { type Denial, ToolDenied } from '../../engine/govern/verdict.ts';
import { besidesIn, paramsBesides } from '../besides.ts';
import { denialMeta, heldProgressMs, heldWords, toldDenial } from '../denial-body.ts';
import { type DecideOptions, type Guard, guarded } from './guarded.ts';

/** The governed parts of an MCP client. */
export interface McpClient {
  callTool(params: McpToolCall, ...rest: never[]): Promise<object>;
  listTools(...given: never[]): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
}

interface McpToolCall {
  name: string;
  arguments?: Record<string, unknown>;
}

export interface GuardMcpOptions {
  /** The server's name in the policy: its tool `search` is `<server>.search`. */
  readonly server: string;
}

export interface McpGuard extends Guard {
  /** Whether a call of that tool could be permitted. */
  offers(tool: string): boolean;
}

export const isMcpClient = (value: object): value is McpClient =>
  'callTool' in value && typeof value.callTool === 'function' && 'listTools' in value && typeof value.listTools === 'function';

export function guardMcpClient<C extends McpClient>(guard: McpGuard, client: C, { server }: GuardMcpOptions): C {
  const nameOf = (tool: string): string => `${server}.${tool}`;
  const replaced: Readonly<Record<string, unknown>> = {
    callTool: (given: McpToolCall, ...rest: never[]) => {
      // Read once, so that what is decided is what is called.
      const params = { ...given };
      return callTool(guard, client, { tool: nameOf(params.name), params, rest });
    },
    listTools: async (...given: never[]) => {
      const listed = await client.listTools(...given);
      return { ...listed, tools: listed.tools.filter(({ name }) => guard.offers(nameOf(name))) };
    },
    ...closed(client),
  };
  return new Proxy(client, {
    get: (target, name) => {
      if (typeof name === 'string' && Object.hasOwn(replaced, name)) return replaced[name];
      const value: unknown = Reflect.get(target, name, target);
      // In one of the packages `experimental` contains tasks, which can call tools too.
      if (name === 'experimental' && value !== undefined) throw wayAround('experimental');
      // Methods of the class need the original client as `this`.
      return typeof value === 'function' && name !== 'constructor' ? value.bind(target) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

interface GuardedToolCall {
  readonly tool: string;
  readonly params: McpToolCall;
  readonly rest: readonly never[];
}

/**
 * Makes a governed call. A denial is returned like any other answer of a tool, so an agent's loop passes it to the
 * model.
 */
async function callTool(guard: Guard, client: McpClient, { tool, params, rest }: GuardedToolCall): Promise<unknown> {
  const { name, arguments: given, ...others } = params;
  const options = optionsIn(rest);
  const waiting = new ToldWait(options);
  try {
    // A copy, so that the caller cannot change it while a person is asked.
    const besides: Readonly<Record<string, unknown>> = structuredClone(others);
    const work = (input: unknown): unknown => {
      waiting.end();
      const called = { ...besides, name, ...(given === undefined ? {} : { arguments: input as Record<string, unknown> }) };
      return client.callTool(called, ...rest);
    };
    const shown = besidesIn({ params: paramsBesides(besides, () => false, false) });
    const call = { tool, input: given ?? {}, besides: shown };
    return await guarded(guard, call, work, options.signal, waiting.decideOptions);
  } catch (error) {
    if (error instanceof ToolDenied && error.denial.tool === tool) return deniedResult(error.denial);
    throw error;
  } finally {
    waiting.end();
  }
}

type OnProgress = (progress: { readonly progress: number; readonly message: string }) => unknown;

/** The options of the client's `callTool` that concern a wait. */
interface CallOptions {
  readonly signal?: unknown;
  readonly timeout?: unknown;
  readonly resetTimeoutOnProgress?: unknown;
  readonly maxTotalTimeout?: unknown;
  readonly onprogress?: OnProgress;
}

const optionNames = ['signal', 'timeout', 'resetTimeoutOnProgress', 'maxTotalTimeout', 'onprogress'];

/** Returns the options among the further arguments of the client's `callTool`. One package has a schema before them. */
function optionsIn(rest: readonly unknown[]): CallOptions {
  for (const given of rest) if (typeof given === 'object' && given !== null && optionNames.some((name) => name in given)) return given;
  return {};
}

/** The wait of a call for a person: as long as the options of the client let it take, with its progress. */
class ToldWait {
  readonly #options: CallOptions;
  #timer: NodeJS.Timeout | undefined;
  #told = 0;

  constructor(options: CallOptions) {
    this.#options = options;
  }

  get decideOptions(): DecideOptions {
    const { timeout, resetTimeoutOnProgress, maxTotalTimeout, onprogress } = this.#options;
    const waitMs = resetTimeoutOnProgress === true ? maxTotalTimeout : timeout;
    return {
      ...(typeof waitMs === 'number' ? { waitMs } : {}),
      ...(typeof onprogress === 'function' ? { onAsked: (approvalId) => this.#begin(approvalId, onprogress) } : {}),
    };
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #begin(approvalId: string, onprogress: OnProgress): void {
    const tell = (): void => {
      // Progress must grow, and that of the server comes after it.
      onprogress({ progress: this.#told / 1_000, message: heldWords(approvalId) });
      this.#told += 1;
    };
    this.end();
    this.#timer = setInterval(tell, heldProgressMs).unref();
    tell();
  }
}

const deniedResult = (denial: Denial): object => ({
  isError: true,
  content: [{ type: 'text', text: toldDenial(denial) }],
  _meta: denialMeta(denial),
});

const ungoverned = new Set(['tools/call', 'tools/list']);

function closed(client: object): Readonly<Record<string, unknown>> {
  const methods = ['request', 'notification'].flatMap((name) => {
    const method: unknown = Reflect.get(client, name);
    if (typeof method !== 'function') return [];
    const refusing = (message: unknown, ...rest: unknown[]): unknown => {
      const asked = typeof message === 'object' && message !== null && 'method' in message ? message.method : undefined;
      if (typeof asked === 'string' && ungoverned.has(asked)) throw wayAround(`${name}(${asked})`);
      return method.call(client, message, ...rest);
    };
    return [[name, refusing]];
  });
  return Object.fromEntries(methods);
}

const wayAround = (what: string): AppError =>
  new AppError({
    code: 'bad_request',
    publicMessage: `${what} of a guarded MCP client is refused, because it would bypass the policy; use callTool or listTools`,
  });
