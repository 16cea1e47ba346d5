// Tool servers over REST, against real MCP servers and one that sends false data, floods and hangs.
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { parseCommands, printableConfig, readConfig } from '@tollgate/proto/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { configSchema, secretKeysIn } from '../../control-plane/app/config.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { everything, type FakeServer, startEverything, startFakeServer, tool } from '../support/mcp-servers.ts';
import { followPlane, startPlane } from '../support/plane.ts';
import { createRest, errorOf, type Rest } from './rest.ts';

const list = '/acme/admin/toolServers';
const secret = 'Bearer the-secret-of-acme';
const secretKey = 'a secret key of more than 32 characters';
const theirs = createReach({ allowPrivate: true, commands: [process.execPath] }, {});

/** The operator's permissions, which some tests change for a while. */
const reach = { ...theirs };
const keys = { current: createSealer([secretKey], randomBytes) };
const sealer: typeof keys.current = {
  seal: (text, place) => keys.current.seal(text, place),
  open: (sealed, place) => keys.current.open(sealed, place),
  reseal: (sealed, place) => keys.current.reseal(sealed, place),
  keys: 1,
};

let rest: Rest;
let fake: FakeServer;
beforeAll(async () => {
  rest = await createRest({ reach, sealer });
  fake = await startFakeServer();
});
afterAll(async () => {
  await fake.close();
  await rest.close();
});
beforeEach(async () => {
  Object.assign(reach, theirs);
  // The next minute, in which no discovery was made yet.
  rest.clock.now = new Date(rest.clock.now.getTime() + 61_000);
  keys.current = createSealer([secretKey], randomBytes);
  fake.asked.length = 0;
  fake.pages = [[tool('read', { inputSchema: { type: 'object', properties: { z: {}, a: {} } } }), tool('write')]];
  fake.instead = () => false;
  fake.modern = false;
  await rest.pool.query('delete from tool_server');
});

const register = (body: object = {}) => rest.ask('POST', list, { body: { name: 'files', url: fake.url, ...body } });
const listed = async (): Promise<unknown> => (await rest.ask('GET', list)).body;
const eventsOf = async (): Promise<unknown> =>
  (
    await rest.pool.query('select action, target, detail from admin_event where target like $1 order by revision, position', [
      'tool-server/%',
    ])
  ).rows;

