// Sends REST requests to a control plane. Reads that are answered with 429 or 503 are retried, at most three times.
// Every other error answer is thrown as a Failure that explains it. The key is sent only in the header `authorization`.
import { type Row, given, isRow } from './answer.ts';
import { Failure, Outage } from '../failure.ts';
import { explainNetworkError, explainRefusal, retryAfterMs } from './refusals.ts';
import { type Received, receive } from './receive.ts';
import type { World } from '../world.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface Question {
  readonly query?: Row;
  readonly body?: unknown;
  /** The write succeeds only if its target is unchanged since this revision. */
  readonly ifMatch?: number;
  /** The request uses POST but changes nothing. */
  readonly asksOnly?: boolean;
}

interface StreamQuestion extends Question {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Client {
  readonly url: string;
  readonly workspace: string;
  /**
   * Sends a request and returns the object in the answer. Throws a Failure for any other answer. `{workspace}` in the
   * path is replaced by the workspace of the key.
   */
  readonly ask: (method: Method, path: string, question?: Question) => Promise<Row>;
  /** Sends a GET and returns only the status. Throws a Failure for 429 and for 500 or above. */
  readonly probe: (path: string) => Promise<number>;
  /**
   * Returns the pieces of a streamed answer. The time limit applies only to the beginning of the answer; the signal
   * applies to the whole answer.
   */
  readonly stream: (method: Method, path: string, question?: StreamQuestion) => Promise<AsyncIterable<string>>;
}

export interface ClientConfig {
  readonly url: string;
  readonly key: string;
  /** Where the key comes from, in words for messages. */
  readonly keyFrom: string;
  readonly workspace: string;
  readonly timeoutMs: number;
  readonly note: (text: string) => void;
}

/**
 * The media types of streamed answers. An answer of another type is rejected: a web page, for example, would look like
 * a stream that was cut off.
 */
const streamTypes = /^(?:application\/x-ndjson|text\/event-stream)\b/;

const retriesMax = 3;
const waitMsMax = 30_000;
const answerCharsMax = 256 * 1024 * 1024;

const placeOf = (path: string, workspace: string): string => path.replace('{workspace}', encodeURIComponent(workspace));

interface Sender {
  readonly world: Pick<World, 'wait' | 'version'>;
  readonly config: ClientConfig;
  /** Called after each answer, whatever its status is. */
  readonly answered: () => void;
}

/** Sends a request. Repeats a read that is answered with 429 or 503. */
async function send(
  { world, config, answered }: Sender,
  method: Method,
  path: string,
  question: StreamQuestion,
  signal: AbortSignal,
): Promise<Received> {
  const { url, key, workspace } = config;
  const { query = {}, body, ifMatch, headers = {} } = question;
  const search = new URLSearchParams(
    Object.entries(given(query)).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  const target = `${url}${placeOf(path, workspace)}${search === '' ? '' : `?${search}`}`;
  for (let attempt = 1; ; attempt++) {
    const response = await receive(target, {
      method,
      signal,
      headers: {
        authorization: `Bearer ${key}`,
        'user-agent': `tollgate/${world.version}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    answered();
    const busy = response.status === 429 || response.status === 503;
    if (!busy || method !== 'GET' || attempt > retriesMax) return response;
    const waitMs = retryAfterMs(response.headers.get('retry-after')) ?? 500 * 2 ** attempt;
    if (waitMs > waitMsMax) return response;
    response.leave();
    config.note(`${url} answered ${response.status}; retrying in ${Math.ceil(waitMs / 1_000)} s`);
    await world.wait(waitMs, signal);
  }
}

export function createClient(world: Pick<World, 'wait' | 'version'>, config: ClientConfig): Client {
  const { url, workspace, timeoutMs } = config;
  let answered = false;
  const sender: Sender = {
    world,
    config,
    answered: () => {
      answered = true;
    },
  };

  /** Runs `exchange` within the time limit and explains network errors in words. */
  async function within<T>(asked: Asked, exchange: (signal: AbortSignal) => Promise<T>, until?: AbortSignal): Promise<T> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new DOMException('too late', 'TimeoutError')), timeoutMs);
    try {
      return await exchange(until === undefined ? limit.signal : AbortSignal.any([limit.signal, until]));
    } catch (error) {
      if (error instanceof Failure || until?.aborted === true) throw error;
      throw explainNetworkError(error, { url, timeoutMs, answered, perhapsDone: perhapsDone(asked) });
    } finally {
      clearTimeout(timer);
    }
  }

  async function refuseUnlessOk(method: Method, path: string, response: Received): Promise<void> {
    if (isOk(response.status)) return;
    throw explainRefusal({ ...config, method, path: placeOf(path, workspace), response, body: parseJson(await readBounded(response)) });
  }

  return {
    url,
    workspace,
    ask: (method, path, question = {}) =>
      within({ method, path, asksOnly: question.asksOnly === true }, async (signal) => {
        const response = await send(sender, method, path, question, signal);
        await refuseUnlessOk(method, path, response);
        const body = parseJson(await readBounded(response));
        if (!isRow(body)) throw noControlPlane(url, response);
        return body;
      }),
    probe: (path) =>
      within({ method: 'GET', path, asksOnly: true }, async (signal) => {
        const response = await send(sender, 'GET', path, {}, signal);
        if (response.status >= 500 || response.status === 429) await refuseUnlessOk('GET', path, response);
        response.leave();
        return response.status;
      }),
    stream: (method, path, question = {}) =>
      within(
        { method, path, asksOnly: true },
        async (signal) => {
          const response = await send(sender, method, path, question, signal);
          await refuseUnlessOk(method, path, response);
          if (!streamTypes.test(response.headers.get('content-type') ?? '')) {
            response.leave();
            throw noControlPlane(url, response);
          }
          return unbroken(pieces(response.body), url);
        },
        question.signal,
      ),
  };
}

interface Asked {
  readonly method: Method;
  readonly path: string;
  readonly asksOnly: boolean;
}

/**
 * Returns lines that warn about a write whose answer was not received, because it may have been executed. Empty for a
 * read.
 */
function perhapsDone({ method, path, asksOnly }: Asked): readonly string[] {
  if (method === 'GET' || asksOnly) return [];
  const look = path.includes('{workspace}') ? 'tollgate events' : 'tollgate workspace list';
  return [`the request may have been executed nevertheless: check with ${look} before you repeat it`];
}

async function* pieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const bytes of body) yield decoder.decode(bytes, { stream: true });
}

async function* unbroken(stream: AsyncIterable<string>, url: string): AsyncGenerator<string> {
  try {
    yield* stream;
  } catch (error) {
    throw error instanceof Failure ? error : new Outage(`${url} closed the connection before the end of its answer`, [], error);
  }
}

async function readBounded(response: Received): Promise<string> {
  const read: string[] = [];
  let size = 0;
  for await (const piece of pieces(response.body)) {
    size += piece.length;
    if (size > answerCharsMax)
      throw new Failure('the answer of the control plane is larger than 256 MiB; request less data with --limit or --since');
    read.push(piece);
  }
  return read.join('');
}

const isOk = (status: number): boolean => status >= 200 && status < 300;

const noControlPlane = (url: string, response: Received): Failure =>
  new Failure(
    `${url} answered with status ${response.status}, and the answer is not the JSON of a control plane; check that the URL is the REST address of a control plane`,
  );

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Encodes a text from the command line as one segment of a path. */
export function segment(text: string): string {
  // In a URL, such a segment would lead to another path.
  if (text === '' || text === '.' || text === '..')
    throw new Failure(`the given name or id is not valid: ${text === '' ? '(empty)' : text}`);
  return encodeURIComponent(text);
}
