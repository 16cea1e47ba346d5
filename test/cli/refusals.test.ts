// What a person reads after an error: what is wrong, where, and what would be correct; never a stack or a key.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { type Circumstances, closedOrigin, createCli, folder, type Ran, run } from './cli.ts';

const key = `gsk_acme_${'s'.repeat(40)}`;

async function listen(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const serve = async (listener: RequestListener): Promise<string> => `http://127.0.0.1:${await listen(createServer(listener))}`;

const answering = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<string> =>
  serve((_request, response) => void response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body)));

async function list(origin: string, words: readonly string[] = ['members', 'list'], circumstances: Circumstances = {}): Promise<Ran> {
  const ran = await createCli(origin, key)(words, circumstances);
  expect(ran.out + ran.err).not.toContain('ssss');
  expect(ran.err).not.toMatch(/^ +at .*:\d+/m);
  return ran;
}

describe('the network', () => {
  test('a refused connection names the address and how to start a control plane', async () => {
    const origin = await closedOrigin();
    expect(await list(origin)).toEqual({
      code: 1,
      out: '',
      err: `tollgate: no program listens at ${origin}\n  start a control plane with npm start or tollgate-control-plane start, or give another address with --url\n`,
    });
  });

  test('a missing answer ends with the time limit', async () => {
    const origin = await serve(() => undefined);
    expect(await list(origin, ['members', 'list', '--timeout', '0.05'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('did not answer within 0.05 s; a longer limit is set with --timeout <seconds>'),
    });
    expect(await list(origin, ['members', 'list', '--timeout', 'long'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('--timeout must be a number of seconds'),
    });
  });

  test('a connection that is cut is reported as that', async () => {
    const origin = await serve((request) => request.socket.destroy());
    expect(await list(origin)).toMatchObject({ code: 1, err: expect.stringContaining('closed the connection') });
  });

  test.each([
    ['is cut', (): Promise<string> => serve((request) => request.socket.destroy()), 'closed the connection'],
    ['is late', (): Promise<string> => serve(() => undefined), 'did not answer within 0.2 s'],
  ])(
    'after a write whose answer %s a message says that it may have been executed, and where to look; after a read it does not',
    async (_what, lost, words) => {
      const origin = await lost();
      const perhaps = 'the request may have been executed nevertheless: check with tollgate events';
      const dryRun = ['policy', 'apply', '--dry-run', '-f', '-'];
      for (const write of [['freeze'], ['keys', 'create', 'x', '--scope', '*'], ['members', 'remove', 'ann']])
        expect((await list(origin, [...write, '--timeout', '0.2'])).err).toMatch(new RegExp(`${words}.*\\n {2}${perhaps}`));
      for (const read of [['members', 'list'], dryRun, ['explain', '--tool', 'x', '--tier', 'api', '--role', 'member']]) {
        const { err } = await list(origin, [...read, '--timeout', '0.2'], { stdin: 'workspacePolicy: {}' });
        expect(err).toContain(words);
        expect(err).not.toContain('may have been executed');
      }
    },
  );

  test('a connection that is cut after an answer came is not reported as a TLS port', async () => {
    let asked = 0;
    const origin = await serve((request, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(503, { 'retry-after': '0' }).end('{"error":"busy"}');
      else request.socket.destroy();
    });
    expect((await list(origin)).err).toMatch(/closed the connection \(\w+\)\n$/);
    expect((await list(await serve((request) => request.socket.destroy()))).err).toContain('if the port uses TLS');
  });

  test('an untrusted certificate is reported with the way to trust it, and so is TLS to a plain port', needs('openssl'), async () => {
    const where = folder();
    const [keyFile, certFile] = [join(where, 'key.pem'), join(where, 'cert.pem')];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-keyout',
        keyFile,
        '-out',
        certFile,
        '-subj',
        '/CN=localhost',
        '-days',
        '2',
      ],
      { stdio: 'ignore' },
    );
    const port = await listen(
      createTlsServer({ key: readFileSync(keyFile), cert: readFileSync(certFile) }, (_request, response) => response.end('{}')),
    );
    expect(await list(`https://127.0.0.1:${port}`)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/TLS connection .* failed \(DEPTH_ZERO_SELF_SIGNED_CERT\)\n.*NODE_EXTRA_CA_CERTS/),
    });
    const plain = await answering(200, {});
    expect(await list(plain.replace('http', 'https'))).toMatchObject({ code: 1, err: expect.stringContaining('use http://') });
  });
});

