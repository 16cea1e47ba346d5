// What would make Cline run a session without our plugin is found, in the environment and in the process that serves
// its sessions. `npm run test:hosts` shows with Cline itself that it does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { whyClineLoadsNone } from '../../cli/hooks/cline-loads.ts';

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-cline-'));
  cleanups.push(() => rmSync(made, { recursive: true }));
  return made;
}

const withNode = { PATH: dirname(process.execPath) };
const limit = (ms: string): Readonly<Record<string, string>> => ({ CLINE_PLUGIN_IMPORT_TIMEOUT_MS: ms });

/** Asks as in a home whose data is in `data`. */
const why = (env: Readonly<Record<string, string>>, data = folder()): Promise<readonly string[]> =>
  whyClineLoadsNone({ env, home: data, cwd: data }, data);

/** A process as the one that serves Cline's sessions, or another, named by the record of that one. */
async function served(env: Readonly<Record<string, string>>): Promise<{ readonly data: string; readonly pid: number }> {
  const data = folder();
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => undefined, 1000)'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  cleanups.push(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  // It has its environment only once it runs.
  await once(child.stdout, 'data');
  mkdirSync(join(data, 'locks/hub'), { recursive: true });
  writeFileSync(join(data, 'locks/hub/production.json'), JSON.stringify({ pid: child.pid, port: 25_463 }));
  return { data, pid: child.pid ?? 0 };
}

test.each([
  ['Node on PATH', withNode],
  ['a longer limit', { ...withNode, ...limit('60000') }],
  ['a limit that Cline ignores', { ...withNode, ...limit('soon') }],
  ['a runtime by its path', { CLINE_JS_RUNTIME_PATH: process.execPath }],
  ['a runtime that npm names', { npm_node_execpath: '/opt/bin/node' }],
])('%s is no reason', async (_, env) => {
  expect(await why(env)).toEqual([]);
});

test.each([
  ['a limit shorter than the standard one', { ...withNode, ...limit('100') }, 'if loading takes 100 ms'],
  ['no runtime', { PATH: '/nowhere' }, 'node is not on PATH'],
  ['a variable with another program', { PATH: '/nowhere', NODE: '/opt/bin/deno' }, 'node is not on PATH'],
  ['a runtime that does not exist', { ...withNode, CLINE_JS_RUNTIME_PATH: '/nowhere/node' }, '/nowhere/node, which does not exist'],
])('%s is a reason', async (_, env, words) => {
  expect(await why(env)).toEqual([expect.stringContaining(words)]);
});

const hub = { CLINE_RUN_AS_HUB_DAEMON: '1' };

test('a process that serves sessions with a shorter limit is named, and how to end it', async () => {
  const { data, pid } = await served({ ...withNode, ...hub });
  expect(await why({ ...withNode, ...limit('60000') }, data)).toEqual([expect.stringMatching(`process ${pid} .* 4000 ms .* kill ${pid}$`)]);
  expect(await why(withNode, data)).toEqual([]);
});

test('a process that serves sessions without a runtime is named', async () => {
  const { data, pid } = await served({ PATH: '/nowhere', ...hub });
  expect(await why(withNode, data)).toEqual([expect.stringMatching(`process ${pid} .* node is not on PATH`)]);
});

test('the record of a process that has ended, or of another program, is no reason', async () => {
  const { data } = await served({ PATH: '/nowhere' });
  expect(await why(withNode, data)).toEqual([]);
  for (const text of ['', '{"pid": "1"}', '{"pid": -1}', '[]']) {
    writeFileSync(join(data, 'locks/hub/production.json'), text);
    expect(await why(withNode, data)).toEqual([]);
  }
});