describe('registering', () => {
  test('answers the tools it found, with the scopes that the definition asks for', async () => {
    const answer = await register({ headers: { Authorization: secret }, tools: { write: { requiredScopes: ['files:write'] } } });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({
      ok: true,
      revision: expect.any(Number),
      name: 'files',
      tools: [
        {
          name: 'files.read',
          description: 'does read',
          requiredScopes: [],
          digest: expect.any(String),
          admitted: true,
          inputSchema: { type: 'object', properties: { z: {}, a: {} } },
        },
        {
          name: 'files.write',
          description: 'does write',
          requiredScopes: ['files:write'],
          digest: expect.any(String),
          admitted: true,
          inputSchema: { type: 'object' },
        },
      ],
    });
    // A model reads a schema in the order in which it was written.
    expect(JSON.stringify((await rest.ask('GET', `${list}/files`)).body)).toContain('{"z":{},"a":{}}');
  });

  test('is shown in the list and by name, with only the names of its headers', async () => {
    await register({ headers: { Authorization: secret, 'X-Team': 'acme' } });
    const { body } = await rest.ask('GET', `${list}/files`);
    expect(body).toEqual({
      ok: true,
      server: {
        name: 'files',
        url: fake.url,
        headers: ['Authorization', 'X-Team'],
        tools: [expect.objectContaining({ name: 'files.read' }), expect.objectContaining({ name: 'files.write' })],
        discoveredAt: rest.clock.now.toISOString(),
        createdAt: rest.clock.now.toISOString(),
      },
    });
    const { tools, ...server } = Object(body).server;
    // `toEqual` treats an undefined key as absent.
    const listedTools = tools.map((one: object) => ({ ...one, inputSchema: undefined }));
    expect(await listed()).toEqual({ ok: true, servers: [{ ...server, tools: listedTools }] });
  });

  test('sends the headers with every request, and reads every page', async () => {
    fake.pages = [[tool('a')], [], [tool('b')]];
    expect((await register({ headers: { Authorization: secret } })).body).toMatchObject({
      tools: [{ name: 'files.a' }, { name: 'files.b' }],
    });
    expect(fake.asked.length).toBeGreaterThan(3);
    expect(new Set(fake.asked.map(({ headers }) => headers.authorization))).toEqual(new Set([secret]));
  });

  test('finds the tools of a server of the newest protocol too', async () => {
    fake.modern = true;
    expect(await register()).toMatchObject({ status: 200, body: { tools: [{ name: 'files.read' }, { name: 'files.write' }] } });
    expect(fake.asked.map(({ rpc }) => rpc.method)).not.toContain('initialize');
  });

  test('raises the revision, and leaves an event that names no secret', async () => {
    const before = await rest.ask('GET', list);
    const { body } = await register({ headers: { Authorization: secret } });
    expect(`"${Object(body).revision - 1}"`).toBe(before.headers['etag']);
    expect((await eventsOf()) as unknown[]).toContainEqual({
      action: 'tool-server.write',
      target: 'tool-server/files',
      detail: { change: 'register', tools: 2 },
    });
  });

  test('a name that is taken is 409, before the server is called', async () => {
    await register();
    fake.asked.length = 0;
    expect(await register()).toMatchObject({ status: 409, body: { error: expect.stringContaining('name already') } });
    expect(fake.asked).toEqual([]);
  });

  test('of two at the same time one is registered, and the other is 409', async () => {
    const answers = await Promise.all([register(), register()]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
  });

  test('scopes for a tool that the server does not have are 400, and nothing is stored', async () => {
    const answer = await register({ tools: { erase: { requiredScopes: ['x'] }, read: { requiredScopes: [] } } });
    expect(answer).toMatchObject({ status: 400, body: { error: 'tools.erase must be a tool of the server' } });
    expect(await listed()).toEqual({ ok: true, servers: [] });
  });

  test('holds no more servers than a workspace may have', async () => {
    await rest.pool.query(
      `insert into tool_server (workspace_id, name, url, args, secret_names, scopes, tools, revision, discovered_at, created_at)
       select w.id, 's' || n, 'https://x.test', '{}', '{}', '[]', '[]', 1, now(), now() from workspace w, generate_series(1, 100) n where slug = 'acme'`,
    );
    expect(await register()).toMatchObject({ status: 409, body: { error: 'a workspace has at most 100 tool servers' } });
  });
});

describe('an invalid definition is refused with its place', () => {
  test.each<readonly [string, object, string]>([
    ['no name', { name: undefined }, 'name is required'],
    ['a name with a capital', { name: 'Files' }, 'name must be'],
    ['a name with a dot', { name: 'a.b' }, 'name must be'],
    ['a name that is too long', { name: 'a'.repeat(64) }, 'name must be'],
    ['the name that other agents are called by', { name: 'agents' }, 'name is reserved: `agents.*`'],
    ['an unknown field', { transport: 'sse' }, 'transport is not a field here'],
    ['neither url nor command', { url: undefined }, 'either "url" or "command"'],
    ['both', { command: [process.execPath] }, 'either "url" or "command"'],
    [
      'headers with a command',
      { url: undefined, command: [process.execPath], headers: { a: 'b' } },
      'headers can only be used with "url"; for a command, use "command.env"',
    ],
    ['a URL that is none', { url: 'example.com' }, 'url must be a URL'],
    ['another scheme', { url: 'file:///etc/passwd' }, 'url must begin with https://'],
    ['credentials in the URL', { url: 'https://me:pass@example.com/' }, 'url must hold no credentials'],
    ['a fragment', { url: 'https://example.com/#x' }, 'url must have no fragment'],
    ['a header with a line break', { headers: { a: 'b\r\nHost: evil' } }, 'headers.a must hold no control character'],
    ['a header name that is none', { headers: { 'a b': 'c' } }, 'is not the name of a header'],
    ['a header of the connection', { headers: { 'Content-Length': '0' } }, 'that the connection itself sets'],
    ['a header twice', { headers: { a: 'b', A: 'c' } }, 'headers must not contain the header a twice'],
    ['a header that is no text', { headers: { a: 1 } }, 'headers.a must be a string'],
    ['scopes that are none', { tools: { read: { requiredScopes: 'x' } } }, 'tools.read.requiredScopes must be an array'],
    ['a tool without scopes', { tools: { read: {} } }, 'tools.read.requiredScopes is required'],
    ['a scope that is no name', { tools: { read: { requiredScopes: [' x'] } } }, 'tools.read.requiredScopes[0] must not begin'],
    [
      'a program that is not allowed',
      { url: undefined, command: ['/bin/sh', '-c', 'id'] },
      'command[0] must be a program of TOLLGATE_TOOL_COMMANDS',
    ],
    ['a program without a name', { url: undefined, command: [] }, 'command must have a program as its first item'],
    [
      'an argument that is no text',
      { url: undefined, command: { program: process.execPath, args: [1] } },
      'command.args[0] must be a string',
    ],
    [
      'a variable that makes a program run another',
      { url: undefined, command: { program: process.execPath, env: { NODE_OPTIONS: '--import data:,' } } },
      'is a variable that changes what a program runs',
    ],
  ])('%s', async (_what, body, words) => {
    const answer = await register(body);
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({ status: 400, error: expect.stringContaining(words) });
    expect(fake.asked).toEqual([]);
  });

  test.each(
    'LUA_INIT ERL_FLAGS DOTNET_STARTUP_HOOKS OPENSSL_CONF OPENSSL_MODULES BUN_INSTALL PERL5OPT PERLLIB RUBYOPT CLASSPATH JAVA_TOOL_OPTIONS XDG_CONFIG_HOME HTTPS_PROXY SSL_CERT_FILE USER LOGNAME SHELL TERM GIT_SSH BASH_ENV ENV IFS PS4 TMPDIR LD_PRELOAD PATH HOME NPM_CONFIG_REGISTRY UV_INDEX path Path http_proxy npm_config_registry BASH_FUNC_x%% _JAVA_OPTIONS A-B 1A A=B'.split(
      ' ',
    ),
  )('the variable %s', async (name) => {
    const answer = await register({ url: undefined, command: { program: process.execPath, env: { [name]: 'x' } } });
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({ status: 400, error: expect.stringContaining('variable') });
  });

  test('every problem is named at once', async () => {
    expect((await register({ name: 'A', url: 'x', extra: 1 })).body).toMatchObject({
      details: [expect.any(String), expect.any(String), expect.any(String)],
    });
  });

  test('a body that is not an object, or a missing one, is 400', async () => {
    for (const body of ['[]', '"x"', 'null', ''])
      expect((await rest.ask('POST', list, { body, headers: { 'content-type': 'application/json' } })).status).toBe(400);
  });
});

describe('addresses that are not public', () => {
  beforeEach(() => {
    reach.allowPrivate = false;
  });

  test.each([
    'https://127.0.0.1/',
    'https://localhost/',
    'https://10.1.2.3/mcp',
    'https://172.31.0.1/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://100.64.0.1/',
    'https://168.63.129.16/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://0.0.0.0/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[fe80::1]/',
    'https://[fd00:ec2::254]/',
    'https://[fec0::1]/',
    'https://[ff02::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a00:1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::10.0.0.1]/',
    'https://[64:ff9b:1::1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:7f00:1::]/',
    'https://[2001:db8::1]/',
  ])('%s is 400', async (url) => {
    const answer = await register({ url });
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({
      status: 400,
      error: expect.stringMatching(/^url is not at a public address/),
    });
  });

  test('plain http is 400', async () => {
    expect(await register({ url: 'http://example.com/' })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('must begin with https://') },
    });
  });

  test.each<readonly [string, readonly string[]]>([
    ['to a private address', ['127.0.0.1']],
    ['to a public address and a private one', ['93.184.215.14', '127.0.0.1']],
    ['to a mapped address', ['::ffff:127.0.0.1']],
  ])('a name that resolves %s is 400, and no connection is opened', async (_what, addresses) => {
    const { connections } = fake;
    reach.resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const answer = await register({ url: `https://public.test:${fake.port}/mcp` });
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({
      status: 400,
      error: expect.stringMatching(/^url is not at a public address/),
    });
    expect(fake.connections).toBe(connections);
  });

  test('a name that does not resolve is answered as one that resolves to a private address', async () => {
    reach.resolve = async () => [{ address: '10.1.2.3', family: 4 }];
    const inside = await register({ url: 'https://name.test/' });
    for (const resolve of [() => Promise.reject(new Error('ENOTFOUND')), async () => []]) {
      reach.resolve = resolve;
      const nowhere = await register({ url: 'https://name.test/' });
      expect([nowhere.status, nowhere.body]).toEqual([inside.status, inside.body]);
    }
    reach.allowPrivate = true;
    reach.resolve = () => Promise.reject(new Error('ENOTFOUND'));
    expect(await register({ url: 'https://name.test/' })).toMatchObject({
      status: 502,
      body: { error: 'the tool server has a host name that cannot be resolved' },
    });
  });

  test('a registered server is refused when its name now resolves to a private address, unless it was allowed before', async () => {
    reach.allowPrivate = true;
    await register();
    reach.allowPrivate = false;
    const { connections } = fake;
    expect((await rest.ask('POST', `${list}/files/refresh`)).status).toBe(400);
    for (const host of ['rebound.test', '127.0.0.1']) {
      await rest.pool.query('update tool_server set url = $1', [`https://${host}:${fake.port}/mcp`]);
      reach.resolve = async () => [{ address: '127.0.0.1', family: 4 }];
      expect((await rest.ask('POST', `${list}/files/refresh`)).status).toBe(400);
    }
    expect(fake.connections).toBe(connections);
  });
});

