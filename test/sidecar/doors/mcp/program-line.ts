// A program that the test controls: what it receives on its line, and what it sends, at the moment that the test
// chooses.
import { type ToolServer, UpstreamDown } from '../../../../sidecar/upstream/upstream.ts';
import { own, send, type TestProxy } from './proxied.ts';

interface ProgramMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly requestId?: number; readonly _meta?: { readonly progressToken?: number } };
}

export interface Line {
  readonly heard: readonly ProgramMessage[];
  readonly isOpen: boolean;
  /** The calls of the tool that it received, the latest last. */
  calls(tool: string): readonly ProgramMessage[];
  say(message: object): void;
  answer(id: string | number | undefined, text: string): void;
}

export interface Lines {
  readonly server: ToolServer;
  /** One line for each time that the program was started. */
  readonly all: Line[];
}

const tools = ['a', 'secret', 'slow', 'other', 'hangs', 'more'];

/** The program answers `initialize` and the list of tools on its own. `ends`: whether it ends when it is asked to. */
export function lines(name: string, { ends = true } = {}): Lines {
  const all: Line[] = [];
  const open: Extract<ToolServer['reach'], { kind: 'program' }>['open'] = (listener) => {
    const heard: ProgramMessage[] = [];
    let isOpen = true;
    const say = (message: object): void => void listener.message(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
    const line: Line = {
      heard,
      get isOpen() {
        return isOpen;
      },
      calls: (tool) => heard.filter(({ params }) => params?.name === tool),
      say,
      answer: (id, text) => say({ id, result: { content: [{ type: 'text', text }] } }),
    };
    all.push(line);
    return Promise.resolve({
      send: (text) => {
        if (!isOpen) return Promise.reject(new UpstreamDown('has ended'));
        const message = JSON.parse(text) as ProgramMessage;
        heard.push(message);
        if (message.method === 'initialize')
          say({ id: message.id, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'p', version: '1' } } });
        if (message.method === 'tools/list')
          say({
            id: message.id,
            result: { resultType: 'complete', tools: tools.map((tool) => ({ name: tool, inputSchema: { type: 'object' } })) },
          });
        return Promise.resolve();
      },
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        if (ends) queueMicrotask(() => listener.closed('was closed'));
      },
    });
  };
  return { server: { name, admitted: null, reach: { kind: 'program', open } }, all };
}

const greeting = {
  jsonrpc: '2.0',
  id: 'greeting',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'cli', version: '1' } },
};

/** Returns the status of `initialize`, and the headers of the session that it began. */
export async function greet(
  proxied: TestProxy,
  server: string,
  key = own,
): Promise<{ readonly status: number; readonly headers: Record<string, string> }> {
  const authorization = `Bearer ${key}`;
  const { status, headers } = await send(proxied, server, { body: greeting, headers: { authorization } });
  return {
    status,
    headers: { authorization, 'mcp-session-id': headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' },
  };
}

export interface ProgramStream {
  readonly status: number;
  /** All text that came, once the stream has ended. */
  readonly text: Promise<string>;
  /** The text that has come until now. */
  readonly sofar: () => string;
  leave(): void;
}

/** Sends a request whose answer stays open. Resolves when the head of the answer has arrived. */
export async function openStream(
  { origin }: TestProxy,
  server: string,
  headers: Record<string, string>,
  body?: object,
): Promise<ProgramStream> {
  const stop = new AbortController();
  const response = await fetch(`${origin}/mcp/${server}`, {
    method: body === undefined ? 'GET' : 'POST',
    signal: stop.signal,
    headers: {
      ...headers,
      accept: body === undefined ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  let come = '';
  const readAll = async (): Promise<string> => {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) come += piece;
    return come;
  };
  const text = readAll();
  text.catch(() => undefined);
  return { status: response.status, text, sofar: () => come, leave: () => stop.abort() };
}
