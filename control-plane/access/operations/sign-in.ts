// Signs in with an issuer: sends the browser to the issuer, and handles its return. It does not create members: the
// identity must be that of an existing member. An attempt can be used once, and only by the browser that started it.
import { AppError } from '@tollgate/proto/contract';
import { badRequest, forbidden, notFound } from '../../base/refusal.ts';
import { hashToken, isToken } from '../rules/session.ts';
import { type Identity, type Issuer, isLocalPath, makeSecrets, signInMs, signInOf } from '../rules/sign-in.ts';
import { findMembersOf } from '../store/members.ts';
import { insertSignIn, takeSignIn } from '../store/sign-ins.ts';
import { inTransaction } from '../../database/transaction.ts';
import { findWorkspaceId } from '../../workspaces/store/workspaces.ts';
import { insertFresh, type OpenSession } from './open-session.ts';
import type { OperationDeps } from '../operation.ts';

interface SignInDeps extends Pick<OperationDeps, 'pool' | 'clock' | 'random'> {
  /** Null if no issuer is configured. */
  readonly issuer: Issuer | null;
}

/**
 * Returns the URL for the browser and the value for its cookie. The answer has the same form for a workspace that does
 * not exist.
 */
export async function beginSignIn(
  deps: SignInDeps,
  { workspace, returnTo }: { readonly workspace: string; readonly returnTo: string },
): Promise<{ readonly url: URL; readonly browser: string }> {
  const issuer = requireIssuer(deps);
  if (!isLocalPath(returnTo)) throw badRequest('return must be a path on this server: one / first, then printable ASCII without \\');
  const secrets = makeSecrets(deps.random);
  const url = await issuer.authorizationUrl(secrets);
  // A sign-in to a workspace that does not exist cannot succeed. The path that an unknown caller chose is therefore not
  // stored.
  const known = (await findWorkspaceId(deps.pool, workspace)) !== null;
  const expiresAt = new Date(deps.clock().getTime() + signInMs);
  await insertSignIn(deps.pool, signInOf(secrets, { workspace, returnTo: known ? returnTo : '/', expiresAt }));
  return { url, browser: secrets.browser };
}

interface SignedIn extends OpenSession {
  readonly returnTo: string;
  readonly workspace: string;
  readonly uid: string;
}

/** `answer` is the query with which the browser returned. `browser` is the value of its cookie. */
export async function finishSignIn(deps: SignInDeps, answer: URLSearchParams, browser: string | undefined): Promise<SignedIn> {
  const issuer = requireIssuer(deps);
  const [state = '', ...more] = answer.getAll('state');
  const known = isToken(state) && more.length === 0 && browser !== undefined && isToken(browser);
  const signIn = known ? await takeSignIn(deps.pool, { stateHash: hashToken(state), browserHash: hashToken(browser) }, deps.clock()) : null;
  if (signIn === null)
    throw badRequest('this sign-in is unknown, finished, from another browser, or older than 10 minutes; start it again');
  refuseIfRefused(answer.get('error'));
  const { nonce, verifier, workspace, returnTo } = signIn;
  const identity = await issuer.identify(answer, { state, nonce, verifier });
  const { uid, session } = await openSessionOf(deps, workspace, identity);
  return { ...session, returnTo, workspace, uid };
}

function openSessionOf(
  deps: SignInDeps,
  slug: string,
  identity: Identity,
): Promise<{ readonly uid: string; readonly session: OpenSession }> {
  return inTransaction(deps.pool, async (client) => {
    const workspaceId = await findWorkspaceId(client, slug);
    // If `sub` is the uid of one member and the e-mail belongs to another, one of them would get the other's session.
    // In this case neither gets a session.
    const [member, ...more] = workspaceId === null ? [] : await findMembersOf(client, workspaceId, identity);
    // The message is the same whether the workspace exists or not.
    if (workspaceId === null || member === undefined || more.length > 0)
      throw forbidden(
        'your account at the issuer must match exactly one member of this workspace; ask an owner or admin to add or correct the member',
      );
    const { uid } = member;
    return { uid, session: await insertFresh(deps, client, { workspaceId, on: { uid }, notAfter: null }) };
  });
}

function requireIssuer({ issuer }: SignInDeps): Issuer {
  if (issuer === null) throw notFound('signing in with OIDC is not configured here; open a session with a key');
  return issuer;
}

const issuersFault: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/**
 * Throws a refusal if the issuer has sent an error instead of a code. The name of the error is repeated only if it has
 * the form that the protocol defines.
 */
function refuseIfRefused(error: string | null): void {
  if (error === null) return;
  const said = /^[a-z_]{1,64}$/.test(error) ? error : 'an error with a name that is not valid';
  const publicMessage = `the issuer did not sign you in: ${said}`;
  throw new AppError({ code: issuersFault.has(said) ? 'upstream_failed' : 'forbidden', publicMessage });
}
