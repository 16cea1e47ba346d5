// One exchange over HTTP. undici's `request` and not fetch: over a body of many pieces fetch takes a time that grows with
// the square of its length (30,000 entries: 23 s against 4 s), and an export has millions.

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  /** Throws where it is cut off before its end. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Of an answer whose body nobody wants. */
  readonly leave: () => void;
}

interface Sent {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** It follows no redirect: a key goes nowhere else. Loaded when first asked, so that `--help` need not wait for it. */
export async function receive(url: string, { method, signal, headers, body }: Sent): Promise<Received> {
  const { request } = await import('undici');
  const answer = await request(url, { method, signal, headers: { ...headers }, body });
  const given = Object.entries(answer.headers).flatMap(([name, value]) => [value ?? []].flat().map((one): [string, string] => [name, one]));
  const leave = (): void => void answer.body.on('error', () => undefined).destroy();
  return { status: answer.statusCode, headers: new Headers(given), body: answer.body, leave };
}
