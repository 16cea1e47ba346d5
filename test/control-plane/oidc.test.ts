// Signing in with an OpenID Connect issuer: a real one on loopback, real redirects, and a browser that keeps cookies.
import { createServer, type Server } from 'node:net';
import { readConfig } from '@tollgate/proto/contract';
import { OAuth2Server } from 'oauth2-mock-server';
import { Registry } from 'prom-client';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { configSchema, signInProblems } from '../../control-plane/app/config.ts';
import { createApp } from '../../control-plane/http/app.ts';
import { createIssuer, type IssuerSettings } from '../../control-plane/access/issuer.ts';
import { type Answer, createRest, errorOf, type Rest } from './rest.ts';

/** Each test has a minute of its own, because an address may begin only a limited number of sign-ins in one. */
let start = new Date('2026-06-25T12:00:00.000Z');
const begin = '/acme/admin/session/oidc';
const session = '/acme/admin/session';
const publicUrl = 'http://127.0.0.1:8080';
const redirectUri = `${publicUrl}/api/v1/oidc/callback`;

let provider: OAuth2Server;
let rest: Rest;
/** The issuer's claims about the person who signs in. */
let claims: Readonly<Record<string, unknown>> = {};

const settings = (more: Partial<IssuerSettings> = {}): IssuerSettings => ({
  issuer: provider.issuer.url ?? '',
  clientId: 'tollgate',
  clientSecret: null,
  redirectUri,
  ...more,
});

beforeAll(async () => {
  provider = new OAuth2Server();
  await provider.issuer.keys.generate('RS256');
  await provider.start(0, '127.0.0.1');
  provider.issuer.url = `http://127.0.0.1:${provider.address().port}`;
  rest = await createRest({ issuer: createIssuer(settings()) });
  await rest.keyOf('admin', ['*'], 'ann');
  await rest.keyOf('member', ['*'], 'max');
  await rest.keyOf('member', ['*'], 'kim');
});
afterAll(async () => {
  await rest.close();
  await provider.stop();
});
beforeEach(() => {
  start = new Date(start.getTime() + 61_000);
  rest.clock.now = start;
  claims = { sub: 'ann' };
  provider.service.on('beforeTokenSigning', ({ payload }: { payload: object }) => void Object.assign(payload, claims));
  provider.service.on('beforeUserinfo', (response) => void Object.assign(response, { body: { sub: claims['sub'] } }));
});
afterEach(() => provider.service.removeAllListeners());

const cookiesOf = ({ headers }: Answer): readonly string[] => [headers['set-cookie'] ?? []].flat().map(String);
const cookieOf = (answer: Answer, name: string): string =>
  cookiesOf(answer)
    .find((cookie) => cookie.startsWith(`${name}=`))
    ?.split(';', 1)[0] ?? '';
const locationOf = ({ headers }: Answer): URL => new URL(String(headers['location']), publicUrl);
const visit = (url: string, cookie = '') => rest.ask('GET', url, { key: null, headers: cookie === '' ? {} : { cookie } });

/** To the issuer, whose page redirects the browser back immediately. */
async function signInAt(url = begin): Promise<{ readonly cookie: string; readonly back: string }> {
  const begun = await visit(url);
  expect(begun.status).toBe(302);
  const { headers } = await request(locationOf(begun));
  const back = new URL(String(headers['location']));
  expect(back.origin + back.pathname).toBe(redirectUri);
  return { cookie: cookieOf(begun, 'tollgate_sign_in'), back: back.pathname + back.search };
}

async function signIn(url = begin): Promise<Answer> {
  const { cookie, back } = await signInAt(url);
  return visit(back, cookie);
}

const signedIn = async (said: Readonly<Record<string, unknown>>): Promise<Answer> => {
  claims = said;
  const answer = await signIn();
  expect(answer.status).toBe(302);
  return visit(session, cookieOf(answer, 'tollgate_session'));
};