describe('an answer that is not ours', () => {
  test.each([
    ['a web page', 200, '<html>hello</html>'],
    ['a list', 200, '[]'],
    ['an error page', 502, '<html>Bad Gateway</html>'],
    ['an object without what was asked for', 200, '{}'],
  ])('%s is reported as that', async (_what, status, body) => {
    expect(await list(await answering(status, body))).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/the answer is not the JSON|must have the field "members" with a list, but it has no such field/),
    });
  });

  test.each([
    ['audit', 'export'],
    ['audit', 'tail'],
    ['simulate', '-f', '-'],
  ])('a web page is no answer to %s %s', async (...words) => {
    const origin = await answering(200, '<html>hello</html>', { 'content-type': 'text/html' });
    expect(await list(origin, words, { stdin: 'workspacePolicy: {}' })).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('check that the URL is the REST address of a control plane'),
    });
  });

  test('a redirect is not followed with the key', async () => {
    const asked: (string | undefined)[] = [];
    const elsewhere = await serve((request, response) => {
      asked.push(request.headers.authorization);
      response.end('{}');
    });
    expect(await list(await answering(307, '', { location: `${elsewhere}/x` }))).toMatchObject({
      code: 1,
      err: expect.stringContaining(`redirects to ${elsewhere}/x`),
    });
    expect(asked).toEqual([]);
  });
});