describe('a server that fails is 502 with a clear text, and nothing is stored', () => {
  const failing = async (words: string): Promise<void> => {
    const answer = await register({ headers: { Authorization: secret } });
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({ status: 502, error: expect.stringContaining(words) });
    expect(await listed()).toEqual({ ok: true, servers: [] });
    expect(JSON.stringify(answer.body)).not.toContain(secret);
  };
  const json = { 'content-type': 'application/json' };

  test('that is not reachable', async () => {
    const gone = await startFakeServer();
    await gone.close();
    expect((await register({ url: gone.url })).status).toBe(502);
  });

  test('that never answers', async () => {
    reach.discoverMs = 200;
    fake.instead = () => true;
    await failing('did not list its tools within 200 ms');
  });

  test('that accepts the connection and then never answers', async () => {
    reach.discoverMs = 500;
    fake.instead = ({ rpc }) => rpc.method === 'tools/list';
    await failing('did not list its tools within 500 ms');
  });

  test('that sends bytes without end, slowly', async () => {
    reach.discoverMs = 400;
    fake.instead = ({ rpc }, response) => {
      if (rpc.method !== 'tools/list') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const drip = setInterval(() => response.write(': still here\n'), 20);
      response.once('close', () => clearInterval(drip));
      return true;
    };
    await failing('did not list its tools within 400 ms');
  });

  test('that answers 50 MB', async () => {
    fake.instead = ({ rpc }, response) => {
      if (rpc.method !== 'tools/list') return false;
      response.writeHead(200, json);
      const block = 'x'.repeat(1_048_576);
      let left = 50;
      const write = (): void => {
        while (left > 0 && !response.destroyed) {
          left -= 1;
          if (!response.write(block)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
      return true;
    };
    await failing('answered more than 4194304 bytes');
  });

  test.each([
    ['no JSON', 'not json at all'],
    ['JSON that is no message', '{"tools":[]}'],
    ['a message nested beyond reason', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
  ])('that answers %s', async (_what, body) => {
    reach.discoverMs = 2_000;
    fake.instead = (_asked, response) => {
      response.writeHead(200, json).end(body);
      return true;
    };
    await failing('the tool server ');
  });

  test('that answers 50 MB in a few compressed ones', async () => {
    const packed = gzipSync(Buffer.alloc(50 * 1_048_576, 'x'));
    fake.instead = ({ rpc }, response) => {
      if (rpc.method !== 'tools/list') return false;
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(packed);
      return true;
    };
    await failing('answered in an encoding that was not asked for');
  });

  test('that answers more in total than one answer may be, each of them short', async () => {
    fake.instead = ({ rpc }, response) => {
      if (rpc.method !== 'tools/list') return false;
      const result = { tools: [], nextCursor: 'again', _meta: { pad: 'x'.repeat(1_048_576) } };
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result }));
      return true;
    };
    await failing('answered more than 4194304 bytes');
    expect(fake.asked.filter(({ rpc }) => rpc.method === 'tools/list').length).toBeLessThan(5);
  });

  test('that answers HTML', async () => {
    fake.instead = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hi</h1>');
      return true;
    };
    await failing('the tool server ');
  });

  test('that requires other credentials, and quotes the ones it received', async () => {
    fake.instead = ({ headers }, response) => {
      response.writeHead(401, json).end(JSON.stringify({ error: `not ${headers.authorization}` }));
      return true;
    };
    await failing('answered with status 401');
  });

  test('that redirects, even to itself; no other server is called, and none receives the headers', async () => {
    const inside = await startFakeServer();
    try {
      for (const [status, location] of [
        [307, inside.url],
        [302, inside.url],
        [308, fake.url],
        [301, 'https://169.254.169.254/'],
      ] as const) {
        fake.asked.length = 0;
        fake.instead = (_asked, response) => {
          response.writeHead(status, { location }).end();
          return true;
        };
        await failing(`answered with a redirect (${status})`);
      }
      expect(inside.asked).toEqual([]);
    } finally {
      await inside.close();
    }
  });

  test.each<readonly [string, readonly unknown[], string]>([
    ['more tools than are taken', Array.from({ length: 2_000 }, (_, at) => tool(`t${at}`)), 'has more than 1000 tools'],
    ['a name that is empty', [tool('')], 'gives tool 1 of its list a name that must not'],
    ['a name with a control character', [tool('a\u0007b')], 'must hold no control, format'],
    ['a name that ends with a blank', [tool('ok'), tool('b ')], 'gives tool 2 of its list a name that must not begin or end with a blank'],
    ['a name that is too long', [tool('n'.repeat(195))], 'must be at most 200 characters'],
    ['a name twice', [tool('a'), tool('b'), tool('a')], 'lists the tool "a" twice'],
    ['a description that is too long', [tool('a', { description: 'd'.repeat(70_000) })], 'describes "a" in 7'],
    [
      'too much in all',
      Array.from({ length: 40 }, (_, at) => tool(`t${at}`, { description: 'd'.repeat(60_000) })),
      'describes its tools in more than 1048576 bytes',
    ],
    ['a tool without a schema', [{ name: 'a' }], 'the tool server '],
    ['a schema of an array', [tool('a', { inputSchema: { type: 'array' } })], 'the tool server '],
  ])('that lists %s', async (_what, page, words) => {
    fake.pages = [page];
    await failing(words);
  });

  test('whose list has no end', async () => {
    fake.instead = ({ rpc }, response) => {
      if (rpc.method !== 'tools/list') return false;
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: { tools: [], nextCursor: 'again' } }));
      return true;
    };
    await failing('lists its tools on more than 100 pages');
  });
});

