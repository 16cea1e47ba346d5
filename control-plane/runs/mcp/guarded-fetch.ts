// `fetch` for one tool server of a tenant. It goes to the server's own origin only, to addresses that are public when
// the connection is made (so that neither a name that resolves anew nor a redirect leads inside), follows no redirect,
// and stops reading when the answers are too long in all. It remembers what went wrong in plain words, since what is thrown passes
// through the MCP client, which puts other words around it.
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from '@tollgate/proto/contract';
import { Agent, fetch, Response } from 'undici';
import type { Address, Reach } from './reach.ts';

/** Why nothing came of it: by `us`, we would not go there; by `server`, it failed. */
export interface Trouble {
  readonly by: 'us' | 'server';
  readonly words: string;
  /** It is of one request; the next may go well. */
  readonly passing: boolean;
}

export interface GuardedFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<globalThis.Response>;
  /** The first that ends a connection, else the last that may have. */
  readonly trouble: () => Trouble | null;
  readonly close: () => Promise<void>;
}

/** Of all answers of one connection, where it is to hear one thing: many short ones are as much to read as a long one. Or of each. */
const answerBytesMax = 4 * 1_048_576;
export type AnswerBound = 'all' | 'each';

const notPublic = 'is not at a public address; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow it';
// One text: which names there are inside is nobody's business outside.
const notPublicName =
  'is not at a public address, or has a name that does not resolve; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow private ones';

export function createGuardedFetch(
  origin: string,
  { allowPrivate, resolve }: Pick<Reach, 'allowPrivate' | 'resolve'>,
  bound: AnswerBound = 'all',
): GuardedFetch {
  let ending: Trouble | null = null;
  let passing: Trouble | null = null;
  let inAll = 0;
  const end = (by: Trouble['by'], words: string): Error => {
    ending ??= { by, words, passing: false };
    return new Error(words);
  };

  const findAddresses = callbackify(async (hostname: string): Promise<readonly Address[]> => {
    const all = await resolve(hostname).catch(() => {
      throw allowPrivate ? end('server', 'has a name that does not resolve') : end('us', notPublicName);
    });
    // One among several is enough: which of them is connected to is not said here.
    if (!allowPrivate && (all.length === 0 || !all.every(({ address }) => isPublicAddress(address)))) throw end('us', notPublicName);
    return all;
  });

  // Asked for names only: an address in a URL is connected to as it is, and `refuseUrl` looks at it.
  const lookup: LookupFunction = (hostname, { family, all }, callback) =>
    findAddresses(hostname, (refusal: Error | null, found) => {
      const wanted = refusal === null ? found.filter((one) => !family || one.family === family) : [];
      const [first] = wanted;
      if (first === undefined) callback(refusal ?? end('server', 'has a name without an address'), '', 0);
      else if (all === true) callback(null, [...wanted]);
      else callback(null, first.address, first.family);
    });
  const agent = new Agent({ connect: { lookup } });

  function refuseUrl(url: URL): void {
    if (url.origin !== origin) throw end('us', 'led to another origin');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw end('us', notPublic);
  }

  function tooLong(): Error {
    const words = `answered more than ${answerBytesMax} bytes`;
    if (bound === 'all') return end('server', words);
    passing = { by: 'server', words, passing: true };
    return new Error(words);
  }

  function bounded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    let own = 0;
    return body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          own += chunk.length;
          inAll += chunk.length;
          if ((bound === 'each' ? own : inAll) > answerBytesMax) throw tooLong();
          controller.enqueue(chunk);
        },
      }),
    );
  }

  return {
    fetch: async (to, init = {}) => {
      const url = new URL(to);
      refuseUrl(url);
      // Types of the same things, once as Node's own and once as the package's.
      const given = init as object;
      const response = await fetch(url, { ...given, redirect: 'manual', dispatcher: agent });
      if (response.status >= 300 && response.status < 400) {
        await response.body?.cancel();
        throw end('server', `answered with a redirect (${response.status}), and redirects are not followed`);
      }
      if (init.method === 'POST')
        passing = response.ok ? null : { by: 'server', words: `answered with status ${response.status}`, passing: true };
      const { status, statusText, headers, body } = response;
      const stream = body === null ? null : bounded(body as ReadableStream<Uint8Array>);
      return new Response(stream, { status, statusText, headers });
    },
    trouble: () => ending ?? passing,
    close: () => agent.destroy(),
  };
}