describe('the redirect to the issuer', () => {
  test('uses the code flow with PKCE, state and nonce, and a short cookie for the return path only', async () => {
    const begun = await visit(begin);
    const to = locationOf(begun);
    expect(to.origin).toBe(provider.issuer.url);
    expect(Object.fromEntries(to.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'tollgate',
      redirect_uri: redirectUri,
      scope: 'openid email',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(cookiesOf(begun)).toEqual([
      expect.stringMatching(/^tollgate_sign_in=[\w-]{43}; Max-Age=600; Path=\/api\/v1\/oidc\/callback; HttpOnly; SameSite=Lax$/),
    ]);
    const { rows } = await rest.pool.query(`select string_agg(t::text, ' ') as all_text from sign_in t`);
    for (const secret of [to.searchParams.get('state') ?? '', cookieOf(begun, 'tollgate_sign_in').split('=')[1] ?? ''])
      expect(JSON.stringify(rows)).not.toContain(secret);
  });

  test('looks the same for a workspace that does not exist; for an impossible slug it is 400', async () => {
    expect((await visit('/absent/admin/session/oidc')).status).toBe(302);
    expect((await visit('/No-Slug/admin/session/oidc')).status).toBe(400);
  });

  test.each([
    '//evil.test',
    '/\\evil.test',
    '\\\\evil.test',
    'https://evil.test/',
    'evil.test',
    '',
    'javascript:alert(1)',
    '/\t/evil.test',
    '/a b',
    '/ü',
  ])('with a return address of %j, which would leave this server, is 400', async (path) => {
    expect((await visit(`${begin}?return=${encodeURIComponent(path)}`)).status).toBe(400);
  });

  test('with a return path of more than 2,048 characters is 400', async () => {
    expect((await visit(`${begin}?return=/${'a'.repeat(2_047)}`)).status).toBe(302);
    expect((await visit(`${begin}?return=/${'a'.repeat(2_048)}`)).status).toBe(400);
  });

  test('with an unknown parameter, or one given twice, is 400', async () => {
    for (const query of ['next=/x', 'return=/a&return=/b']) expect((await visit(`${begin}?${query}`)).status).toBe(400);
  });

  test('ten thousand are kept: the oldest is evicted when another begins, and no client keeps others from signing in', async () => {
    await rest.pool.query('delete from sign_in');
    await rest.pool.query(
      `insert into sign_in select 'full' || n, 'b', 'acme', 'v', 'n', '/', $1::timestamptz + n * interval '1 ms' from generate_series(1, 10000) n`,
      [start],
    );
    expect((await signIn()).status).toBe(302);
    const { rows } = await rest.pool.query(
      "select count(*)::int as kept, min(expires_at) as oldest from sign_in where state_hash like 'full%'",
    );
    expect(rows).toEqual([{ kept: 9_999, oldest: new Date(start.getTime() + 2) }]);
    await rest.pool.query('delete from sign_in');
  });

  test('for a workspace that does not exist, only the slug is stored of what its sender chose', async () => {
    await rest.pool.query('delete from sign_in');
    await visit('/absent/admin/session/oidc?return=/long/way');
    expect((await rest.pool.query('select workspace, return_to from sign_in')).rows).toEqual([{ workspace: 'absent', return_to: '/' }]);
  });
});

describe('the return from the issuer', () => {
  test('gives a member a session, and redirects them to the requested page', async () => {
    const answer = await signIn(`${begin}?return=${encodeURIComponent('/console/agents?x=1#y')}`);
    expect(answer).toMatchObject({ status: 302, headers: { location: '/console/agents?x=1#y' } });
    expect((await signIn()).headers['location']).toBe('/console/');
    const [opened, cleared] = cookiesOf(answer);
    expect(opened).toMatch(/^tollgate_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(cleared).toMatch(/^tollgate_sign_in=;/);
    const { body } = await visit(session, cookieOf(answer, 'tollgate_session'));
    expect(body).toEqual({
      ok: true,
      sub: 'ann',
      uid: 'ann',
      email: 'ann@acme.test',
      role: 'admin',
      scopes: ['*'],
      workspace: 'acme',
      expiresAt: new Date(start.getTime() + 12 * 3_600_000).toISOString(),
      csrf: expect.any(String),
    });
  });

  test('changes nothing of the workspace: no revision, no event', async () => {
    const revision = async () => (await rest.pool.query("select revision from workspace where slug = 'acme'")).rows;
    const before = await revision();
    await signIn();
    expect(await revision()).toEqual(before);
  });

  test.each([
    ['by their uid', { sub: 'max' }, 'max'],
    ['by both', { sub: 'max', email: 'max@acme.test', email_verified: true }, 'max'],
    ['by their uid, with an unknown e-mail', { sub: 'max', email: 'else@acme.test', email_verified: true }, 'max'],
    ['by their e-mail, with a sub that can be no uid', { sub: '\u0000', email: 'ann@acme.test', email_verified: true }, 'ann'],
    ['by their verified e-mail, in any case', { sub: '00u1', email: 'ANN@Acme.Test', email_verified: true }, 'ann'],
  ])('a member is recognised %s', async (_, said, uid) => {
    expect((await signedIn(said)).body).toMatchObject({ uid });
  });

  test('an e-mail that only userinfo returns is accepted too', async () => {
    provider.service.once('beforeUserinfo', (response) => {
      response.body = { sub: '00u1', email: 'max@acme.test', email_verified: true };
    });
    expect((await signedIn({ sub: '00u1' })).body).toMatchObject({ uid: 'max' });
  });

  test.each([
    ['absent', { sub: 'outsider', email: 'outsider@acme.test', email_verified: true }],
    ['an e-mail that is not verified', { sub: '00u1', email: 'ann@acme.test', email_verified: false }],
    ['an e-mail of which nothing is said', { sub: '00u1', email: 'ann@acme.test' }],
    ['one member by uid and another by e-mail', { sub: 'max', email: 'ann@acme.test', email_verified: true }],
    ['an e-mail that folds to a member’s outside ASCII only', { sub: '00u1', email: '\u212Aim@acme.test', email_verified: true }],
    ['an e-mail with a NUL', { sub: '00u1', email: 'ann@acme.test\u0000', email_verified: true }],
    ['an e-mail that is none', { sub: '00u1', email: 'ann', email_verified: true }],
    ['a sub with a NUL', { sub: 'ann\u0000' }],
    ['an e-mail verified in other words', { sub: '00u1', email: 'ann@acme.test', email_verified: 'true' }],
  ])('%s is 403, and no member is provisioned', async (_, said) => {
    claims = said;
    const answer = await signIn();
    expect(answer.status).toBe(403);
    expect(errorOf(answer)).toContain('member');
    expect(cookieOf(answer, 'tollgate_session')).toBe('');
    expect((await rest.pool.query('select 1 from member where uid in ($1, $2)', ['outsider', '00u1'])).rowCount).toBe(0);
  });

  test('two members with one e-mail are 403: the answer does not say which', async () => {
    const two = [
      { uid: 'twin-1', email: 'twin@acme.test', role: 'member' },
      { uid: 'twin-2', email: 'TWIN@acme.test', role: 'member' },
    ];
    const [first, second] = await Promise.all(two.map((body) => rest.ask('POST', '/acme/admin/members', { body })));
    expect([first?.status, second?.status].toSorted((a, b) => Number(a) - Number(b))).toEqual([200, 409]);
    // Such members may exist in a database that is older than the rule.
    await rest.pool.query("delete from member where uid like 'twin-%'");
    for (const { uid, email } of two)
      await rest.pool.query(
        "insert into member (workspace_id, uid, email, role, created_at) select id, $1, $2, 'member', now() from workspace where slug = 'acme'",
        [uid, email],
      );
    claims = { sub: '00u2', email: 'twin@acme.test', email_verified: true };
    expect((await signIn()).status).toBe(403);
    expect((await signedIn({ sub: 'twin-2' })).body).toMatchObject({ uid: 'twin-2' });
  });

  test('a member of another workspace is unknown here, with the same text as for a missing workspace', async () => {
    claims = { sub: 'olga', email: 'olga@other.test', email_verified: true };
    const here = await signIn();
    expect(here.status).toBe(403);
    expect((await signIn('/absent/admin/session/oidc')).body).toEqual(here.body);
    expect((await signIn('/other/admin/session/oidc')).status).toBe(302);
  });
});

describe('a session that is bound to a member', () => {
  const open = async (sub: string) => {
    claims = { sub };
    const cookie = cookieOf(await signIn(), 'tollgate_session');
    const { csrf } = Object((await visit(session, cookie)).body) as { readonly csrf: string };
    return { cookie, headers: { cookie, 'x-csrf-token': csrf } };
  };

  test('of an owner or admin reads the audit log, of a member does not; a member may do all else that members may', async () => {
    const admin = await open('ann');
    const member = await open('max');
    expect((await visit('/acme/admin/audit', admin.cookie)).status).toBe(200);
    const refused = await visit('/acme/admin/audit', member.cookie);
    expect(refused).toMatchObject({ status: 403, body: { error: 'this session lacks the scope admin.audit.read' } });
    for (const url of ['/api/v1/agents', '/acme/admin/workspacePolicy', '/acme/admin/userPolicies/max'])
      expect((await visit(url, member.cookie)).status).toBe(200);
    expect((await visit('/acme/admin/members', member.cookie)).status).toBe(403);
    const own = { key: null, headers: member.headers, body: { defaults: { api: { permission: 'deny' } } } };
    expect((await rest.ask('PUT', '/acme/admin/userPolicies/max', own)).status).toBe(200);
    expect((await rest.ask('PUT', '/acme/admin/userPolicies/ann', own)).status).toBe(403);
  });

  test('leaves events that name it, and issues keys that outlive it', async () => {
    const { headers } = await open('ann');
    const made = await rest.ask('POST', '/acme/admin/keys', { key: null, headers, body: { name: 'by-session', scopes: ['*'] } });
    expect(made.status).toBe(200);
    const { body } = await rest.ask('GET', '/acme/admin/events?limit=1');
    expect(body).toMatchObject({ events: [{ sub: 'ann', keyId: expect.stringMatching(/^session:[A-Za-z0-9]{20}$/) }] });
    expect((await rest.ask('GET', '/acme/admin/keys')).body).toMatchObject({
      keys: expect.arrayContaining([expect.objectContaining({ name: 'by-session', madeBy: 'ann', uid: null, expiresAt: null })]),
    });
  });

  test('ends when the member’s e-mail is changed, and stays when nothing is', async () => {
    await rest.keyOf('member', ['*'], 'moving');
    const { cookie } = await open('moving');
    const patch = (email: string) => rest.ask('PATCH', '/acme/admin/members/moving', { body: { email } });
    expect((await patch('moving@acme.test')).status).toBe(200);
    expect((await visit(session, cookie)).status).toBe(200);
    expect((await patch('moved@acme.test')).status).toBe(200);
    expect((await visit(session, cookie)).status).toBe(401);
    expect((await rest.ask('GET', '/acme/admin/events?limit=1')).body).toMatchObject({
      events: [{ target: 'member/moving', detail: { role: 'member', fields: ['email'] } }],
    });
  });

  test('cannot be obtained with permission to write members only: not by another’s e-mail, not by a new owner', async () => {
    const key = await rest.keyOf('owner', ['members.write'], 'narrow');
    const asked = [
      await rest.ask('PATCH', '/acme/admin/members/owner', { key, body: { email: 'evil@acme.test' } }),
      await rest.ask('POST', '/acme/admin/members', { key, body: { uid: 'evil', email: 'evil@acme.test', role: 'owner' } }),
    ];
    for (const answer of asked)
      expect(answer).toMatchObject({
        status: 403,
        body: { error: expect.stringContaining('lacks the scope * and cannot grant it to a member') },
      });
    claims = { sub: 'evil', email: 'evil@acme.test', email_verified: true };
    expect((await signIn()).status).toBe(403);
  });

  test('has the member’s current role, and ends when they leave; a return restores none', async () => {
    await rest.keyOf('admin', ['*'], 'leaver');
    const { cookie } = await open('leaver');
    expect((await visit('/acme/admin/audit', cookie)).status).toBe(200);
    await rest.ask('PATCH', '/acme/admin/members/leaver', { body: { role: 'member' } });
    expect((await visit('/acme/admin/audit', cookie)).status).toBe(403);
    await rest.ask('DELETE', '/acme/admin/members/leaver');
    await rest.ask('POST', '/acme/admin/members', { body: { uid: 'leaver', email: 'l@acme.test', role: 'admin' } });
    expect((await visit(session, cookie)).status).toBe(401);
  });
});

describe('an invalid proof of identity', () => {
  test('a sign-in is accepted once', async () => {
    const { cookie, back } = await signInAt();
    expect((await visit(back, cookie)).status).toBe(302);
    expect((await visit(back, cookie)).status).toBe(400);
  });

  test('a sign-in is bound to its browser: a state without its cookie, or with another’s, is 400', async () => {
    const mine = await signInAt();
    const theirs = await signInAt();
    for (const cookie of ['', theirs.cookie, 'tollgate_sign_in=x']) expect((await visit(mine.back, cookie)).status).toBe(400);
    expect((await visit(mine.back, mine.cookie)).status).toBe(302);
  });

  test('an unknown state, a missing one, or two are 400', async () => {
    const { cookie, back } = await signInAt();
    for (const url of [
      back.replace(/state=[^&]+/, `state=${'a'.repeat(43)}`),
      back.replace(/&?state=[^&]+/, ''),
      `${back}&state=x`,
      '/api/v1/oidc/callback',
    ])
      expect((await visit(url, cookie)).status).toBe(400);
  });

  test('after ten minutes a sign-in has expired', async () => {
    const { cookie, back } = await signInAt();
    rest.clock.now = new Date(start.getTime() + 600_000);
    expect((await visit(back, cookie)).status).toBe(400);
  });

  test('a code of another sign-in is refused by PKCE or nonce', async () => {
    const mine = await signInAt();
    const theirs = await signInAt();
    const code = new URL(theirs.back, publicUrl).searchParams.get('code') ?? '';
    const answer = await visit(mine.back.replace(/code=[^&]+/, `code=${code}`), mine.cookie);
    expect([403, 502]).toContain(answer.status);
    expect(cookieOf(answer, 'tollgate_session')).toBe('');
  });

  test.each([
    ['another nonce', { nonce: 'other' }],
    ['another audience', { aud: 'another-person' }],
    ['another issuer', { iss: 'https://evil.test' }],
    ['an end in the past', { exp: 1_000 }],
  ])('a token with %s is 403', async (_, said) => {
    claims = { sub: 'ann', ...said };
    const answer = await signIn();
    expect(answer.status).toBe(403);
    expect(cookieOf(answer, 'tollgate_session')).toBe('');
  });

  test('a token whose signature is not the issuer’s is refused', async () => {
    provider.service.once('beforeResponse', (response) => {
      const body = response.body as { id_token: string };
      const [header, payload, signature = ''] = body.id_token.split('.');
      const forged = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
      response.body = { ...body, id_token: [header, payload, forged].join('.') };
    });
    expect((await signIn()).status).toBe(403);
  });

  test('a code that the issuer does not accept is 403', async () => {
    provider.service.once('beforeResponse', (response) => {
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
    });
    expect((await signIn()).status).toBe(403);
  });
});

describe('an issuer that refuses, or does not answer', () => {
  test.each([
    ['error=access_denied', 403, 'the issuer did not sign you in: access_denied'],
    ['error=login_required&error_description=%3Cb%3E', 403, 'the issuer did not sign you in: login_required'],
    ['error=%3Cscript%3E', 403, 'the issuer did not sign you in: an error with a name that is not valid'],
    ['error=temporarily_unavailable', 502, 'the issuer did not sign you in: temporarily_unavailable'],
  ])('%s is %i with the reason, and the sign-in is over', async (said, status, words) => {
    const { cookie, back } = await signInAt();
    const url = back.replace(/code=[^&]+/, said);
    expect(await visit(url, cookie)).toMatchObject({ status, body: { error: words } });
    expect((await visit(url, cookie)).status).toBe(400);
  });

  test('a token endpoint that fails is 502', async () => {
    provider.service.once('beforeResponse', (response) => {
      Object.assign(response, { statusCode: 500, body: { error: 'server_error' } });
    });
    expect((await signIn()).status).toBe(502);
  });

  const secrets = { state: 's', nonce: 'n', verifier: 'v', browser: 'b' };

  test('one that is not reachable is asked again at the next sign-in', async () => {
    const late = new OAuth2Server();
    await late.issuer.keys.generate('RS256');
    const port = await freePort();
    const issuer = createIssuer(settings({ issuer: `http://127.0.0.1:${port}` }));
    await expect(issuer.authorizationUrl(secrets)).rejects.toMatchObject({ code: 'upstream_failed' });
    await late.start(port, '127.0.0.1');
    late.issuer.url = `http://127.0.0.1:${port}`;
    expect((await issuer.authorizationUrl(secrets)).origin).toBe(`http://127.0.0.1:${port}`);
    await late.stop();
  });

  test('one that does not answer runs into the timeout', async () => {
    const silent = createServer((socket) => void socket.once('error', () => undefined).once('close', () => silent.close()));
    const port = await listening(silent);
    const issuer = createIssuer(settings({ issuer: `http://127.0.0.1:${port}`, timeoutMs: 100 }));
    await expect(issuer.authorizationUrl(secrets)).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  test('one that names itself differently is not followed', async () => {
    const issuer = createIssuer(settings({ issuer: `http://localhost:${provider.address().port}` }));
    await expect(issuer.authorizationUrl(secrets)).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  test('plain http beyond loopback is not followed', async () => {
    const issuer = createIssuer(settings({ issuer: 'http://issuer.test' }));
    await expect(issuer.authorizationUrl(secrets)).rejects.toMatchObject({
      code: 'upstream_failed',
      cause: { message: expect.stringContaining('without TLS') },
    });
  });
});

test('a client with a secret sends it to the issuer', async () => {
  const shown: unknown[] = [];
  provider.service.on('beforeResponse', (_response, { body }) => void shown.push(body));
  const app = createApp({ ...rest.deps, registry: new Registry(), issuer: createIssuer(settings({ clientSecret: 'hush' })) });
  const begun = await app.inject(begin);
  const { headers } = await request(String(begun.headers['location']));
  const { pathname, search } = new URL(String(headers['location']));
  const cookie = String(begun.headers['set-cookie']).split(';', 1)[0] ?? '';
  expect((await app.inject({ url: pathname + search, headers: { cookie } })).statusCode).toBe(302);
  expect(shown).toMatchObject([{ client_id: 'tollgate', client_secret: 'hush' }]);
  await app.close();
});

test('without an issuer both ends are 404', async () => {
  const app = createApp({ ...rest.deps, registry: new Registry(), issuer: null });
  for (const url of [begin, `/api/v1/oidc/callback?state=${'a'.repeat(43)}&code=x`]) expect((await app.inject(url)).statusCode).toBe(404);
  await app.close();
});

test('no state, code, token or verifier is in the log', async () => {
  const { cookie, back } = await signInAt();
  const opened = await visit(back, cookie);
  const secrets = [
    ...new URL(back, publicUrl).searchParams.values(),
    cookie.split('=')[1] ?? '',
    cookieOf(opened, 'tollgate_session').split('=')[1] ?? '',
  ];
  expect(secrets.length).toBeGreaterThan(3);
  for (const secret of secrets) expect(rest.lines.join('')).not.toContain(secret);
});

describe('the variables', () => {
  const problemsOf = (env: Readonly<Record<string, string>>): readonly string[] => {
    const read = readConfig(configSchema, env);
    return 'problems' in read ? read.problems : signInProblems(read.config);
  };
  const whole = {
    TOLLGATE_OIDC_ISSUER: 'https://issuer.test/realm',
    TOLLGATE_OIDC_CLIENT_ID: 'x',
    TOLLGATE_PUBLIC_URL: 'https://tollgate.test',
  };

  test.each([
    {},
    { TOLLGATE_PUBLIC_URL: 'http://localhost:8080' },
    whole,
    { ...whole, TOLLGATE_OIDC_ISSUER: 'http://[::1]:9000', TOLLGATE_PUBLIC_URL: 'https://t.test:8443/' },
  ])('%j are valid together', (env) => {
    expect(problemsOf(env)).toEqual([]);
  });

  test.each([
    [
      { TOLLGATE_OIDC_ISSUER: whole.TOLLGATE_OIDC_ISSUER },
      ['TOLLGATE_OIDC_ISSUER needs TOLLGATE_PUBLIC_URL', 'TOLLGATE_OIDC_ISSUER needs TOLLGATE_OIDC_CLIENT_ID'],
    ],
    [{ TOLLGATE_OIDC_CLIENT_SECRET: 'x' }, ['TOLLGATE_OIDC_CLIENT_SECRET needs TOLLGATE_OIDC_ISSUER']],
    [{ ...whole, TOLLGATE_OIDC_ISSUER: 'http://issuer.test' }, [expect.stringContaining('TOLLGATE_OIDC_ISSUER must begin with https://')]],
    [{ ...whole, TOLLGATE_PUBLIC_URL: 'http://tollgate.test' }, [expect.stringContaining('TOLLGATE_PUBLIC_URL must begin with https://')]],
    [{ ...whole, TOLLGATE_OIDC_ISSUER: 'https://me:pw@issuer.test' }, ['TOLLGATE_OIDC_ISSUER must hold no user and no password']],
    [
      { ...whole, TOLLGATE_PUBLIC_URL: 'https://tollgate.test/sub' },
      [expect.stringContaining('TOLLGATE_PUBLIC_URL must be scheme, host and port')],
    ],
  ])('%j are not', (env, problems) => {
    expect(problemsOf(env)).toEqual(problems);
  });
});

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    }),
  );

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await new Promise((done) => server.close(done));
  return port;
}