test('characters of a description that PostgreSQL cannot store are replaced', async () => {
  fake.pages = [[tool('a', { description: 'a\0b\ud800c', inputSchema: { type: 'object', title: '\0' } })]];
  expect((await register()).body).toMatchObject({ tools: [{ description: 'a\ufffdb\ufffdc', inputSchema: { title: '\ufffd' } }] });
});

describe('real MCP servers', () => {
  test('the demonstration server over Streamable HTTP', async () => {
    const real = await startEverything();
    try {
      const answer = await register({ name: 'everything', url: real.url, tools: { echo: { requiredScopes: ['demo'] } } });
      expect(answer).toMatchObject({ status: 200 });
      expect(answer.body).toMatchObject({
        tools: expect.arrayContaining([
          expect.objectContaining({
            name: 'everything.echo',
            requiredScopes: ['demo'],
            inputSchema: expect.objectContaining({ type: 'object' }),
          }),
        ]),
      });
      expect(await rest.ask('POST', `${list}/everything/refresh`)).toMatchObject({ status: 200, body: { name: 'everything' } });
    } finally {
      await real.close();
    }
  });

  test.each([
    ['an array', [process.execPath, everything, 'stdio']],
    ['an object', { program: process.execPath, args: [everything, 'stdio'], env: { DEMO_TOKEN: 'secret-variable' } }],
  ])('the demonstration server over standard streams, its command %s', async (_what, command) => {
    const answer = await rest.ask('POST', list, { body: { name: 'local', command } });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toMatchObject({ tools: expect.arrayContaining([expect.objectContaining({ name: 'local.echo' })]) });
    const { body } = await rest.ask('GET', `${list}/local`);
    const env = Array.isArray(command) ? [] : ['DEMO_TOKEN'];
    expect(body).toMatchObject({ server: { command: { program: process.execPath, args: [everything, 'stdio'], env } } });
    expect(JSON.stringify(body)).not.toContain('secret-variable');
  });

  test('a program receives its variables and none of this process', async () => {
    process.env['TEST_OF_OURS'] = 'ours';
    const script = `
      const names = Object.keys(process.env).sort().join(' ');
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (id === undefined) return;
        const result = method === 'initialize'
          ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
          : method === 'tools/list' ? { tools: [{ name: 'env', description: names, inputSchema: { type: 'object' } }] } : null;
        console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) }));
      });`;
    const { body } = await rest.ask('POST', list, {
      body: { name: 'env', command: { program: process.execPath, args: ['-e', script], env: { GIVEN: '1' } } },
    });
    delete process.env['TEST_OF_OURS'];
    const names = String(Object(body).tools?.[0]?.description).split(' ');
    expect(names).toContain('GIVEN');
    expect(names.filter((name) => !['GIVEN', 'HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'].includes(name))).toEqual([]);
  });

  test.each([
    ['ends at once', ['-e', '']],
    ['says what is no message', ['-e', 'setInterval(() => console.log("hello"), 10)']],
  ])('a program that %s is 502', async (_what, args) => {
    reach.discoverMs = 1_500;
    expect((await rest.ask('POST', list, { body: { name: 'bad', command: { program: process.execPath, args } } })).status).toBe(502);
  });

  test('a program that the operator no longer allows is not started again', async () => {
    await rest.ask('POST', list, { body: { name: 'local', command: [process.execPath, everything, 'stdio'] } });
    reach.commands = [];
    const answer = await rest.ask('POST', `${list}/local/refresh`);
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({
      status: 400,
      error: expect.stringContaining('TOLLGATE_TOOL_COMMANDS is not set'),
    });
  });
});

