// The process and its gateway file: problems are reported before anything listens, and without any secret.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyText } from '../../support/snapshots.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-gateway-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function start(path: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=tollgate-source', 'sidecar/app/main.ts'], {
    env: {
      PATH: process.env['PATH'],
      TOLLGATE_KEY: keyText('sidecar'),
      TOLLGATE_SPOOL_DIR: join(folder, 'spool'),
      TOLLGATE_GATEWAY_FILE: path,
      SECRET: 'the-secret\n',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

test('every problem of the file is reported with its place, and the process ends with 2', async () => {
  const path = join(folder, 'gateway.json');
  writeFileSync(path, JSON.stringify({ mcpServers: { one: { url: 'x', headers: { a: '${SECRET}' } }, two: { command: '${NOT_SET}' } } }));
  const { code, said } = await start(path);
  expect(code).toBe(2);
  expect(said).toBe(
    [
      'tollgate-sidecar cannot start:',
      `  TOLLGATE_GATEWAY_FILE ${path}: mcpServers.one.url must be a URL`,
      `  TOLLGATE_GATEWAY_FILE ${path}: mcpServers.one.headers["a"] must hold no control character`,
      `  TOLLGATE_GATEWAY_FILE ${path}: mcpServers.two.command names the variable NOT_SET, which is not set in the environment`,
      '',
    ].join('\n'),
  );
});

test('a missing file is reported', async () => {
  const path = join(folder, 'none.json');
  expect(await start(path)).toEqual({
    code: 2,
    said: `tollgate-sidecar cannot start:\n  TOLLGATE_GATEWAY_FILE ${path}: the file cannot be read (ENOENT)\n`,
  });
});
