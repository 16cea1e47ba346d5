// Signing in with an OpenID Connect issuer: what an issuer is asked, and what of its answers matters to us.
import { isUid } from '@tollgate/proto/contract';
import type { RandomBytes } from './key.ts';
import { checkEmail } from './member.ts';
import { hashToken, makeToken } from './session.ts';

export const signInMs = 10 * 60_000;
/** That are kept at once, of all workspaces: whoever reaches the port may begin one. The oldest goes when another begins. */
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

/** Whom the issuer says it was, as far as a member of ours could be that. */
export interface Identity {
  /** Null where it can be nobody's uid. */
  readonly sub: string | null;
  /** Null unless the issuer has verified it, and it is one. */
  readonly email: string | null;
}

/** `claims`: as the issuer made them; they may hold anything. */
export function identityFrom({ sub, email, email_verified: verified }: Readonly<Record<string, unknown>>): Identity {
  return {
    sub: typeof sub === 'string' && isUid(sub) ? sub : null,
    email: typeof email === 'string' && verified === true && checkEmail(email).length === 0 ? email : null,
  };
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