describe('secrets', () => {
  test('they exist only encrypted: not in the database, not in answers, not in the log', async () => {
    const seen: unknown[] = [];
    seen.push(await register({ headers: { Authorization: secret } }), await listed(), await rest.ask('POST', `${list}/files/refresh`));
    seen.push(
      (await rest.pool.query("select *, encode(sealed, 'escape') from tool_server")).rows,
      (await rest.pool.query('select * from admin_event')).rows,
    );
    seen.push(rest.lines);
    expect(fake.asked[0]?.headers.authorization).toBe(secret);
    expect(JSON.stringify(seen)).not.toContain('the-secret-of-acme');
  });

  test('the same secret is never sealed to the same bytes twice', async () => {
    await register({ headers: { Authorization: secret } });
    await register({ name: 'again', headers: { Authorization: secret } });
    const { rows } = await rest.pool.query<{ sealed: Buffer }>('select sealed from tool_server');
    expect(new Set(rows.map(({ sealed }) => sealed.subarray(0, 12).toString('hex'))).size).toBe(2);
  });

  const refused = async (): Promise<void> => {
    fake.asked.length = 0;
    const answer = await rest.ask('POST', `${list}/files/refresh`);
    expect({ status: answer.status, error: errorOf(answer) }).toEqual({
      status: 409,
      error: expect.stringContaining('encrypted with a different TOLLGATE_SECRET_KEY'),
    });
    expect(fake.asked).toEqual([]);
  };

  test('under another key they cannot be used, with a clear text, and the server is not called', async () => {
    await register({ headers: { Authorization: secret } });
    keys.current = createSealer([`${secretKey}!`], randomBytes);
    await refused();
  });

  test('moved to another server, or changed in one bit, they cannot be opened', async () => {
    await register({ headers: { Authorization: secret } });
    await register({ name: 'other', headers: { Authorization: 'another' } });
    await rest.pool.query("update tool_server set sealed = (select sealed from tool_server where name = 'other') where name = 'files'");
    await refused();
    await rest.pool.query("update tool_server set sealed = set_bit(sealed, 300, 1 - get_bit(sealed, 300)) where name = 'other'");
    expect((await rest.ask('POST', `${list}/other/refresh`)).status).toBe(409);
  });

  test.each([
    ['another address', "url = 'https://evil.test/mcp'"],
    ['a program', `url = null, program = '${process.execPath}', args = '{-e,0}'`],
  ])('with %s in their row they cannot be opened, and no server is called', async (_what, change) => {
    await register({ headers: { Authorization: secret } });
    await rest.pool.query(`update tool_server set ${change}`);
    await refused();
  });

  test('with other arguments of their program they cannot be opened', async () => {
    await rest.ask('POST', list, {
      body: { name: 'files', command: { program: process.execPath, args: [everything, 'stdio'], env: { TOKEN: 'x' } } },
    });
    await rest.pool.query("update tool_server set args = '{-e,0}'");
    await refused();
  });

  test.each<readonly [string, (...asked: Parameters<FakeServer['instead']>) => void]>([
    ['the body of a 400', ({ headers }, response) => void response.writeHead(400).end(`you said ${headers.authorization}`)],
    ['the words of its status', ({ headers }, response) => void response.writeHead(400, String(headers.authorization)).end()],
    [
      'an error of the protocol',
      ({ rpc, headers }, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            jsonrpc: '2.0',
            id: rpc.id ?? null,
            error: { code: -32000, message: String(headers.authorization), data: headers },
          }),
        ),
    ],
    [
      'what is no message',
      ({ headers }, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(headers)),
    ],
    [
      'its media type',
      ({ headers }, response) => void response.writeHead(200, { 'content-type': `text/${headers.authorization}` }).end('x'),
    ],
  ])('a server that says them again in %s gets them neither into answers nor into the log', async (_what, instead) => {
    await register({ headers: { Authorization: secret } });
    for (const only of [undefined, 'tools/list']) {
      fake.instead = (asked, response) => {
        if (only !== undefined && asked.rpc.method !== only) return false;
        instead(asked, response);
        return true;
      };
      rest.lines.length = 0;
      const answers = [
        await register({ name: 'again', headers: { Authorization: secret } }),
        await rest.ask('POST', `${list}/files/refresh`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([502, 502]);
      expect(rest.lines.join('')).toContain('another server failed during a request');
      expect(JSON.stringify([answers, rest.lines])).not.toContain('the-secret-of-acme');
    }
  });

  test('moved to the server of that name in another workspace, they cannot be opened', async () => {
    await register({ headers: { Authorization: secret } });
    await rest.pool.query("update tool_server set workspace_id = (select id from workspace where slug = 'other')");
    expect((await rest.ask('POST', '/other/admin/toolServers/files/refresh', { key: rest.other })).status).toBe(409);
  });

  test('deleting a server deletes them', async () => {
    await register({ headers: { Authorization: secret } });
    expect((await rest.ask('DELETE', `${list}/files`)).status).toBe(200);
    expect((await rest.pool.query('select 1 from tool_server')).rowCount).toBe(0);
  });
});