describe('refusals', () => {
  test.each([
    [401, { error: 'the key is not known' }, ['does not accept TOLLGATE_KEY: the key is not known', 'ask for a new key']],
    [
      403,
      { error: 'members are for owners' },
      ['the control plane does not permit this request with TOLLGATE_KEY: members are for owners', 'GET /acme/admin/members'],
    ],
    [404, { error: 'there is no such path' }, ['does not know the request GET /acme/admin/members; the control plane may be older']],
    [404, { error: 'there is no such thing' }, ['there is no such thing', 'the request was GET /acme/admin/members']],
    [409, { error: 'it is there already' }, ['tollgate: it is there already']],
    [412, { error: 'the revision is 7' }, ['the revision is 7', 'another request has changed the object in the meantime']],
    [400, { error: 'a; b', details: ['a', 'b'] }, ['GET /acme/admin/members is rejected\n  a\n  b']],
    [500, { error: 'internal error' }, ['failed at GET /acme/admin/members with 500: internal error']],
  ])('%i says what is wrong, where, and what would be correct', async (status, body, words) => {
    const ran = await list(await answering(status, body));
    expect(ran).toMatchObject({ code: 1, out: '' });
    for (const word of words) expect(ran.err).toContain(word);
  });

  test('control characters of an error do not reach the terminal', async () => {
    const { err } = await list(await answering(400, { error: 'bad \u001b[2J \u009b', details: ['x', '\u0007'] }));
    expect(err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

describe('a response with Retry-After', () => {
  const busy = async (times: number, status: number, headers: Readonly<Record<string, string>> = {}) => {
    const asked: string[] = [];
    const origin = await serve((request, response) => {
      asked.push(request.method ?? '');
      if (asked.length <= times) response.writeHead(status, headers).end('{"error":"too many requests"}');
      else response.end('{"members":[],"ok":true}');
    });
    return { origin, asked };
  };
  const waits = () => {
    const ms: number[] = [];
    return { ms, wait: async (one: number) => void ms.push(one) };
  };

  test('a read waits as long as the response says, at most three times', async () => {
    const { ms, wait } = waits();
    const { origin, asked } = await busy(3, 429, { 'retry-after': '2' });
    expect(await list(origin, ['members', 'list'], { wait })).toMatchObject({ code: 0 });
    expect({ asked: asked.length, ms }).toEqual({ asked: 4, ms: [2_000, 2_000, 2_000] });
  });

  test('after that it is an error, which says when to retry', async () => {
    const { ms, wait } = waits();
    const { origin } = await busy(9, 503, { 'retry-after': '1' });
    expect(await list(origin, ['members', 'list'], { wait })).toMatchObject({ code: 1, err: expect.stringContaining('try again in 1 s') });
    expect(ms).toHaveLength(3);
  });

  test('a wait that is too long is an error immediately', async () => {
    const { ms, wait } = waits();
    const { origin } = await busy(9, 429, { 'retry-after': '3600' });
    expect(await list(origin, ['members', 'list'], { wait })).toMatchObject({
      code: 1,
      err: expect.stringContaining('try again in 3600 s'),
    });
    expect(ms).toEqual([]);
  });

  test('a write is never sent twice', async () => {
    const { origin, asked } = await busy(1, 429, { 'retry-after': '1' });
    expect(await list(origin, ['freeze'])).toMatchObject({ code: 1, err: expect.stringContaining('try again in 1 s') });
    expect(asked).toEqual(['POST']);
  });
});

describe('usage', () => {
  test('without a key it says how to get one', async () => {
    expect(await run(['members', 'list'], { home: folder() })).toMatchObject({
      code: 1,
      err: expect.stringContaining('set TOLLGATE_KEY, or store one with tollgate profile add'),
    });
  });

  test('an invalid TOLLGATE_KEY is refused and not shown', async () => {
    const refused = await run(['members', 'list'], { env: { TOLLGATE_KEY: 'secret-secret', TOLLGATE_URL: 'http://127.0.0.1:1' } });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('TOLLGATE_KEY is not a') });
    expect(refused.err).not.toContain('secret-secret');
  });

  test('an operator key that a header cannot hold is refused and not shown', async () => {
    const refused = await run(['workspace', 'list'], {
      env: { TOLLGATE_OPERATOR_KEY: 'secret\nsecret', TOLLGATE_URL: 'http://127.0.0.1:1' },
    });
    expect(refused).toEqual({
      code: 1,
      out: '',
      err: 'tollgate: TOLLGATE_OPERATOR_KEY must contain only printable ASCII characters without spaces\n',
    });
  });

  test.each(['', '.', '..'])('%j names no key, member or workspace', async (name) => {
    const ran = await list('http://127.0.0.1:1', ['keys', 'revoke', name]);
    expect(ran).toMatchObject({
      code: 1,
      err: expect.stringContaining(`the given name or id is not valid: ${name === '' ? '(empty)' : name}`),
    });
  });

  test('a folder that cannot be written is named', async () => {
    const origin = await answering(200, { ok: true });
    const env = { XDG_CONFIG_HOME: '/dev/null' };
    const refused = await run(['profile', 'add', 'x', '--url', origin, '--key-stdin'], { env, stdin: key });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('/dev/null/tollgate') });
    expect(refused.err).not.toContain('mistake of tollgate');
  });

  test('a key is sent beyond this machine only with TLS, unless plain text is allowed', async () => {
    const env = { TOLLGATE_KEY: key, TOLLGATE_URL: 'http://tollgate.invalid' };
    expect(await run(['members', 'list'], { env })).toMatchObject({
      code: 1,
      err: expect.stringContaining('TOLLGATE_ALLOW_PLAINTEXT=true'),
    });
    expect(await run(['members', 'list'], { env: { ...env, TOLLGATE_ALLOW_PLAINTEXT: 'true' } })).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be resolved'),
    });
  });

  test('a mistyped command or option is refused with the nearest one', async () => {
    expect(await run(['polcy', 'diff'])).toEqual({
      code: 1,
      out: '',
      err: "tollgate: unknown command 'polcy'\n  (Did you mean policy?)\n  --help lists the commands and options\n",
    });
    expect((await run(['policy', 'aply'])).err).toMatch(/^tollgate: unknown command 'aply'\n {2}\(Did you mean apply\?\)\n {2}--help/);
    expect(await run(['audit', 'query', '--sinc', '1h'])).toMatchObject({ code: 1, err: expect.stringContaining('Did you mean --since?') });
    expect(await run(['members', 'remove'])).toMatchObject({ code: 1, err: expect.stringContaining("missing required argument 'uid'") });
    expect(await run(['freeze', 'now'])).toMatchObject({ code: 1, err: expect.stringContaining('too many arguments') });
  });

  test.each([[[]], [['policy']], [['audit']]])('%j alone is not a command: help on standard error, and 1', async (words) => {
    expect(await run(words)).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^Usage: tollgate(?:.*\n)+Commands:/) });
  });

  test('a day that does not exist is named with its option', async () => {
    for (const [option, words] of [
      ['--expires', ['keys', 'create', 'x', '--scope', '*']],
      ['--since', ['audit', 'query']],
      ['--until', ['audit', 'export']],
    ] as const)
      expect(await list('http://127.0.0.1:1', [...words, option, '2026-02-30'])).toMatchObject({
        code: 1,
        err: `tollgate: ${option} 2026-02-30 contains a day that does not exist\n`,
      });
  });

  test('--help documents the exit codes, --version says the version', async () => {
    expect(await run(['--help'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/Exit codes:\n {2}0 {2}done\n {2}1 .*\n {2}2 {2}there are differences/),
    });
    expect(await run(['--version'])).toEqual({ code: 0, out: '0.0.0-test\n', err: '' });
  });
});
