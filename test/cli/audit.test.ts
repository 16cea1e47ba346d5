import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { entry, records, ship, spool } from '../control-plane/spool.ts';
import { type Circumstances, closedOrigin, createCli, folder, jsonOf, type Ran, run } from './cli.ts';

let rest: Rest;
let tollgate: ReturnType<typeof createCli>;
beforeEach(async () => {
  rest = await createRest();
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
});
afterEach(() => rest.close());

const hostile = 'evil\u001b]0;owned\u0007\u009b2J\u202e\nnext';

describe('audit query', () => {
  test('shows entries newest first, by filter, with a cursor where there are more', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 3, (n) => entry({ tool: `tool.${n}`, decision: n === 2 ? 'deny' : 'allow' })),
    );
    const all = await tollgate(['audit', 'query', '--since', '1h']);
    expect(all).toMatchObject({ code: 0, err: '' });
    expect(all.out).toMatch(
      /^at +event +decision +tool +agent +tier +sub +reason\n2026-06-25 12:00:00Z +PreToolUse +allow +tool\.3 +bot +api +ann +allowed: /,
    );
    expect(
      (await tollgate(['audit', 'query', '--decision', 'deny', '--agent', 'bot', '--sub', 'ann', '--session', 'session-1'])).out,
    ).toMatch(/^at .*\n.*tool\.2.*\n$/);
    expect(await tollgate(['audit', 'query', '--tool', 'none'])).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('nothing was recorded since'),
    });
    const first = await tollgate(['audit', 'query', '--limit', '2', '--json']);
    expect(jsonOf(first)).toMatchObject({ count: 2, next: expect.any(String) });
    expect((await tollgate(['audit', 'query', '--limit', '2', '--cursor', String(jsonOf(first)['next'])])).out).toContain('tool.1');
  });

  test('an entry names the first case that could not be evaluated', async () => {
    const undecided = ['large', 'noted'].map((name) => ({
      document: 'workspace',
      path: `tools["pay"].api.cases["${name}"]`,
      reason: 'absent',
      at: 'args.amount',
    }));
    await ship(
      rest,
      spool('a'),
      records(1, 1, () => entry({ undecided })),
    );
    const said = 'allowed: nothing says otherwise (undecided: workspace tools["pay"].api.cases["large"], absent: args.amount, and 1 more)';
    expect((await tollgate(['audit', 'query', '--since', '1h'])).out).toContain(said);
    expect(jsonOf(await tollgate(['audit', 'query', '--since', '1h', '--json']))).toMatchObject({ entries: [{ undecided }] });
  });

  test('text from a server never reaches the terminal as a control sequence, and a JSON reader gets it whole', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 1, () => entry({ tool: hostile, agentName: hostile })),
    );
    const table = await tollgate(['audit', 'query', '--since', '1h'], { columns: 200, env: { NO_COLOR: '1' } });
    const answered = jsonOf(await tollgate(['audit', 'query', '--since', '1h', '--json']));
    const raw = await tollgate(['audit', 'query', '--since', '1h', '--json']);
    for (const { out } of [table, raw]) expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(answered).toEqual((await rest.ask('GET', '/acme/admin/audit?since=2026-06-25T11:00:00.000Z')).body);
    expect(table.out.trimEnd().split('\n')).toHaveLength(2);
  });

  test('a table is at most as wide as the terminal, and wraps without losing a character', async () => {
    const tool = 'q'.repeat(120);
    await ship(
      rest,
      spool('a'),
      records(1, 1, () => entry({ tool })),
    );
    const { out } = await tollgate(['audit', 'query', '--since', '1h'], { columns: 100, env: { NO_COLOR: '1' } });
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    const bold = await tollgate(['audit', 'query', '--since', '1h'], { columns: 100 });
    expect(bold.out.replace(/^\u001b\[1m(.*)\u001b\[22m$/m, '$1')).toBe(out);
    expect(out.match(/q+/g)?.join('')).toBe(tool);
  });

  test.each([
    ['--since', 'yesterday', '--since must be a time such as'],
    ['--limit', 'many', 'limit must be an integer'],
    ['--decision', 'maybe', 'allow, deny'],
  ])('%s %s is refused with the reason', async (option, value, words) => {
    expect(await tollgate(['audit', 'query', option, value])).toMatchObject({ code: 1, err: expect.stringContaining(words) });
  });
});

