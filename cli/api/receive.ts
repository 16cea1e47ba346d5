// Sends one HTTP request and returns its answer. It uses undici's `request` instead of fetch. For a body of many
// pieces, the time of fetch grows with the square of the length (30,000 entries: 23 s with fetch, 4 s with `request`),
// and an export has millions of entries.

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  /** Throws when the body is cut off before its end. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Discards the body of an answer that is not needed. */
  readonly leave: () => void;
}

interface Sent {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/**
 * Sends a request and returns the answer. Does not follow redirects, so that the key is not sent to another server.
 * undici is imported at the first request, so that `--help` does not wait for it.
 */
export async function receive(url: string, { method, signal, headers, body }: Sent): Promise<Received> {
  const { request } = await import('undici');
  const answer = await request(url, { method, signal, headers: { ...headers }, body });
  const given = Object.entries(answer.headers).flatMap(([name, value]) => [value ?? []].flat().map((one): [string, string] => [name, one]));
  const leave = (): void => void answer.body.on('error', () => undefined).destroy();
  return { status: answer.statusCode, headers: new Headers(given), body: answer.body, leave };
}
