// The sidecar as a program that also listens on a Unix domain socket: the same endpoints as on its port, the user of the
// caller in the entries, and how it starts and stops.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startFakeServer, tool } from '../support/mcp-servers.ts';
import { ask, type ControlPlane, eventually, startControlPlane, startSidecarProgram, type SidecarProgram } from '../support/programs.ts';
import { listening } from './listening.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const uid = process.getuid?.() ?? -1;
let plane: ControlPlane;
let key = '';
let dataDir = '';

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tollgate-socket-'));
  plane = await startControlPlane({ TOLLGATE_DATA_DIR: dataDir, TOLLGATE_OWNER_KEY: ownerKey });
  const made = await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes: ['sidecar.sync'] } });
  key = String(made.body['key']);
});

afterAll(async () => {
  await plane.end();
  rmSync(dataDir, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-socket-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Starts a sidecar that has its policy. */
async function start(socket: string, env: Readonly<Record<string, string>> = {}): Promise<SidecarProgram> {
  const started = await startSidecarProgram({
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_KEY: key,
    TOLLGATE_SPOOL_DIR: folder(),
    TOLLGATE_SOCKET: socket,
    ...env,
  });
  onTestFinished(async () => void (await started.end()));
  await eventually(
    () => ask(`${started.url}/readyz`, ownerKey),
    ({ status }) => status === 200,
  );
  return started;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

function ofSocket(socketPath: string, path: string, body?: object): Promise<Answer> {
  return new Promise((done, fail) => {
    const headers = { authorization: `Bearer ${ownerKey}`, 'content-type': 'application/json' };
    const asked = request({ socketPath, path, headers, method: body === undefined ? 'GET' : 'POST', agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.on('end', () => done({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
    asked.on('error', fail);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const call = (session: string) => ({ tool_name: 'files.read', tool_input: {}, session_id: session, agent_tier: 'api' });

/** Returns tool and uid of each entry of the session, when there are so many. */
async function uidsOf(session: string, count: number): Promise<readonly (readonly [unknown, unknown])[]> {
  const entries = await eventually(
    async () => {
      const { body } = await ask(`${plane.rest}/default/admin/audit?session=${session}`, ownerKey);
      return Array.isArray(body['entries']) ? body['entries'] : [];
    },
    ({ length }) => length >= count,
  );
  return entries.map(({ tool: name, peerUid }) => [name, peerUid] as const);
}

test('each endpoint answers on the socket as on the port, and entries say the user of the process that connected', async () => {
  const made = folder();
  const port = await listening((_, response) => response.end('{"paid":true}'));
  const fake = await startFakeServer();
  onTestFinished(() => fake.close());
  fake.modern = true;
  fake.pages = [[tool('read')]];
  fake.instead = ({ rpc: { id, method } }, response) => {
    if (method !== 'tools/call') return false;
    const result = { resultType: 'complete', content: [{ type: 'text', text: 'read' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return true;
  };
  const gateway = join(made, 'gateway.json');
  writeFileSync(
    gateway,
    JSON.stringify({ httpTools: { pay: { url: `http://127.0.0.1:${port}` } }, mcpServers: { files: { url: fake.url } } }),
  );
  const socket = join(made, 'it');
  const at = await start(socket, { TOLLGATE_GATEWAY_FILE: gateway });
  expect(at.announced.get('socket')).toBe(socket);
  expect((lstatSync(socket).mode & 0o777).toString(8)).toBe('660');
  expect(readdirSync(made).toSorted()).toEqual(['gateway.json', 'it']);
  expect(at.log()).not.toContain('TOLLGATE_SOCKET');

  for (const path of ['/healthz', '/readyz']) expect(await ofSocket(socket, path)).toMatchObject({ status: 200, body: { ok: true } });
  for (const hook of ['tool-use', 'tool-output'])
    expect(await ofSocket(socket, `/default/govern/${hook}`, { ...call('all'), tool_output: 'text' })).toMatchObject({
      status: 200,
      body: { [hook === 'tool-use' ? 'decision' : 'action']: hook === 'tool-use' ? 'allow' : 'pass' },
    });
  expect(
    await ofSocket(socket, '/hooks/claude-code', {
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      session_id: 'all',
    }),
  ).toMatchObject({ status: 200 });

  const agent = new Agent({ connect: { socketPath: socket } });
  onTestFinished(() => agent.close());
  const headers = { authorization: `Bearer ${ownerKey}`, 'x-tollgate-tier': 'api', 'x-tollgate-session': 'all' };
  const paid = await fetch('http://localhost/tools/pay/out', { method: 'POST', headers, body: '{}', dispatcher: agent });
  expect([paid.status, await paid.json()]).toEqual([200, { paid: true }]);

  const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const throughSocket = async (url: string | URL, init: RequestInit = {}): Promise<Response> =>
    // @ts-expect-error undici and Node have each their own types of the same thing
    fetch(url, { ...init, dispatcher: agent });
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://localhost/mcp/files'), { requestInit: { headers }, fetch: throughSocket }),
  );
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read']);
  await client.callTool({ name: 'read', arguments: {} });

  const all = await uidsOf('all', 7);
  expect(new Set(all.map(([, peer]) => peer))).toEqual(new Set([uid]));
  expect(new Set(all.map(([name]) => name))).toEqual(new Set(['files.read', 'Bash', 'pay']));

  expect(await ask(`${at.url}/govern/tool-use`, ownerKey, { body: call('by-port') })).toMatchObject({ status: 200 });
  expect(await uidsOf('by-port', 1)).toEqual([['files.read', undefined]]);
});

/** Sends the call as another user of the machine. Returns the decision, or the code of the error. */
async function callAs(user: number, group: number, socket: string, session: string): Promise<string> {
  const script = `
    const [socketPath, key, body] = process.argv.slice(1);
    const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
    const asked = require('node:http').request({ socketPath, path: '/govern/tool-use', method: 'POST', headers }, (response) => {
      let text = '';
      response.on('data', (more) => (text += more)).on('end', () => process.stdout.write(JSON.parse(text).decision));
    });
    asked.on('error', ({ code }) => process.stdout.write(code)).end(body);`;
  const words = ['--reuid', String(user), '--regid', String(user), '--groups', String(group), '--no-new-privs', process.execPath];
  const child = spawn('setpriv', [...words, '-e', script, socket, ownerKey, JSON.stringify(call(session))], { cwd: '/' });
  return outputOf(child);
}

async function outputOf({ stdout, stderr }: ChildProcess): Promise<string> {
  let text = '';
  stderr?.setEncoding('utf8').on('data', (more: string) => (text += more));
  for await (const piece of stdout?.setEncoding('utf8') ?? []) text += String(piece);
  return text;
}

test('a user of the group may connect and is in the entry with its own uid; another user is refused by the kernel', async ({ skip }) => {
  if (uid !== 0) skip('only root can become another user');
  const [member, outsider, group] = [12_001, 12_002, 12_345];
  const made = folder();
  chownSync(made, 0, group);
  chmodSync(made, 0o2755);
  const socket = join(made, 'it');
  await start(socket);
  expect(lstatSync(socket)).toMatchObject({ uid: 0, gid: group });
  expect(await callAs(outsider, outsider, socket, 'users')).toBe('EACCES');
  expect(await callAs(member, group, socket, 'users')).toBe('allow');
  // The same key and session from another user: each entry has the user of its own connection.
  expect(await ofSocket(socket, '/govern/tool-use', call('users'))).toMatchObject({ body: { decision: 'allow' } });
  expect((await uidsOf('users', 2)).map(([, peer]) => Number(peer)).toSorted((a, b) => a - b)).toEqual([0, member]);
});

test('the socket of a killed sidecar is taken over, that of a living one is not, and a stop deletes only its own', async () => {
  const socket = join(folder(), 'it');
  const killed = await start(socket);
  await killed.end('SIGKILL');
  expect(lstatSync(socket).isSocket()).toBe(true);

  const second = await start(socket);
  expect(await ofSocket(socket, '/healthz')).toMatchObject({ status: 200 });
  await expect(start(socket)).rejects.toThrow(/ended with 2:[\s\S]*\n {2}TOLLGATE_SOCKET \S+: another process listens there/);
  expect(await ofSocket(socket, '/healthz')).toMatchObject({ status: 200 });
  expect(await second.end()).toBe(0);
  expect(existsSync(socket)).toBe(false);

  const third = await start(socket);
  rmSync(socket);
  writeFileSync(socket, 'mine');
  expect(await third.end()).toBe(0);
  expect(readFileSync(socket, 'utf8')).toBe('mine');
  await expect(start(socket)).rejects.toThrow('there is a file that is not a socket; it is not deleted');
  expect(readFileSync(socket, 'utf8')).toBe('mine');
});

test('a wrong path is refused at the start, with the name of the variable', async () => {
  const made = folder();
  chmodSync(made, 0o777);
  for (const [socket, problem] of [
    ['it', 'TOLLGATE_SOCKET must be an absolute path of a file'],
    [`/${'a'.repeat(107)}`, 'TOLLGATE_SOCKET must be at most 107 bytes long, has 108'],
    [join(made, 'none/it'), `the folder ${join(made, 'none')} does not exist`],
    [join(made, 'it'), `every user can write to the folder ${made}`],
  ] as const)
    await expect(start(socket)).rejects.toThrow(problem);
});

/** Sends a part of a request and waits until the sidecar has accepted the connection. */
async function begun(socketPath: string, session: string): Promise<{ readonly end: () => Promise<string>; readonly socket: Socket }> {
  const body = JSON.stringify(call(session));
  const socket = connect(socketPath);
  let text = '';
  socket.setEncoding('utf8').on('data', (more: string) => (text += more));
  const closed = new Promise<string>((done, fail) => socket.on('error', fail).on('close', () => done(text)));
  const head = `POST /govern/tool-use HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${ownerKey}\r\ncontent-type: application/json\r\n`;
  await new Promise((sent) => socket.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`, sent));
  // An answer on a later connection shows that the earlier one was accepted.
  await ofSocket(socketPath, '/healthz');
  return {
    socket,
    end: () => {
      socket.write(body.slice(5));
      return closed;
    },
  };
}

test('a stop answers what has begun on the socket, accepts no more there, and ends connections that send nothing', async () => {
  const socket = join(folder(), 'it');
  const at = await start(socket);
  const asking = await begun(socket, 'draining');
  const idle = connect(socket);
  onTestFinished(() => void idle.destroy());
  await new Promise((done) => idle.once('connect', done));
  const ending = at.end();
  await eventually(
    async () => existsSync(socket),
    (isThere) => !isThere,
  );
  await expect(ofSocket(socket, '/healthz')).rejects.toThrow('ENOENT');
  expect(await asking.end()).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*"decision":"allow"/);
  expect(await ending).toBe(0);
  expect(await uidsOf('draining', 1)).toEqual([['files.read', uid]]);
});
