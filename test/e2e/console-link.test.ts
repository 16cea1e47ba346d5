// The link into the console, as a person meets it: printed where a control plane starts on a terminal, and nowhere else.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { startControlPlane } from '../support/programs.ts';
import { startOnTerminal } from '../support/start-on-terminal.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders: string[] = [];
const ends: (() => Promise<unknown>)[] = [];

beforeAll(() => {
  // Only if its sources have changed.
  const { status, stderr } = spawnSync(process.execPath, ['console/build.js'], { cwd: root, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-link-'));
  folders.push(made);
  return made;
}

const ownerKey = `gsk_default_${'k'.repeat(40)}`;

const exchange = async (link: URL) => {
  const token = new URLSearchParams(link.hash.slice(1)).get('link');
  const answer = await fetch(new URL('/api/v1/session/link', link), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return {
    status: answer.status,
    cookie: answer.headers.get('set-cookie') ?? '',
    body: (await answer.json()) as Readonly<Record<string, unknown>>,
  };
};

test('on a terminal a link is printed, which opens the console once, and its token is in no file', async () => {
  const dataDir = folder();
  const { printed, end } = await startOnTerminal({ TOLLGATE_DATA_DIR: dataDir, TOLLGATE_OWNER_KEY: ownerKey });
  ends.push(end);
  await expect.poll(() => /http:\/\/127\.0\.0\.1:\d+\/console\/#link=[\w-]{43}/.exec(printed())?.[0], { timeout: 20_000 }).toBeDefined();
  const link = new URL(/http:\/\/\S+#link=[\w-]{43}/.exec(printed())?.[0] ?? '');
  expect((await fetch(link)).status).toBe(200);
  const opened = await exchange(link);
  expect(opened).toMatchObject({ status: 200, body: { workspace: 'default', sub: 'owner' } });
  const cookie = opened.cookie.split(';', 1)[0] ?? '';
  expect((await fetch(new URL('/api/v1/session', link), { headers: { cookie } })).status).toBe(200);
  expect(await exchange(link)).toMatchObject({ status: 403, cookie: '', body: { error: expect.stringContaining('was used already') } });
  const token = link.hash.slice('#link='.length);
  expect(printed().split(token)).toHaveLength(2);
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(token))).toEqual([]);
});

test('into a pipe no link is printed', async () => {
  const plane = await startControlPlane({ TOLLGATE_DATA_DIR: folder(), TOLLGATE_OWNER_KEY: ownerKey });
  ends.push(() => plane.end('SIGTERM'));
  expect((await fetch(`${plane.rest}/console/`)).status).toBe(200);
  expect([...plane.announced.keys()]).not.toContain('console');
  expect(plane.log()).not.toContain('#link=');
});
