// JSON requests with a key to the measured programs. Called by surroundings.ts and operations.ts.
import { isRecord } from '../../support/checkout/tree.ts';

type Body = Readonly<Record<string, unknown>>;

/** Returns the answer's body. Throws where the status is not 200, with the request and the answer. */
export type Ask = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) => Promise<Body>;

export function createAsk(origin: string, key: string): Ask {
  return async (method, path, body) => {
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`);
    const answer: unknown = JSON.parse(text);
    if (!isRecord(answer)) throw new Error(`${method} ${path} answered ${text.slice(0, 300)}, which is no JSON object`);
    return answer;
  };
}