/** A running tail. The test waits for its output and does not sleep. */
function startTail(
  words: readonly string[],
  { origin = rest.origin, key = rest.owner, ...circumstances }: Circumstances & { readonly origin?: string; readonly key?: string } = {},
) {
  const stop = new AbortController();
  let text = '';
  let look = (): void => undefined;
  const ended: Promise<Ran> = run(['audit', 'tail', ...words], {
    signal: stop.signal,
    ...circumstances,
    env: { TOLLGATE_URL: origin, TOLLGATE_KEY: key },
    heard: (more) => {
      text += more;
      look();
    },
  });
  const printed = (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      look = () => {
        if (text.includes(wanted)) resolve();
      };
      look();
      void ended.then(({ code, err }) => reject(new Error(`the tail ended with ${code}: ${err}`)), reject);
    });
  const end = (): Promise<Ran> => {
    stop.abort();
    return ended;
  };
  return { printed, end, ended };
}

/** A proxy between the command line and the control plane; `over` ends its open connections. */
async function startProxy() {
  const asked: IncomingMessage[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    asked.push(request);
    open.add(response);
    const { host: _, ...headers } = request.headers;
    void fetch(rest.origin + (request.url ?? ''), { headers: headers as Record<string, string> })
      .then(async (answer) => {
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
        for await (const bytes of answer.body ?? []) response.write(bytes);
        response.end();
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const response of open) response.destroy();
    open.clear();
  };
  return { origin: `http://127.0.0.1:${port}`, asked, cut };
}

/**
 * A proxy between the command line and the control plane, byte by byte: it passes all of each answer except its last
 * chunk, then closes.
 */
async function startShortener(): Promise<string> {
  const lastChunk = '0\r\n\r\n';
  const { hostname, port } = new URL(rest.origin);
  const open = new Set<Socket>();
  const server = createTcpServer((down) => {
    const up = connect(Number(port), hostname);
    for (const socket of [down, up]) open.add(socket.on('error', () => undefined));
    down.on('data', (bytes) => void up.write(bytes));
    up.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      if (!text.endsWith(lastChunk)) return void down.write(bytes);
      down.end(Buffer.from(text.slice(0, -lastChunk.length), 'latin1'));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('audit tail', () => {
  test('shows the entries since a place and new ones, and on Ctrl-C ends with 0 and prints where to continue', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 2, (n) => entry({ tool: `tool.${n}` })),
    );
    const tail = startTail(['--from', '1']);
    await tail.printed('tool.2');
    await ship(
      rest,
      spool('a'),
      records(3, 3, () => entry({ tool: hostile, decision: 'deny' })),
    );
    await tail.printed('evil');
    const { code, out, err } = await tail.end();
    expect({ code, err }).toEqual({ code: 0, err: 'to continue here: --from 3\n' });
    expect(out).not.toContain('tool.1');
    expect(out).toMatch(/^2026-06-25T12:00:00.000Z {2}allow {2}tool\.2 {2}bot {2}api {2}ann {2}allowed: .*\n.* {2}deny {3}evil\\u001b/);
  });

  test('--json prints one object per line', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 2, (n) => entry({ tool: `tool.${n}` })),
    );
    const tail = startTail(['--from', '0', '--json', '--tool', 'tool.2']);
    await tail.printed('tool.2');
    const { out } = await tail.end();
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([expect.objectContaining({ tool: 'tool.2' })]);
  });

  test('continues after the connection was cut, with every entry once', async () => {
    const proxy = await startProxy();
    await ship(
      rest,
      spool('a'),
      records(1, 1, () => entry({ tool: 'tool.1' })),
    );
    const tail = startTail(['--from', '0'], { origin: proxy.origin });
    await tail.printed('tool.1');
    proxy.cut();
    await ship(
      rest,
      spool('a'),
      records(2, 2, () => entry({ tool: 'tool.2' })),
    );
    await tail.printed('tool.2');
    const { code, out, err } = await tail.end();
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toHaveLength(2);
    expect(err).toContain('connecting again');
    expect(proxy.asked.map(({ headers }) => headers['last-event-id'])).toEqual(['0', '1']);
  });

  test('ends with 1 when its key is revoked', async () => {
    const key = await rest.keyOf('admin', ['admin.audit.read'], 'auditor');
    await ship(
      rest,
      spool('a'),
      records(1, 1, () => entry({ tool: 'tool.1' })),
    );
    const proxy = await startProxy();
    const tail = startTail(['--from', '0'], { origin: proxy.origin, key });
    await tail.printed('tool.1');
    const keys = jsonOf(await tollgate(['keys', 'list', '--json']))['keys'];
    const made = Array.isArray(keys) ? keys.find(({ uid }: { readonly uid: unknown }) => uid === 'auditor') : undefined;
    await tollgate(['keys', 'revoke', String(made.id)]);
    proxy.cut();
    expect(await tail.ended).toMatchObject({ code: 1, err: expect.stringContaining('does not accept TOLLGATE_KEY') });
  });

  test('an invalid place, and a control plane that is not reachable, are errors immediately', async () => {
    expect(await tollgate(['audit', 'tail', '--from', 'x'])).toMatchObject({ code: 1, err: expect.stringContaining('Last-Event-ID') });
    expect(await tollgate(['audit', 'tail'], { env: { TOLLGATE_URL: await closedOrigin() } })).toMatchObject({
      code: 1,
      err: expect.stringContaining('no program listens at'),
    });
  });
});

