// Defines the data of a sign-in with an OpenID Connect issuer: what is sent to the issuer, what is stored, and which
// parts of its answers are used.
import { isUid } from '@tollgate/proto/contract';
import type { RandomBytes } from './key.ts';
import { checkEmail } from './member.ts';
import { hashToken, makeToken } from './session.ts';

export const signInMs = 10 * 60_000;
/**
 * The maximum number of stored sign-ins, over all workspaces. It is needed because every client that reaches the port
 * can begin a sign-in. Above it, the oldest sign-in is deleted when another one begins.
 */
export const signInsMax = 10_000;

/** Secrets of one sign-in, which only the browser, the issuer and this program know. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  /** The PKCE verifier. */
  readonly verifier: string;
  /** Stored in a cookie. It proves that the returning browser is the one that began the sign-in. */
  readonly browser: string;
}

/** A pending sign-in, as it is stored until the browser returns. */
export interface SignIn {
  readonly stateHash: string;
  readonly browserHash: string;
  /** The slug of the workspace, whether the workspace exists or not. */
  readonly workspace: string;
  readonly verifier: string;
  readonly nonce: string;
  readonly returnTo: string;
  readonly expiresAt: Date;
}

/** The identity that the issuer confirms, as far as it can match a member. */
export interface Identity {
  /** The subject at the issuer; null if it cannot be a uid. */
  readonly sub: string | null;
  /** Null if the issuer has not verified it, or if it is not an e-mail address. */
  readonly email: string | null;
}

/** Reads the identity from the claims of a token. They come from the issuer and can contain anything. */
export function identityFrom({ sub, email, email_verified: verified }: Readonly<Record<string, unknown>>): Identity {
  return {
    sub: typeof sub === 'string' && isUid(sub) ? sub : null,
    email: typeof email === 'string' && verified === true && checkEmail(email).length === 0 ? email : null,
  };
}

/** Throws `upstream_failed` if the issuer does not answer as expected. */
export interface Issuer {
  /** The URL where the browser signs in. */
  authorizationUrl(secrets: SignInSecrets): Promise<URL>;
  /**
   * Returns the identity that the issuer confirms. `answer`: the query with which the browser returned. Throws
   * `forbidden` if the answer does not prove the identity.
   */
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

/**
 * A path of printable ASCII characters without a backslash: browsers drop control characters, and read a backslash as a
 * slash.
 */
const localPathForm = /^\/(?!\/)[!-[\]-~]{0,2047}$/;

/** Whether a browser that follows the path stays on this origin. */
export const isLocalPath = (text: string): boolean => localPathForm.test(text);