describe('a control plane without settings of the operator', () => {
  let plain: Rest;
  beforeAll(async () => {
    plain = await createRest();
  });
  afterAll(() => plain.close());

  test('accepts no headers, starts no program and connects to no private address, each with a clear text', async () => {
    const refusals = await Promise.all(
      [
        { name: 'a', url: 'https://example.com/', headers: { Authorization: secret } },
        { name: 'a', command: [process.execPath] },
        { name: 'a', url: 'https://127.0.0.1/' },
      ].map((body) => plain.ask('POST', list, { body })),
    );
    expect(refusals.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(refusals.map(errorOf)).toEqual([
      expect.stringContaining('set TOLLGATE_SECRET_KEY'),
      expect.stringContaining('TOLLGATE_TOOL_COMMANDS is not set'),
      expect.stringContaining('TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true'),
    ]);
  });
});

test('the operator’s variables are checked at the start, and the key is not printed', () => {
  const problemsOf = (env: Readonly<Record<string, string>>) => {
    const read = readConfig(configSchema, env);
    return 'problems' in read ? read.problems : [];
  };
  expect(problemsOf({ TOLLGATE_SECRET_KEY: 'k'.repeat(31) })).toEqual(['TOLLGATE_SECRET_KEY must be at least 32 characters']);
  const [one, two] = ['q'.repeat(32), 'x'.repeat(32)];
  const ofKeys = 'TOLLGATE_SECRET_KEY must be keys of at least 32 characters each, separated by commas: ';
  expect(problemsOf({ TOLLGATE_SECRET_KEY: `${one},${two}` })).toEqual([]);
  expect(problemsOf({ TOLLGATE_SECRET_KEY: `${one}, ${two}` })).toEqual([`${ofKeys}key 2 of 2 begins or ends with white space`]);
  expect(problemsOf({ TOLLGATE_SECRET_KEY: `${one},${two}\n` })).toEqual([`${ofKeys}key 2 of 2 begins or ends with white space`]);
  expect(problemsOf({ TOLLGATE_SECRET_KEY: `${one},${two.slice(1)},${one},` })).toEqual([
    `${ofKeys}key 2 of 4 is too short; key 3 of 4 is key 1 again; key 4 of 4 is too short`,
  ]);
  const many = Array.from({ length: 11 }, (_, at) => String(at).padStart(32, 'q'));
  expect(problemsOf({ TOLLGATE_SECRET_KEY: many.join() })).toEqual(['TOLLGATE_SECRET_KEY must be at most 10 keys']);
  expect(problemsOf({ TOLLGATE_SECRET_KEY: many.slice(1).join() })).toEqual([]);
  expect(secretKeysIn(`${one},${two}`)).toEqual([one, two]);
  // Kept unchanged for compatibility: secrets that it sealed must open.
  expect(secretKeysIn(`${one}\n`)).toEqual([`${one}\n`]);
  expect(problemsOf({ TOLLGATE_TOOL_COMMANDS: 'npx,,uvx' })).toEqual(['TOLLGATE_TOOL_COMMANDS must be programs separated by commas']);
  expect(
    problemsOf({ TOLLGATE_SECRET_KEY: secretKey, TOLLGATE_TOOL_COMMANDS: 'npx, uvx', TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true' }),
  ).toEqual([]);
  expect(parseCommands('npx, uvx')).toEqual(['npx', 'uvx']);
  expect(parseCommands(null)).toEqual([]);
  const read = readConfig(configSchema, { TOLLGATE_SECRET_KEY: secretKey });
  expect('config' in read ? printableConfig(configSchema, read.config) : {}).toMatchObject({ secretKey: '***' });
});

describe('refreshing', () => {
  test('finds the current tools of the server, raises the revision and leaves an event', async () => {
    const { body: first } = await register({ tools: { write: { requiredScopes: ['w'] } } });
    rest.clock.now = new Date(rest.clock.now.getTime() + 60_000);
    fake.pages = [[tool('new')]];
    const { body } = await rest.ask('POST', `${list}/files/refresh`);
    expect(body).toEqual({
      ok: true,
      revision: Object(first).revision + 1,
      name: 'files',
      tools: [
        {
          name: 'files.new',
          description: 'does new',
          requiredScopes: [],
          digest: expect.any(String),
          admitted: true,
          inputSchema: { type: 'object' },
        },
      ],
    });
    expect(await listed()).toMatchObject({ servers: [{ discoveredAt: rest.clock.now.toISOString() }] });
    expect((await eventsOf()) as unknown[]).toContainEqual(expect.objectContaining({ detail: { change: 'refresh', tools: 1 } }));
  });

  test('a tool that is found again has the scopes that it had', async () => {
    await register({ tools: { write: { requiredScopes: ['w'] } } });
    const [page] = [fake.pages];
    fake.pages = [[tool('read')]];
    await rest.ask('POST', `${list}/files/refresh`);
    fake.pages = page;
    expect((await rest.ask('POST', `${list}/files/refresh`)).body).toMatchObject({
      tools: [{ requiredScopes: [] }, { name: 'files.write', requiredScopes: ['w'] }],
    });
  });

  test('a server that fails keeps its former tools', async () => {
    await register();
    const before = await listed();
    fake.pages = [[tool('')]];
    expect((await rest.ask('POST', `${list}/files/refresh`)).status).toBe(502);
    expect(await listed()).toEqual(before);
  });

  test('a server that was deleted, or created again, during its refresh is not written', async () => {
    await register();
    const meanwhile = async (change: () => Promise<unknown>): Promise<number> => {
      let changed: Promise<unknown> | null = null;
      fake.instead = ({ rpc, method }, response) => {
        if (rpc.method !== 'tools/list' || changed !== null) return false;
        changed = change();
        void changed.then(() =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: { tools: [tool('late')] } })),
        );
        return method === 'POST';
      };
      return (await rest.ask('POST', `${list}/files/refresh`)).status;
    };
    const again = async (): Promise<void> => {
      await rest.ask('DELETE', `${list}/files`);
      await register();
    };
    expect(await meanwhile(again)).toBe(409);
    expect(await meanwhile(() => rest.ask('DELETE', `${list}/files`))).toBe(404);
    expect(await listed()).toEqual({ ok: true, servers: [] });
  });
});

