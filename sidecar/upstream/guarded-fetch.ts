// `fetch` for one tool server of a tenant. It connects only to the server's own origin, and only to addresses that are
// public when the connection is made. Therefore neither a changed DNS entry nor a redirect leads to internal addresses.
// It follows no redirect, and it stops reading when the answers exceed their bound. It stores the reason of a failure
// in plain words, because the MCP client wraps thrown errors in other words.
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from '@tollgate/proto/contract';
import { Agent, fetch, Response } from 'undici';
import type { Address, Resolve } from './public-only.ts';

/** Why a request failed. `us`: we refused to connect. `server`: the server failed. */
export interface Trouble {
  readonly by: 'us' | 'server';
  readonly words: string;
  /** The failure concerns one request; the next request may succeed. */
  readonly passing: boolean;
}

export interface GuardedFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<globalThis.Response>;
  /** The first failure that ends the connection, else the last passing failure. */
  readonly trouble: () => Trouble | null;
  readonly close: () => Promise<void>;
}

/**
 * The bound with `all` applies to all answers of one connection together, for a connection with a single purpose: many
 * short answers cost as much to read as a long one. With `each` it applies to every answer separately.
 */
const answerBytesMax = 4 * 1_048_576;
export type AnswerBound = 'all' | 'each';

const notPublic = 'is not at a public address; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow it';
// One text for both cases, so that an outside caller cannot find out which internal names exist.
const notPublicName =
  'is not at a public address, or has a name that does not resolve; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow private ones';

export function createGuardedFetch(
  origin: string,
  { allowPrivate, resolve }: { readonly allowPrivate: boolean; readonly resolve: Resolve },
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
    // One private address among several is enough to refuse: this code does not choose which of them is connected to.
    if (!allowPrivate && (all.length === 0 || !all.every(({ address }) => isPublicAddress(address)))) throw end('us', notPublicName);
    return all;
  });

  // Called for host names only. For an IP address in a URL there is no lookup, so `refuseUrl` checks it.
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
      // Both types describe the same values: one is Node's own, the other is the package's.
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
