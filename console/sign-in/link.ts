// The one-time link that the start of the control plane prints. Its token is taken out of the address as soon as this
// module is loaded, so that it does not stay in the history, and is exchanged before the session is asked for.
import { createApi, read } from '../api/client.ts';

let token = takeToken();
let refusal: Error | null = null;

function takeToken(): string | null {
  const found = new URLSearchParams(location.hash.slice(1)).get('link');
  if (found !== null) history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  return found;
}

/** Exchanges the token, if there is one that was not exchanged yet. */
export async function exchangeLink(): Promise<void> {
  if (token === null) return;
  const once = token;
  token = null;
  try {
    await read(createApi(null).POST('/api/v1/session/link', { body: { token: once } }));
  } catch (error) {
    refusal = error instanceof Error ? error : new Error(String(error));
  }
}

/** Why the link did not sign in; null: there was none, or it did. */
export const linkRefusal = (): Error | null => refusal;
