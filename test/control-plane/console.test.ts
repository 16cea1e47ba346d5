// The static files of the console, built and not built.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastify, type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fileURLToPath } from 'node:url';
import { addConsole, isConsoleBuilt } from '../../control-plane/http/console.ts';
import { createRest, type Rest } from './rest.ts';

const parent = mkdtempSync(join(tmpdir(), 'tollgate-console-'));
const built = join(parent, 'dist');
const script = 'console.log("console")\n';

async function serve(folder: string | null): Promise<FastifyInstance> {
  const app = fastify();
  await app.register(async (api) => addConsole(api, folder));
  await app.ready();
  return app;
}

let app: FastifyInstance;
let without: FastifyInstance;
beforeAll(async () => {
  mkdirSync(join(built, 'assets'), { recursive: true });
  writeFileSync(
    join(built, 'index.html'),
    '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__"><div id="root"></div><script type="module" src="/console/assets/main-abc123.js"></script>',
  );
  writeFileSync(join(built, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  writeFileSync(join(built, '.sources'), 'digest');
  writeFileSync(join(built, 'assets', 'main-abc123.js'), script);
  writeFileSync(join(parent, 'secret.txt'), 'secret');
  app = await serve(built);
  without = await serve(join(parent, 'missing'));
});
afterAll(async () => {
  await app.close();
  await without.close();
  rmSync(parent, { recursive: true });
});

const get = (url: string, method: 'GET' | 'HEAD' = 'GET') => app.inject({ method, url });

describe('the built console', () => {
  test('each answer of the page has a nonce of its own, in the policy and in the page', async () => {
    const nonces = new Set<string>();
    for (let time = 0; time < 5; time += 1) {
      const { statusCode, headers, body } = await get('/console/');
      const policy = String(headers['content-security-policy']);
      const nonce = /style-src 'self' 'nonce-([A-Za-z0-9+/]{22}==)'/.exec(policy)?.[1] ?? '';
      expect(statusCode).toBe(200);
      expect(body).toContain(`content="${nonce}"`);
      expect(body).not.toContain('__CSP_NONCE__');
      nonces.add(nonce);
    }
    expect(nonces.size).toBe(5);
    expect(nonces).not.toContain('');
  });

  test('the policy permits no script but its own files, and no other host', async () => {
    const { headers } = await get('/console/');
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  });

  test('a hashed file is kept for ever, and the page never', async () => {
    const { statusCode, headers, body } = await get('/console/assets/main-abc123.js');
    expect([statusCode, body]).toEqual([200, script]);
    expect(headers).toMatchObject({ 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' });
    expect(String(headers['content-type'])).toMatch(/javascript/);
    expect((await get('/console/icon.svg')).headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-security-policy': "default-src 'none'",
    });
  });

  test('HEAD answers the same headers and no body', async () => {
    for (const url of ['/console/', '/console/assets/main-abc123.js', '/console/audit']) {
      const { statusCode, headers, body } = await get(url, 'HEAD');
      expect([url, statusCode, body]).toEqual([url, 200, '']);
      expect(headers['cache-control']).toBe((await get(url)).headers['cache-control']);
    }
  });

  test('/console leads to /console/, and every other path below it is the page', async () => {
    expect(await get('/console')).toMatchObject({ statusCode: 308, headers: { location: '/console/' } });
    for (const url of [
      '/console/audit',
      '/console/calls/a%2Fb',
      '/console/anything/at/all?x=1',
      '/console/.sources',
      '/console/index.html',
    ]) {
      const { statusCode, body, headers } = await get(url);
      expect([url, statusCode]).toEqual([url, 200]);
      expect(body).toContain('id="root"');
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
    }
  });

  test.each([
    '/console/assets/../../secret.txt',
    '/console/assets/..%2F..%2Fsecret.txt',
    '/console/assets/%2e%2e/%2e%2e/secret.txt',
    '/console/assets/..%5c..%5csecret.txt',
    '/console/assets//etc/passwd',
    '/console/assets/../.sources',
    '/console/..%2f..%2fsecret.txt',
    '/console/assets/%00',
  ])('no file outside of its folder is read: %s', async (url) => {
    const { body } = await get(url);
    expect(body).not.toContain('secret\n');
    expect(body).not.toBe('secret');
    expect(body).not.toContain('root:');
    expect(body).not.toContain('digest');
  });
});

describe('without a build', () => {
  test('every path says how to build it, and /console still leads there', async () => {
    for (const url of ['/console/', '/console/audit', '/console/assets/main-abc123.js']) {
      const { statusCode, headers, body } = await without.inject(url);
      expect([url, statusCode, headers['content-type']]).toEqual([url, 503, 'text/plain; charset=utf-8']);
      expect(body).toContain('npm run console');
    }
    expect((await without.inject('/console')).statusCode).toBe(308);
  });

  test('neither a missing folder nor a missing package counts as built', () => {
    expect([built, join(parent, 'missing'), null].map(isConsoleBuilt)).toEqual([true, false, false]);
  });
});

describe('a build that is not whole', () => {
  let rest: Rest | null = null;
  afterEach(async () => {
    await rest?.close();
    rest = null;
  });

  /** A copy of the build, with one change. */
  const broken = (change: (folder: string) => void): string => {
    const folder = mkdtempSync(join(parent, 'broken-'));
    cpSync(built, folder, { recursive: true });
    change(folder);
    return folder;
  };
  const without = (name: string) => (folder: string) => rmSync(join(folder, name), { recursive: true });

  test.each([
    ['the package is not installed', () => null, '@tollgate/console is not installed'],
    ['nothing was built', () => join(parent, 'missing'), 'index.html cannot be read'],
    ['the folder is empty', () => mkdtempSync(join(parent, 'empty-')), 'index.html cannot be read'],
    ['the page is missing', () => broken(without('index.html')), 'index.html cannot be read'],
    ['the script is missing', () => broken(without('assets/main-abc123.js')), 'main-abc123.js cannot be read'],
    ['the scripts are missing', () => broken(without('assets')), 'main-abc123.js cannot be read'],
    ['the icon is missing', () => broken(without('icon.svg')), 'icon.svg cannot be read'],
    [
      'the page is a folder',
      () =>
        broken((folder) => {
          rmSync(join(folder, 'index.html'));
          mkdirSync(join(folder, 'index.html'));
        }),
      'index.html cannot be read',
    ],
  ])('%s: the control plane starts and serves its API, and / leads to what is missing', async (_name, make, words) => {
    const folder = make();
    expect(isConsoleBuilt(folder)).toBe(false);
    rest = await createRest({ consoleFolder: folder });
    expect((await rest.ask('GET', '/acme/admin/audit')).status).toBe(200);
    const answer = await fetch(new URL('/', rest.origin));
    expect([new URL(answer.url).pathname, answer.status]).toEqual(['/console/', 503]);
    const text = await answer.text();
    expect(text).toContain(words);
    expect(text).toContain('npm run console');
    expect((await fetch(new URL('/console/assets/main-abc123.js', rest.origin))).status).toBe(503);
  });

  test('what cannot be built is said, and is a failure only without --or-without', () => {
    const folder = join(mkdtempSync(join(parent, 'checkout-')), 'console');
    mkdirSync(folder);
    // It has no vite.
    for (const name of ['console/build.js', 'package-lock.json'])
      cpSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), join(folder, '..', name));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    const build = (...flags: readonly string[]) => spawnSync(process.execPath, [join(folder, 'build.js'), ...flags], { encoding: 'utf8' });
    for (const [flags, status] of [
      [['--or-without'], 0],
      [[], 1],
    ] as const) {
      const ended = build(...flags);
      expect(ended.stderr).toContain('the console was not built; without it, /console answers 503 and everything else works');
      expect(ended.status).toBe(status);
    }
  });
});