test('a workspace has 30 discoveries a minute over all its keys; another workspace has its own', async () => {
  const keys = [rest.owner, await rest.keyOf('admin', ['policies.write'])];
  const post = (key: string | undefined) => rest.ask('POST', list, { body: {}, ...(key === undefined ? {} : { key }) });
  for (let n = 0; n < 30; n += 1) expect((await post(keys[n % 2])).status).toBe(400);
  const limited = await post(keys[1]);
  expect({ status: limited.status, after: limited.headers['retry-after'] }).toEqual({ status: 429, after: '60' });
  expect(errorOf(limited)).toBe('the limit is reached: at most 30 discoveries of tools a minute for each workspace');
  expect((await rest.ask('POST', `${list}/files/refresh`)).status).toBe(429);
  expect((await rest.ask('POST', '/other/admin/toolServers', { key: rest.other, body: {} })).status).toBe(400);
});

test('If-Match permits a write only while the server is unchanged', async () => {
  const { body } = await register();
  const seen = String(Object(body).revision);
  await rest.ask('POST', `${list}/files/refresh`);
  const headers = { 'if-match': seen };
  expect((await rest.ask('DELETE', `${list}/files`, { headers })).status).toBe(412);
  expect((await rest.ask('POST', `${list}/files/refresh`, { headers })).status).toBe(412);
  expect((await rest.ask('DELETE', `${list}/files`, { headers: { 'if-match': String(Number(seen) + 1) } })).status).toBe(200);
});

