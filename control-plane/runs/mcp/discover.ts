// Asks a tool server for its tools. Within `discoverMs` the result is either a list that respects every bound or an
// error in plain words. The error may quote names from the server's answer, but nothing else of it.
import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { AppError } from '@tollgate/proto/contract';
import { badRequest } from '../../base/refusal.ts';
import { isObject } from '@tollgate/proto/shape';
import { checkTools, type DiscoveredTool, type Secrets, type Target, toolServerBounds } from '../../tool-servers/rules/tool-server.ts';
import { type Connection, createConnection } from './connect.ts';
import type { Reach } from './reach.ts';

/**
 * The maximum number of pages of a list. A server with the allowed number of tools needs far fewer pages. The maximum
 * ends the reading of a list that never ends.
 */
const pagesMax = 100;
/** The bound for the listed data, including fields that are not kept. */
const listedBytesMax = toolServerBounds.toolsBytes;

export type Discover = (discovery: Discovery) => Promise<readonly DiscoveredTool[]>;

export interface Discovery {
  readonly name: string;
  readonly target: Target;
  readonly secrets: Secrets;
}

/** Throws `bad_request` when we refuse to connect, and `upstream_failed` when the server failed. */
export async function discoverTools({ name, target, secrets }: Discovery, reach: Reach): Promise<readonly DiscoveredTool[]> {
  const connection = createConnection(target, secrets, reach);
  const signal = AbortSignal.timeout(reach.discoverMs);
  try {
    const listed = await within(signal, listTools(connection, signal));
    const checked = checkTools(name, listed);
    if ('problem' in checked) throw failed(checked.problem);
    return checked.tools;
  } catch (reason) {
    if (reason instanceof AppError) throw reason;
    const trouble = connection.trouble();
    if (trouble?.by === 'us') throw badRequest(`url ${trouble.words}`);
    if (signal.aborted) throw failed(`did not list its tools within ${reach.discoverMs} ms`, reason);
    throw failed(trouble?.words ?? defaultWords[target.kind], reason);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

const defaultWords = {
  url: 'could not be reached, or does not speak MCP over Streamable HTTP',
  command: 'could not be started, or does not speak MCP on its standard streams',
} as const;

async function listTools({ client, open }: Connection, signal: AbortSignal): Promise<readonly unknown[]> {
  await open(signal);
  const tools: unknown[] = [];
  let bytes = 0;
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    // The client's `listTools` is not used, because it reads all pages first and compiles every schema. The answer is
    // read exactly as the server sent it, because digests cover all of it.
    const answer = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, asSaid, { signal });
    bytes += Buffer.byteLength(JSON.stringify(answer.tools));
    if (bytes > listedBytesMax) throw failed(`describes its tools in more than ${toolServerBounds.toolsBytes} bytes`);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined || tools.length > toolServerBounds.tools) return tools;
  }
  throw failed(`lists its tools on more than ${pagesMax} pages`);
}

interface Page {
  readonly tools: readonly unknown[];
  readonly nextCursor: string | undefined;
}

/** Checks only the form of a page. The client's own schema would drop fields that it does not know. */
const asSaid: StandardSchemaV1<unknown, Page> = {
  '~standard': {
    version: 1,
    vendor: 'tollgate',
    validate: (value) => {
      const { tools, nextCursor } = isObject(value) ? value : {};
      if (!Array.isArray(tools)) return { issues: [{ message: 'tools must be a list' }] };
      return { value: { tools, nextCursor: typeof nextCursor === 'string' ? nextCursor : undefined } };
    },
  },
};

/** Rejects when the signal aborts, even if the work does not react to the signal. */
function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

const failed = (words: string, reason?: unknown): AppError =>
  new AppError({
    code: 'upstream_failed',
    publicMessage: `the tool server ${words}`,
    cause: reason === undefined ? undefined : tracedOf(reason),
  });

/**
 * Returns an error for the log. This error names the kind of `reason` and the kinds of its causes. It contains none of
 * their messages and stacks, because these quote the server's answer. That answer may contain the headers that were
 * sent to the server.
 */
function tracedOf(reason: unknown): Error {
  const kinds: string[] = [];
  for (let one = reason; one instanceof Error && kinds.length < 4; one = one.cause) {
    const code = 'code' in one && typeof one.code === 'string' && ownCode.test(one.code) ? ` ${one.code}` : '';
    kinds.push(`${one.constructor.name}${code}`);
  }
  return new Error(`the discovery of tools was ended by ${kinds.join(', by ') || typeof reason}`);
}

/** Matches the error codes of Node, undici and the client. The codes of a server are numbers, so they do not match. */
const ownCode = /^[A-Z][A-Z_]{1,40}$/;
