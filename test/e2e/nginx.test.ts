// A real nginx that asks by `auth_request` at an HTTP tool, as docs/doors/http.md describes: in front of a server, with
// a sidecar that answers, denies, or is late.
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { own, startTool } from '../sidecar/doors/http/behind-the-gate.ts';
import { needs, nginxPath } from '../support/installed.ts';
import { ruleFor } from '../support/snapshots.ts';
import { listening } from './listening.ts';

async function startServer(): Promise<{ readonly port: number; readonly reached: string[] }> {
  const reached: string[] = [];
  const port = await listening((request, response) => {
    reached.push(`${request.method} ${request.url}`);
    response.end('from the server');
  });
  return { port, reached };
}

async function startNginx(sidecar: number, server: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const socket = join(folder, 'nginx.sock');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events {}
http {
  access_log off; ${temporary}
  server {
    listen unix:${socket};
    location / { auth_request /ask; proxy_pass http://127.0.0.1:${server}; }
    location = /ask {
      internal;
      proxy_pass http://127.0.0.1:${sidecar}/tools/billing$request_uri;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_read_timeout 1s;
    }
  }
}
`,
  );
  const child = spawn(nginxPath, ['-p', folder, '-c', 'nginx.conf'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    log += more;
  });
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await expect
    .poll(() => {
      if (child.exitCode !== null) throw new Error(`nginx has ended:\n${log}`);
      return asking(socket, '/ask').then(
        ({ status }) => status,
        () => 0,
      );
    })
    .toBe(404);
  return socket;
}

const asking = (socketPath: string, path = '/invoices?a=1'): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((done, fail) => {
    const asked = request({ socketPath, path, headers: { authorization: `Bearer ${own}` }, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      response.on('end', () => done({ status: response.statusCode ?? 0, text }));
    });
    asked.on('error', fail).end();
  });

test('nginx passes and denies calls as policy says', needs('nginx'), async () => {
  const server = await startServer();
  const { port, sidecar } = await startTool({
    answer: (_request, response) => void response.writeHead(204).end(),
    tool: { nameByMethod: true },
  });
  const socket = await startNginx(port, server.port);
  expect(await asking(socket)).toEqual({ status: 200, text: 'from the server' });
  expect(server.reached).toEqual(['GET /invoices?a=1']);
  sidecar.take({ documents: [ruleFor('billing.GET', { permission: 'deny' })] });
  expect((await asking(socket)).status).toBe(403);
  sidecar.take({ documents: [ruleFor('billing.GET', { rateLimit: 0 })] });
  expect((await asking(socket)).status).toBe(500);
  expect(server.reached).toHaveLength(1);
});

test('where nginx no longer waits no call passes, none is made and none is counted', needs('nginx'), async () => {
  const server = await startServer();
  const { port, sidecar, reached } = await startTool({ world: { documents: [ruleFor('billing', { rateLimit: 1 })] } });
  const { spool } = sidecar;
  let release: (() => void) | null = null;
  Object.assign(sidecar, {
    spool: {
      ...spool,
      appendAsync: async (json: string) => {
        if (release === null)
          await new Promise<void>((done) => {
            release = done;
          });
        return spool.appendAsync(json);
      },
    },
  });
  const socket = await startNginx(port, server.port);
  // nginx answers at its timeout, which closes its connection.
  expect((await asking(socket)).status).toBe(500);
  await expect.poll(() => release).not.toBeNull();
  (release as (() => void) | null)?.();
  await expect
    .poll(async () => (await sidecar.entries()).map(({ hookEvent, outcome }) => [hookEvent, outcome?.code]))
    .toEqual([
      ['PreToolUse', undefined],
      ['PostToolUse', 'caller_gone'],
    ]);
  expect([reached, server.reached]).toEqual([[], []]);
  expect((await asking(socket)).status).toBe(200);
  expect((await asking(socket)).status).toBe(500);
});
