// Sends the proxy's own requests to a tool server. They read the complete list of tools for a client's request that
// needs it.
import { type BodyMemory, MemoryIsFull } from '../../entrance/body-memory.ts';
import type { Answer, Exchange, Send } from '../../../upstream/exchange.ts';
import { type McpHeaders, requestHeaders } from '../../../upstream/wire/headers.ts';
import { type ClientMessage, isFields } from '../../../upstream/wire/message.ts';
import { protocolMeta } from '../../../upstream/wire/meta.ts';
import type { Era } from '../../../upstream/wire/methods.ts';
import { messageNodes, parseServerMessage } from '../../../upstream/wire/server-message.ts';
import { UpstreamDown } from '../../../upstream/upstream.ts';

interface Asking {
  readonly send: Send;
  readonly era: Era;
  readonly headers: McpHeaders;
  /** `params._meta` of the request that needs the list. */
  readonly meta: unknown;
  /** Memory for all pages together. Its bytes are counted for `keyId`. */
  readonly memory: Pick<BodyMemory, 'hold' | 'parsedBytes'>;
  readonly keyId: string;
}

// Several requests may wait for the same list. So reading it has its own timeout and does not end when the first client
// disconnects.
const timeoutMs = 15_000;

const pagesMax = 50;
const toolsMax = 5_000;
let asked = 0;

/** Thrown if the server rejects the request for its list. */
export class ListRefused extends UpstreamDown {
  readonly status: 400 | 404;

  constructor(status: 400 | 404) {
    super(status === 404 ? 'Session not found' : 'the tool server refuses to list its tools; the request may lack a session');
    this.status = status;
  }
}

/** Returns the complete list of tools. Rejects with an `UpstreamDown` if the server does not return its list. */
export async function askTools(asking: Asking): Promise<readonly unknown[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  const { memory, keyId } = asking;
  const held: (() => void)[] = [];
  let heldBytes = 0;
  const hold = async (text: string): Promise<void> => {
    const bytes = Buffer.from(text);
    held.push(await memory.hold(keyId, bytes, { most: messageNodes, signal, held: heldBytes }));
    heldBytes += memory.parsedBytes(bytes, { most: messageNodes });
  };
  try {
    return await askPages(asking, signal, hold);
  } catch (error) {
    if (signal.aborted) throw new UpstreamDown('the tool server did not return the list of its tools in time');
    if (error instanceof MemoryIsFull) throw new UpstreamDown(`the list of tools from the tool server was not read: ${error.message}`);
    throw error;
  } finally {
    for (const giveBack of held) giveBack();
  }
}

/** Reserves memory for one page. It is held until the whole list is read. */
type Hold = (text: string) => Promise<void>;

async function askPages({ send, era, headers, meta }: Asking, signal: AbortSignal, hold: Hold): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < pagesMax; page += 1) {
    const id = `tollgate-${(asked += 1)}`;
    const params = {
      ...(cursor === undefined ? {} : { cursor }),
      ...(isFields(meta) ? { _meta: withoutProgress(protocolMeta(meta)) } : {}),
    };
    const message: ClientMessage = { kind: 'request', id, method: 'tools/list', params, hasParams: true };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params });
    const exchange: Exchange = {
      era,
      method: 'POST',
      headers: requestHeaders(era, message, { ...headers, accept: null }),
      message,
      body,
      signal,
    };
    const result = await resultOf(await send(exchange), id, headers.sessionId !== null, hold);
    const listed = result['tools'];
    if (!Array.isArray(listed) || tools.length + listed.length > toolsMax)
      throw new UpstreamDown('the tool server did not return the list of its tools');
    tools.push(...(listed as readonly unknown[]));
    cursor = result['nextCursor'];
    if (typeof cursor !== 'string') return tools;
  }
  throw new UpstreamDown('the list of tools from the tool server has too many pages');
}

const withoutProgress = (meta: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(meta).filter(([key]) => key !== 'progressToken'));

async function resultOf({ status, body }: Answer, id: string, inSession: boolean, hold: Hold): Promise<Readonly<Record<string, unknown>>> {
  if (status === 400 || (status === 404 && inSession)) throw new ListRefused(status);
  for await (const text of textsOf(body)) {
    await hold(text);
    const message = parseServerMessage(text);
    if (message?.kind === 'response' && message.id === id && message.holds === 'result' && isFields(message.value)) return message.value;
    if (message?.kind === 'response' && (message.id === id || message.id === null)) break;
  }
  throw new UpstreamDown('the tool server did not return the list of its tools');
}

async function* textsOf(body: Answer['body']): AsyncGenerator<string> {
  if (body.kind === 'json') yield new TextDecoder().decode(body.bytes);
  if (body.kind !== 'events') return;
  for await (const event of body.events) if (event?.data != null && event.data !== '') yield event.data;
}
