// Communicates with an OpenID Connect issuer over the network: code flow with PKCE, state and nonce. Tokens are
// verified with the issuer's own keys. Discovery runs at the first use, and again after a failure.
//
// States: unknown → discovering (calls in the meantime wait for the same answer) → known, or unknown again.
import { AppError, isLoopback } from '@tollgate/proto/contract';
import * as oidc from 'openid-client';
import { forbidden } from '../base/refusal.ts';
import { type Identity, identityFrom, type Issuer } from './rules/sign-in.ts';

export interface IssuerSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
  /** The URL to which the issuer sends browsers back. */
  readonly redirectUri: string;
  /** Timeout for each answer of the issuer. */
  readonly timeoutMs?: number;
}

export function createIssuer(settings: IssuerSettings): Issuer {
  let known: Promise<oidc.Configuration> | null = null;
  const configuration = (): Promise<oidc.Configuration> => {
    known ??= discover(settings).catch((reason: unknown) => {
      known = null;
      throw failed(reason);
    });
    return known;
  };

  return {
    async authorizationUrl({ state, nonce, verifier }) {
      const configured = await configuration();
      return oidc.buildAuthorizationUrl(configured, {
        redirect_uri: settings.redirectUri,
        scope: 'openid email',
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      });
    },
    async identify(answer, { state, nonce, verifier }) {
      const configured = await configuration();
      const came = new URL(settings.redirectUri);
      came.search = answer.toString();
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
        const tokens = await oidc.authorizationCodeGrant(configured, came, checks);
        return await identityOf(configured, tokens);
      } catch (reason) {
        throw refusalOf(reason);
      }
    },
  };
}

function discover({ issuer, clientId, clientSecret, timeoutMs = 5_000 }: IssuerSettings): Promise<oidc.Configuration> {
  const url = new URL(issuer);
  const execute = [oidc.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])];
  return oidc.discovery(url, clientId, undefined, clientSecret === null ? oidc.None() : bySecret(clientSecret), {
    execute,
    timeout: timeoutMs / 1000,
    [oidc.customFetch]: fetchSafely,
  });
}

/** Sends the client secret in the way that the issuer requests. The default is a header, as the protocol defines. */
function bySecret(secret: string): oidc.ClientAuth {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const chosen = methods.includes('client_secret_basic') ? basic : post;
    return chosen(server, client, body, headers);
  };
}

/** Permits plain http only to this machine, even if the issuer names other endpoints. */
const fetchSafely: oidc.CustomFetch = (url, options) => {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:' && !isLoopback(hostname.replace(/^\[|\]$/g, '')))
    throw new TypeError(`the issuer publishes an endpoint without TLS: ${url}`);
  return fetch(url, { ...options, body: options.body ?? null, signal: options.signal ?? null });
};

/** Reads the identity from the token. If the token has no e-mail, the issuer's userinfo endpoint is asked. */
async function identityOf(
  configured: oidc.Configuration,
  tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
): Promise<Identity> {
  const claims = tokens.claims();
  if (claims === undefined) throw forbidden('the issuer returned no ID token');
  const { sub } = claims;
  const asks = claims['email'] === undefined && configured.serverMetadata().userinfo_endpoint !== undefined;
  return identityFrom(asks ? await oidc.fetchUserInfo(configured, tokens.access_token, sub) : claims);
}

/**
 * Error codes for an answer that does not prove the identity. The causes of all other failures are the issuer or the
 * network.
 */
const unproven: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
]);

function refusalOf(cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const refused = cause instanceof oidc.ResponseBodyError && cause.error === 'invalid_grant';
  const code = cause instanceof oidc.ClientError ? cause.code : undefined;
  if (refused || (code !== undefined && unproven.has(code)))
    return new AppError({ code: 'forbidden', publicMessage: 'the issuer did not confirm this sign-in; start the sign-in again', cause });
  return failed(cause);
}

const failed = (cause: unknown): AppError =>
  new AppError({ code: 'upstream_failed', publicMessage: 'the issuer cannot be reached, or its answer is not valid', cause });
