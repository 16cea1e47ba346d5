// Implements a client of the control plane's REST API for one key: it does what `curl` would do.
export type Rest = <T = unknown>(method: string, path: string, body?: object) => Promise<T>;

export class RestRefused extends Error {
  override readonly name = 'RestRefused';
  readonly status: number;
  /** The reason of the refusal, in the words of the API. */
  readonly reason: string;

  constructor(request: string, status: number, reason: string) {
    super(`${request} answered ${status}: ${reason}`);
    this.status = status;
    this.reason = reason;
  }
}

export function createRest(base: string, key: string, signal: AbortSignal): Rest {
  return async <T>(method: string, path: string, body?: object) => {
    const response = await fetch(base + path, {
      method,
      signal,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new RestRefused(`${method} ${path}`, response.status, errorOf(text));
    // The demo does not check the shape of an answer.
    return JSON.parse(text) as T;
  };
}

/** Returns the field `error` of a refusal, or the whole text if it has no such field. */
function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : text;
  } catch {
    return text;
  }
}
