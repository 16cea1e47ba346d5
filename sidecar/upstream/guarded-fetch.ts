// Implements `fetch` for one tool server of a tenant. It connects only to the server's own origin, and only to
// addresses that `public-only.ts` allows. Therefore neither a changed DNS entry nor a redirect leads to internal
// addresses. It follows no redirect, takes no compressed answer, and stops reading when the answers exceed their bound.
// It stores the reason of a failure in plain words, because the MCP client wraps thrown errors in other words.
import { headProblem, unpacked } from './http-upstream.ts';
import { AddressRefused, type AddressRules, createLateAgent, literalAddressProblem } from './public-only.ts';
import { UpstreamDown } from './upstream.ts';

/** Why a request failed. `us`: we refused to connect. `server`: the server failed. */
export interface Trouble {
  readonly by: 'us' | 'server';
  readonly words: string;
  /** The failure concerns one request; the next request may succeed. */
  readonly passing: boolean;
}

export interface GuardedFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<globalThis.Response>;
  /**
   * Returns the first failure that ended the connection. If there is none, returns the last failure that concerned a
   * single request. Null: there is no failure.
   */
  readonly trouble: () => Trouble | null;
  readonly close: () => Promise<void>;
}

/**
 * The maximum number of bytes of answers. With `all` it applies to all answers of one connection together. This is for
 * a connection with a single purpose: many short answers cost as much to read as a long one. With `each` it applies to
 * every answer separately.
 */
const answerBytesMax = 4 * 1_048_576;
export type AnswerBound = 'all' | 'each';

export function createGuardedFetch(origin: string, rules: AddressRules, bound: AnswerBound = 'all'): GuardedFetch {
  const agent = createLateAgent(rules);
  let ending: Trouble | null = null;
  let passing: Trouble | null = null;
  let inAll = 0;
  const end = (failure: UpstreamDown): UpstreamDown => {
    ending ??= { by: failure instanceof AddressRefused ? 'us' : 'server', words: failure.message, passing: false };
    return failure;
  };

  function refuseUrl(url: URL): void {
    const problem = url.origin === origin ? (rules.allowPrivate ? null : literalAddressProblem(url)) : 'led to another origin';
    if (problem !== null) throw end(new AddressRefused(problem));
  }

  function tooLong(): Error {
    const words = `answered more than ${answerBytesMax} bytes`;
    if (bound === 'all') return end(new UpstreamDown(words));
    passing = { by: 'server', words, passing: true };
    return new UpstreamDown(words);
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
      const { fetch, Headers, Response } = await import('undici');
      // The `RequestInit` of Node and the one of the package `undici` describe the same values.
      const given = init as { readonly headers?: Record<string, string> };
      const headers = { ...Object.fromEntries(new Headers(given.headers)), ...unpacked };
      const request = { ...given, headers, redirect: 'manual', dispatcher: await agent.get() } as const;
      const response = await fetch(url, request).catch((reason: unknown) => {
        // `fetch` throws an error of its own for every failed connection. The original error is its `cause`.
        throw reason instanceof Error && reason.cause instanceof UpstreamDown ? end(reason.cause) : reason;
      });
      const problem = headProblem(response.status, response.headers.get('content-encoding'));
      if (problem !== null) {
        await response.body?.cancel();
        throw end(new UpstreamDown(problem));
      }
      if (init.method === 'POST')
        passing = response.ok ? null : { by: 'server', words: `answered with status ${response.status}`, passing: true };
      const { status, statusText, body } = response;
      const stream = body === null ? null : bounded(body as ReadableStream<Uint8Array>);
      return new Response(stream, { status, statusText, headers: response.headers });
    },
    trouble: () => ending ?? passing,
    close: () => agent.destroy(),
  };
}
