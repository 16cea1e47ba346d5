// The official Python SDK of MCP as a client of the proxy, for a call that policy asks a person for. Its packages, in the
// versions of mcp_client.txt, are installed into a folder of their own.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { overHttp, own, serversOf, startProxied, startSdkServer } from '../sidecar/doors/mcp/proxied.ts';
import { asking, createAsked } from '../support/asked.ts';

const run = promisify(execFile);
const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tollgate-python-'));
const python = join(folder, 'bin', 'python');

beforeAll(async () => {
  await run('python3', ['-m', 'venv', folder]);
  await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', pathOf('mcp_client.txt')]);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const modes = ['legacy', '2026-07-28'];

async function paying(mode: string) {
  const paid: unknown[] = [];
  const { url } = await startSdkServer(() => {
    const server = new McpServer({ name: 'bank', version: '1' });
    const inputSchema = fromJsonSchema({ type: 'object', properties: { amount: { type: 'number' } } });
    server.registerTool('pay', { inputSchema }, (args) => {
      paid.push(args);
      return { content: [{ type: 'text', text: 'paid' }] };
    });
    return server;
  });
  const asked = createAsked();
  const proxied = await startProxied(serversOf(overHttp('s', { url })), asking('s.pay'), undefined, asked);
  const lines = createInterface({
    input: spawn(python, [pathOf('mcp_client.py'), String(proxied.urlOf('s')), own, mode], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout,
  });
  return { ...asked, paid, lines };
}

test.each(modes)('%s: it waits with progress, and the call is made once when the person has approved', async (mode) => {
  const { ledger, paid, lines } = await paying(mode);
  const heard: unknown[] = [];
  for await (const line of lines) {
    heard.push(JSON.parse(line));
    if (heard.length === 1) {
      expect(paid).toEqual([]);
      ledger.approve('ap-1');
    }
  }
  expect(heard).toEqual([
    { progress: 0, message: expect.stringContaining('tollgate approvals show ap-1') },
    { isError: false, text: 'paid' },
  ]);
  expect(paid).toEqual([{ amount: 5 }]);
});

test.each(modes)('%s: after the time of the rule it reads what is waited for', async (mode) => {
  const { clock, paid, lines } = await paying(mode);
  const heard: unknown[] = [];
  for await (const line of lines) {
    heard.push(JSON.parse(line));
    if (heard.length === 1) clock.advance(300_000);
  }
  expect(heard.at(-1)).toEqual({ isError: true, text: expect.stringMatching(/approval_pending.*tollgate approvals show ap-1$/) });
  expect(paid).toEqual([]);
});