describe('audit export', () => {
  test('writes every entry as NDJSON, to standard output or to a file of mode 0600', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 1200, (n) => entry({ tool: `tool.${n % 2}` })),
    );
    const all = await tollgate(['audit', 'export']);
    expect(all).toMatchObject({ code: 0, err: '1200 entries\n' });
    expect(
      all.out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toHaveLength(1200);
    const path = join(folder(), 'audit.ndjson');
    expect(await tollgate(['audit', 'export', '-o', path, '--tool', 'tool.1', '--since', '1h'])).toMatchObject({
      code: 0,
      out: '',
      err: `600 entries in ${path}\n`,
    });
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(600);
    expect({ mode: statSync(path).mode & 0o777, partial: existsSync(`${path}.partial`) }).toEqual({ mode: 0o600, partial: false });
  });

  test('an export that is cut off is an error; the received part stays in .partial, and an older file is not changed', async () => {
    let sent: ServerResponse | undefined;
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write('{"id":"1"}\n{"id":"2');
      sent = response;
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const path = join(folder(), 'audit.ndjson');
    writeFileSync(path, 'older\n');
    const ended = run(['audit', 'export', '-o', path], { env: { TOLLGATE_URL: origin, TOLLGATE_KEY: rest.owner } });
    await expect.poll(() => existsSync(`${path}.partial`) && readFileSync(`${path}.partial`, 'utf8')).toContain('1');
    sent?.destroy();
    expect(await ended).toMatchObject({ code: 1, err: expect.stringContaining('closed the connection before the end of its answer') });
    expect({ file: readFileSync(path, 'utf8'), partial: readFileSync(`${path}.partial`, 'utf8') }).toEqual({
      file: 'older\n',
      partial: '{"id":"1"}\n',
    });
  });

  test('an export whose connection ends between two lines, with a plain FIN and no last chunk, is an error too', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 50, () => entry()),
    );
    const path = join(folder(), 'audit.ndjson');
    const origin = await startShortener();
    expect(await tollgate(['audit', 'export', '-o', path], { env: { TOLLGATE_URL: origin } })).toMatchObject({
      code: 1,
      err: expect.stringContaining('closed the connection before the end of its answer'),
    });
    expect(existsSync(path)).toBe(false);
    // Data that had arrived and was not read yet is lost with the connection; the file holds whole lines.
    const lines = readFileSync(`${path}.partial`, 'utf8').split('\n').slice(0, -1);
    expect(lines.length).toBeLessThanOrEqual(50);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ tool: expect.any(String) });
  });

  test('an export that is interrupted prints what was received and where it is, and exits 130', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write('{"id":"1"}\n{"id":"2"}\n');
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const env = { TOLLGATE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, TOLLGATE_KEY: rest.owner };
    const path = join(folder(), 'audit.ndjson');
    const stop = new AbortController();
    const ended = run(['audit', 'export', '-o', path], { env, signal: stop.signal });
    await expect.poll(() => existsSync(`${path}.partial`) && readFileSync(`${path}.partial`, 'utf8')).toContain('"2"');
    stop.abort();
    expect(await ended).toEqual({ code: 130, out: '', err: `interrupted; 2 entries are in ${path}.partial\n` });
    expect(existsSync(path)).toBe(false);
  });

  test('a file that cannot be written is named', async () => {
    const path = join(folder(), 'none', 'audit.ndjson');
    expect(await tollgate(['audit', 'export', '-o', path])).toMatchObject({
      code: 1,
      err: `tollgate: ${path} cannot be written (ENOENT)\n`,
    });
    mkdirSync(join(path, '..'));
    expect(await tollgate(['audit', 'export', '-o', path])).toMatchObject({ code: 0 });
  });
});

