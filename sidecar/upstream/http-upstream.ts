// Reaches tool servers over HTTP. Each server has one fixed address. Redirects are not followed, and nothing is
// decompressed. The answer of a server is limited in size and is read no faster than the client accepts it.
import type { Dispatcher } from 'undici';
import type { Answer, Send } from './exchange.ts';
import { createSseReader, EventTooLarge, type SseEvent } from './wire/sse.ts';
import { type Reach, UpstreamDown, upstreamBounds } from './upstream.ts';

/** Asks for an answer that is not compressed. */
export const unpacked = { 'accept-encoding': 'identity' } as const;

const keptHeaders = ['mcp-session-id', 'allow', 'retry-after'];

/** What each request to an address repeats. */
interface Destination {
  readonly origin: string;
  readonly path: string;
  readonly own: Readonly<Record<string, string>>;
}

const destinations = new WeakMap<HttpReach, Destination>();

type HttpReach = Reach & { readonly kind: 'http' };

function destinationOf(reach: HttpReach): Destination {
  const known = destinations.get(reach);
  if (known !== undefined) return known;
  const { url, headers } = reach;
  const destination = { origin: url.origin, path: `${url.pathname}${url.search}`, own: { ...unpacked, ...lowerCase(headers) } };
  destinations.set(reach, destination);
  return destination;
}

export const sendOverHttp =
  (reach: HttpReach): Send =>
  async ({ method, headers, body, signal }) => {
    const { origin, path, own } = destinationOf(reach);
    let response: Dispatcher.ResponseData;
    try {
      const dispatcher = await reach.agent();
      response = await dispatcher.request({ origin, path, method, headers: { ...headers, ...own }, body, signal });
    } catch (error) {
      if (signal.aborted) throw error;
      throw error instanceof UpstreamDown
        ? new UpstreamDown(`the tool server ${error.message}`)
        : new UpstreamDown('the tool server cannot be reached', { cause: error });
    }
    return answerOf(response, signal);
  };

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Returns why an answer with this status and encoding is not read. Null: it is read. */
export function headProblem(status: number, encoding: string | null | undefined): string | null {
  if (status >= 300 && status < 400) return `answered with a redirect (${status}), and redirects are not followed`;
  // A compressed answer could be many times larger after decompression.
  return (encoding ?? 'identity') === 'identity' ? null : 'answered in an encoding that was not asked for';
}

async function answerOf({ statusCode: status, headers, body }: Dispatcher.ResponseData, signal: AbortSignal): Promise<Answer> {
  const refuse = (problem: string): never => {
    body.destroy();
    throw new UpstreamDown(problem);
  };
  const one = (name: string): string | undefined => {
    const value = headers[name];
    return Array.isArray(value) ? refuse(`the tool server sent the header ${name} twice`) : value;
  };
  // Ignores errors of a body after it was destroyed.
  body.on('error', () => undefined);
  const problem = headProblem(status, one('content-encoding'));
  if (problem !== null) refuse(`the tool server ${problem}`);
  if (status === 401 || status === 407) refuse('the tool server refuses the credentials of the request');
  const kept: Record<string, string> = {};
  for (const name of keptHeaders) {
    const value = one(name);
    if (value !== undefined) kept[name] = value;
  }
  const type = one('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type === 'text/event-stream' && status < 300)
    return { status, headers: kept, body: { kind: 'events', events: eventsOf(body, signal) } };
  const bytes = wholeOf(body, one('content-length')) ?? (await readAll(body, signal));
  return { status, headers: kept, body: type === 'application/json' && bytes.length > 0 ? { kind: 'json', bytes } : { kind: 'none' } };
}

/** Returns the body if it arrived completely together with its head, as small answers do. Null: more may follow. */
function wholeOf(body: Dispatcher.ResponseData['body'], length: string | undefined): Uint8Array | null {
  if (length === undefined || body.readableLength === 0 || body.readableLength !== Number(length)) return null;
  const bytes: unknown = body.read();
  return bytes instanceof Uint8Array ? bytes : null;
}

async function readAll(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      size += piece.length;
      if (size > upstreamBounds.messageBytes) throw tooLarge();
      pieces.push(piece);
    }
  } catch (error) {
    throw brokenBy(error, signal);
  }
  return Buffer.concat(pieces);
}

async function* eventsOf(body: Dispatcher.ResponseData['body'], signal: AbortSignal): AsyncGenerator<SseEvent | null> {
  const reader = createSseReader(upstreamBounds.messageBytes);
  try {
    // `yield*` would add two promises to each event.
    for await (const piece of body as AsyncIterable<Uint8Array>) for (const event of reader.read(piece)) yield event;
  } catch (error) {
    throw brokenBy(error, signal);
  }
}

function brokenBy(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof UpstreamDown) return error;
  if (error instanceof EventTooLarge) return tooLarge();
  return new UpstreamDown('the tool server ended its answer too early', { cause: error });
}

const tooLarge = (): UpstreamDown => new UpstreamDown(`the tool server sent a message of more than ${upstreamBounds.messageBytes} bytes`);