describe('permissions', () => {
  const requests = [
    ['GET', list, 'policies.read'],
    ['GET', `${list}/files`, 'policies.read'],
    ['POST', list, 'policies.write'],
    ['POST', `${list}/files/refresh`, 'policies.write'],
    ['DELETE', `${list}/files`, 'policies.write'],
  ] as const;

  test.each(requests)('%s %s is for owners and admins, with %s', async (method, url, scope) => {
    for (const [role, scopes, may] of [
      ['owner', [scope], true],
      ['admin', [scope], true],
      ['admin', ['agents.write'], false],
      ['member', ['*'], false],
    ] as const) {
      const { status } = await rest.ask(method, url, {
        key: await rest.keyOf(role, scopes),
        ...(method === 'POST' && url === list ? { body: {} } : {}),
      });
      expect({ role, scopes, refused: status === 403 }).toEqual({ role, scopes, refused: !may });
    }
  });

  test.each(requests.filter(([, url]) => url !== list))('%s %s is 404 for a missing name', async (method, url) => {
    expect((await rest.ask(method, url)).status).toBe(404);
    for (const name of ["'; drop table tool_server; --", '\0', 'fi\0les', 'Files', '__proto__'])
      expect((await rest.ask(method, url.replace('files', encodeURIComponent(name)))).status).toBe(404);
  });

  test('a server of one workspace is neither seen nor changed by another, which may use its name', async () => {
    await register({ headers: { Authorization: secret } });
    const before = await listed();
    const other = { key: rest.other };
    expect((await rest.ask('GET', list, other)).status).toBe(403);
    expect((await rest.ask('GET', '/other/admin/toolServers', other)).body).toEqual({ ok: true, servers: [] });
    const refusals = await Promise.all([
      rest.ask('GET', '/other/admin/toolServers/files', other),
      rest.ask('POST', '/other/admin/toolServers/files/refresh', other),
      rest.ask('DELETE', '/other/admin/toolServers/files', other),
    ]);
    expect(refusals.map(({ status, body }) => ({ status, body }))).toEqual(
      refusals.map(() => ({ status: 404, body: { error: 'there is no such tool server' } })),
    );
    expect((await rest.ask('POST', '/other/admin/toolServers', { ...other, body: { name: 'files', url: fake.url } })).status).toBe(200);
    expect((await rest.ask('DELETE', '/other/admin/toolServers/files', other)).status).toBe(200);
    expect(await listed()).toEqual(before);
  });
});

test('a sidecar denies an agent that lacks a tool’s scope, and allows one that has it', async () => {
  const plane = await startPlane({ reach: theirs, sealer });
  try {
    const { key } = await plane.issueKey(['sidecar.sync', 'govern']);
    const enabledTools = ['files.*'];
    const lacking = await plane.createAgent({ name: 'lacking', enabledTools, scopes: [] });
    const having = await plane.createAgent({ name: 'having', enabledTools, scopes: ['files:write'] });
    const { sidecar, reaches } = await followPlane(plane, { key, form: 'library' });
    const decisions = async (toolName: string): Promise<readonly string[]> => {
      await reaches(await plane.revision());
      return Promise.all(
        [lacking, having].map(async (agent) => {
          const verdict = await startRun(sidecar, { agent, tier: 'api' }).decide({ tool: toolName, input: {} });
          return verdict.allowed ? 'allowed' : verdict.code;
        }),
      );
    };
    expect(await decisions('files.write')).toEqual(['allowed', 'allowed']);
    const body = { name: 'files', url: fake.url, tools: { write: { requiredScopes: ['files:write'] } } };
    expect((await plane.ask('POST', list, { body })).status).toBe(200);
    expect(await decisions('files.write')).toEqual(['scope_missing', 'allowed']);
    expect(await decisions('files.read')).toEqual(['allowed', 'allowed']);
    expect((await plane.ask('DELETE', `${list}/files`)).status).toBe(200);
    expect(await decisions('files.write')).toEqual(['allowed', 'allowed']);
  } finally {
    await plane.close();
  }
}, 60_000);