describe('simulate', () => {
  const draft = 'workspacePolicy: { tools: { github.create_issue: { api: { permission: deny } } } }';
  const simulate = (words: readonly string[], text: string): Promise<Ran> => tollgate(['simulate', '-f', '-', ...words], { stdin: text });

  test('shows which calls would be denied, and exits 2; with a draft that changes no decision it exits 0', async () => {
    await rest.ask('POST', '/acme/admin/members', { body: { uid: 'ann', email: 'ann@acme.test', role: 'member' } });
    await rest.createAgent({ name: 'bot' });
    await ship(
      rest,
      spool('a'),
      records(1, 5, (n) => entry({ requestId: `request-${n}`, ts: '2026-06-25T11:59:00.000Z' })),
    );
    const denied = await simulate([], draft);
    expect(denied.code).toBe(2);
    expect(denied.out).toMatch(
      /^change +count +agent +tool +tier +rule of +path +for example\ndenied +5 +bot +github\.create_issue +api +workspace +tools\["github\.create_issue"\]\.api/,
    );
    expect(denied.err).toMatch(/5 calls from 2026-06-24T12:00:00.000Z to 2026-06-25T12:00:00.000Z; newly: 5 denied/);
    expect(jsonOf(await simulate(['--json', '--since', '1h', '--limit', '3'], draft))).toMatchObject({
      entries: 3,
      truncated: true,
      newly: { denied: 3 },
    });
    expect(await simulate([], 'workspacePolicy: {}')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('no decision would change'),
    });
    expect((await rest.ask('GET', '/acme/admin/workspacePolicy')).body).toEqual({});
  });

  test('calls whose entries do not show what a condition reads are told as uncertain', async () => {
    await ship(
      rest,
      spool('a'),
      records(1, 2, (n) => entry({ ts: '2026-06-25T11:59:00.000Z', input: { title: n === 1 ? 'x' : '[redacted:email#1]' } })),
    );
    const cases = '[{ name: long, when: "args.title.size() > 5", permission: deny }]';
    const ran = await simulate([], `workspacePolicy: { tools: { github.create_issue: { api: { permission: allow, cases: ${cases} } } } }`);
    expect(ran.err).toMatch(/newly: 1 denied, .*; 1 uncertain: conditions read what their entries do not show/);
  });

  test('without recorded calls it says that nothing was tested', async () => {
    expect(await simulate([], draft)).toEqual({ code: 0, out: '', err: 'no call was recorded in this time; no decision was simulated\n' });
  });

  test('a simulation whose connection ends before its last chunk is an error', async () => {
    const ran = await tollgate(['simulate', '-f', '-'], { stdin: draft, env: { TOLLGATE_URL: await startShortener() } });
    expect(ran).toMatchObject({ code: 1, out: '', err: expect.stringContaining('closed the connection before the end of its answer') });
  });

  test('an invalid draft is refused with the places of its errors', async () => {
    expect(await simulate([], 'rolePolicies: { boss: {} }')).toMatchObject({ code: 1, err: expect.stringContaining('boss') });
    expect(await simulate(['--limit', 'all'], draft)).toMatchObject({ code: 1, err: expect.stringContaining('--limit must be a number') });
  });
});
