// Signing in with an OpenID Connect issuer: what an issuer is asked, and what of its answers matters to us.
import type { RandomBytes } from './key.ts';
import { hashToken, makeToken } from './session.ts';

export const signInMs = 10 * 60_000;
/** That may be under way at once, in all workspaces: whoever reaches the port may begin one. */
export const signInsMax = 10_000;

/** What only the browser, the issuer and we know of one sign-in. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  /** In a cookie: who comes back is who went. */
  readonly browser: string;
}

/** A sign-in under way, as it is stored until the browser comes back. */
export interface SignIn {
  readonly stateHash: string;
  readonly browserHash: string;
  /** A slug, whether such a workspace exists or not. */
  readonly workspace: string;
  readonly verifier: string;
  readonly nonce: string;
  readonly returnTo: string;
  readonly expiresAt: Date;
}

/** Whom the issuer says it was. */
export interface Identity {
  readonly sub: string;
  /** Null unless the issuer has verified it. */
  readonly email: string | null;
}

/** Throws `upstream_failed` where the issuer does not answer as it should. */
export interface Issuer {
  /** Where the browser goes to sign in. */
  authorizationUrl(secrets: SignInSecrets): Promise<URL>;
  /** `answer`: the query with which the browser came back. Throws `forbidden` where it does not prove who it was. */
  identify(
    answer: URLSearchParams,
    expected: { readonly state: string; readonly nonce: string; readonly verifier: string },
  ): Promise<Identity>;
}

export const makeSecrets = (random: RandomBytes): SignInSecrets => ({
  state: makeToken(random),
  nonce: makeToken(random),
  verifier: makeToken(random),
  browser: makeToken(random),
});

export const signInOf = (
  { state, browser, verifier, nonce }: SignInSecrets,
  rest: Pick<SignIn, 'workspace' | 'returnTo' | 'expiresAt'>,
): SignIn => ({ stateHash: hashToken(state), browserHash: hashToken(browser), verifier, nonce, ...rest });

/** Printable ASCII, since browsers drop control characters and read a backslash as a slash. */
const localPathForm = /^\/(?!\/)[!-[\]-~]{0,2047}$/;

/** Whether a browser that follows it stays on this origin. */
export const isLocalPath = (text: string): boolean => localPathForm.test(text);
