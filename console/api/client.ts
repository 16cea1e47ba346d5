// The control plane's REST API, typed by its own OpenAPI document. The console uses no other way to its data.
import createClient, { type Client } from 'openapi-fetch';
import { noteServerTime } from './clock.ts';
import type { components, paths } from './schema.d.ts';

export type Schemas = components['schemas'];
export type Api = Client<paths>;

/** A request that was refused, or did not arrive. `status`: 0 if no answer came. */
export class ApiError extends Error {
  readonly status: number;
  /** Each problem by itself, as `<place> <what is wrong>`. Empty if the refusal is one sentence. */
  readonly details: readonly string[];

  constructor(status: number, message: string, details: readonly string[] = []) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.details = details;
  }
}

/** `csrf`: sent with each request that changes something. A browser sends the session's cookie by itself. */
export function createApi(csrf: string | null): Api {
  const api = createClient<paths>({ baseUrl: location.origin, credentials: 'same-origin' });
  api.use({
    onRequest: ({ request }) => {
      if (csrf !== null && request.method !== 'GET') request.headers.set('X-CSRF-Token', csrf);
      return request;
    },
    onResponse: ({ response }) => {
      noteServerTime(response.headers.get('Date'));
    },
    onError: ({ error }) =>
      new ApiError(0, `The control plane does not answer (${error instanceof Error ? error.message : String(error)}).`),
  });
  return api;
}

interface Answer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Returns the body of an answer. Throws `ApiError` with the reason that the control plane gives. */
export async function read<T>(answering: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answering;
  if (response.ok && data !== undefined) return data;
  throw new ApiError(response.status, reasonOf(error) ?? `The control plane answered ${response.status}.`, detailsOf(error));
}

/** Every answer that is not 2xx is `{error}`. Something in between, such as a proxy, may answer with anything. */
function reasonOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('error' in error)) return null;
  return typeof error.error === 'string' ? error.error : null;
}

function detailsOf(error: unknown): readonly string[] {
  if (typeof error !== 'object' || error === null || !('details' in error) || !Array.isArray(error.details)) return [];
  return error.details.filter((one): one is string => typeof one === 'string');
}
