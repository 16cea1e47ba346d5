// Signing in with an issuer: off to it, and back. Nothing is provisioned: who comes back is a member already, or nobody.
// An attempt is taken once, by the browser that made it.
import { AppError } from '@tollgate/proto/contract';
import { badRequest, forbidden, notFound } from '../../domain/refusal.ts';
import { hashToken, isToken } from '../../domain/access/session.ts';
import { type Identity, type Issuer, isLocalPath, makeSecrets, signInMs, signInOf } from '../../domain/access/sign-in.ts';
import { findMembersOf } from '../../store/members.ts';
import { insertSignIn, takeSignIn } from '../../store/sign-ins.ts';
import { inTransaction } from '../../store/transaction.ts';
import { findWorkspaceId } from '../../store/workspaces.ts';
import { insertFresh, type OpenSession } from './open-session.ts';
import type { Deps } from '../operation.ts';

interface SignInDeps extends Pick<Deps, 'pool' | 'clock' | 'random'> {
  /** Null while none is configured. */
  readonly issuer: Issuer | null;
}

/** Where the browser goes, and what it keeps in a cookie. The same for a workspace that is none. */
export async function beginSignIn(
  deps: SignInDeps,
  { workspace, returnTo }: { readonly workspace: string; readonly returnTo: string },
): Promise<{ readonly url: URL; readonly browser: string }> {
  const issuer = requireIssuer(deps);
  if (!isLocalPath(returnTo)) throw badRequest('return must be a path on this server: one / first, then printable ASCII without \\');
  const secrets = makeSecrets(deps.random);
  const url = await issuer.authorizationUrl(secrets);
  // Nobody comes back from a workspace that is none: what a stranger chose as the way is not kept.
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

/** `answer`: the query with which the browser came back; `browser`: what its cookie keeps. */
export async function finishSignIn(deps: SignInDeps, answer: URLSearchParams, browser: string | undefined): Promise<SignedIn> {
  const issuer = requireIssuer(deps);
  const [state = '', ...more] = answer.getAll('state');
  const known = isToken(state) && more.length === 0 && browser !== undefined && isToken(browser);
  const signIn = known ? await takeSignIn(deps.pool, { stateHash: hashToken(state), browserHash: hashToken(browser) }, deps.clock()) : null;
  if (signIn === null) throw badRequest('this sign-in is unknown, over, of another browser, or older than 10 minutes; begin it again');
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
    // Where `sub` is one member's uid and the e-mail another's, one of them would get the other's session: neither does.
    const [member, ...more] = workspaceId === null ? [] : await findMembersOf(client, workspaceId, identity);
    // The same words whether there is such a workspace or not.
    if (workspaceId === null || member === undefined || more.length > 0)
      throw forbidden('not exactly one member of this workspace is whom you signed in as; ask an owner or admin to make you one');
    const { uid } = member;
    return { uid, session: await insertFresh(deps, client, { workspaceId, on: { uid }, notAfter: null }) };
  });
}

function requireIssuer({ issuer }: SignInDeps): Issuer {
  if (issuer === null) throw notFound('signing in with OIDC is not configured here; open a session with a key');
  return issuer;
}

const issuersFault: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/** What the issuer says instead of a code; only words that are of the protocol's form are said again. */
function refuseIfRefused(error: string | null): void {
  if (error === null) return;
  const said = /^[a-z_]{1,64}$/.test(error) ? error : 'an error of its own';
  const publicMessage = `the issuer did not sign you in: ${said}`;
  throw new AppError({ code: issuersFault.has(said) ? 'upstream_failed' : 'forbidden', publicMessage });
}
