// What the operator's file can contain, and the messages about what it must not contain.
import { expect, test } from 'vitest';
import { gatewayFileBytesMax, readGatewayFile } from '../../../sidecar/upstream/gateway-file.ts';

const env = { TOKEN: 'the-secret', EMPTY: '', BROKEN: 'one\ntwo', TOLLGATE_KEY: 'gsk_acme_own' };
const read = (value: unknown) => readGatewayFile(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), env);
const problemsOf = (value: unknown): readonly string[] => {
  const answer = read(value);
  return 'problems' in answer ? answer.problems : [];
};
const serverOf = (entry: object) => {
  const answer = read({ mcpServers: { one: entry } });
  return 'file' in answer ? answer.file.mcpServers.get('one') : answer.problems;
};

test('a file in the form that MCP clients know is read, with its variables replaced', () => {
  const answer = read({
    mcpServers: {
      github: { type: 'http', url: 'https://tools.example/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
      files: { command: 'mcp-files', args: ['--root', '/srv/${TOKEN}'], env: { KEY: '${TOKEN}' }, cwd: '/srv' },
      crm: { headers: { 'X-Key': '${TOKEN}' } },
    },
    httpTools: { billing: { url: 'http://billing.internal/v1', headers: { 'X-Team': 'a' } } },
  });
  if (!('file' in answer)) throw new Error(answer.problems.join());
  expect(Object.fromEntries(answer.file.mcpServers)).toEqual({
    github: { kind: 'url', url: 'https://tools.example/mcp', headers: { Authorization: 'Bearer the-secret' }, admitted: null },
    files: {
      kind: 'command',
      program: 'mcp-files',
      args: ['--root', '/srv/the-secret'],
      env: { KEY: 'the-secret' },
      cwd: '/srv',
      admitted: null,
    },
    crm: { kind: 'values', headers: { 'X-Key': 'the-secret' }, env: {} },
  });
  expect(Object.fromEntries(answer.file.httpTools)).toMatchObject({ billing: { origin: 'http://billing.internal' } });
});

test('a file without sections defines nothing', () => {
  expect(read({})).toEqual({ file: { mcpServers: new Map(), httpTools: new Map() } });
});

test('digests that the operator admits are stored by tool', () => {
  const digest = 'a'.repeat(64);
  expect(serverOf({ command: 'x', toolDefinitions: { read: digest } })).toMatchObject({ admitted: { read: digest } });
});

const url = 'https://tools.example/mcp';
test.each<readonly [string, unknown, string]>([
  ['no JSON', '{"mcpServers": {', 'the file '],
  ['a key twice', '{"mcpServers": {}, "mcpServers": {}}', 'the file '],
  ['a list', [], 'the file must be an object'],
  ['an unknown section', { servers: {} }, 'servers is not a field here; there are mcpServers, httpTools'],
  ['a section that is a list', { mcpServers: [] }, 'mcpServers must be an object'],
  ['a name in capitals', { mcpServers: { GitHub: { url } } }, 'mcpServers.GitHub is not a valid name: it must be 1 to 63 of a-z'],
  ['a name that begins with -', { mcpServers: { '-a': { url } } }, 'mcpServers["-a"] is not a valid name'],
  ['an entry that is text', { mcpServers: { one: url } }, 'mcpServers.one must be an object'],
  ['an empty entry', { mcpServers: { one: {} } }, 'mcpServers.one must have "url" or "command"; or, for a server that the control plane'],
  ['both places', { mcpServers: { one: { url, command: 'x' } } }, 'mcpServers.one must have either "url" or "command"'],
  ['an unknown field', { mcpServers: { one: { url, disabled: true } } }, 'mcpServers.one.disabled is not a field here'],
  ['args next to a url', { mcpServers: { one: { url, args: [] } } }, 'mcpServers.one.args is not a field here'],
  ['the old transport', { mcpServers: { one: { type: 'sse', url } } }, 'mcpServers.one.type must be "http"'],
  ['a url that is none', { mcpServers: { one: { url: 'tools.example' } } }, 'mcpServers.one.url must be a URL'],
  ['a url of a file', { mcpServers: { one: { url: 'file:///etc/passwd' } } }, 'mcpServers.one.url must begin with https://'],
  ['a url with a password', { mcpServers: { one: { url: 'https://a:b@x.test' } } }, 'mcpServers.one.url must hold no credentials'],
  ['a url with a fragment', { mcpServers: { one: { url: `${url}#a` } } }, 'mcpServers.one.url must have no fragment'],
  ['a header of the transport', { mcpServers: { one: { url, headers: { 'Mcp-Session-Id': 'x' } } } }, 'is a header that the connection'],
  ['an invalid header name', { mcpServers: { one: { url, headers: { 'a b': 'x' } } } }, 'headers["a b"] is not the name of a header'],
  ['a header twice', { mcpServers: { one: { url, headers: { 'X-A': '1', 'x-a': '2' } } } }, 'mcpServers.one.headers names x-a twice'],
  ['a header that is a number', { mcpServers: { one: { url, headers: { a: 1 } } } }, 'headers["a"] must be a string'],
  [
    'a header with a line break',
    { mcpServers: { one: { url, headers: { a: '${BROKEN}' } } } },
    'headers["a"] must hold no control character',
  ],
  ['no program', { mcpServers: { one: { command: '' } } }, 'mcpServers.one.command must name a program'],
  ['args as text', { mcpServers: { one: { command: 'x', args: '-a' } } }, 'mcpServers.one.args must be a list of strings'],
  ['an argument that is none', { mcpServers: { one: { command: 'x', args: ['a', 1] } } }, 'mcpServers.one.args[1] must be a string'],
  ['a NUL', { mcpServers: { one: { command: 'x', args: ['a\0'] } } }, 'mcpServers.one.args[0] must not contain NUL'],
  ['a variable without a name', { mcpServers: { one: { command: 'x', env: { '': 'a' } } } }, 'is not the name of a variable'],
  ['a variable with =', { mcpServers: { one: { command: 'x', env: { 'A=B': 'a' } } } }, 'is not the name of a variable'],
  [
    'a variable that is not set',
    { mcpServers: { one: { url, headers: { a: '${NONE}' } } } },
    'headers["a"] names the variable NONE, which is not set',
  ],
  [
    'a variable that is empty',
    { mcpServers: { one: { url: '${EMPTY}' } } },
    'mcpServers.one.url names the variable EMPTY, which is not set',
  ],
  [
    'a default for a variable',
    { mcpServers: { one: { url: '${URL:-x}' } } },
    'mcpServers.one.url has a "${" that does not begin a variable',
  ],
  ['an open variable', { mcpServers: { one: { url: '${TOKEN' } } }, 'mcpServers.one.url has a "${" that does not begin a variable'],
  ['a key of ours', { mcpServers: { one: { url, headers: { a: '${TOLLGATE_KEY}' } } } }, 'names TOLLGATE_KEY, which belongs to Tollgate'],
  [
    'a digest that is none',
    { mcpServers: { one: { url, toolDefinitions: { read: 'x' } } } },
    'toolDefinitions["read"] must be 64 hex digits',
  ],
  ['one name for both', { mcpServers: { one: { url } }, httpTools: { one: { url } } }, 'httpTools.one is also the name of an MCP server'],
  ['too large a file', ' '.repeat(gatewayFileBytesMax + 1), `the file is larger than ${gatewayFileBytesMax} bytes`],
])('%s is rejected, with its place', (_what, value, problem) => {
  expect(problemsOf(value).join('\n')).toContain(problem);
});

test('all problems are reported together', () => {
  const problems = problemsOf({
    mcpServers: { A: { url: 'x' }, b: { command: 1 }, c: { url, headers: { a: '${NONE}', b: '${NADA}' } } },
    x: 1,
  });
  expect(problems).toHaveLength(6);
});

test('no problem quotes the value of a variable', () => {
  const problems = problemsOf({
    mcpServers: { one: { url: '${TOKEN}', headers: { 'X-A': '${BROKEN}${TOKEN}' } }, two: { url: 'https://${TOKEN}:x@y.test' } },
  });
  expect(problems.length).toBeGreaterThan(2);
  expect(problems.join('\n')).not.toContain('the-secret');
});

test('names of prototype properties are ordinary', () => {
  expect(serverOf({ command: 'x', env: JSON.parse('{"__proto__": "a", "constructor": "b"}') })).toMatchObject({ kind: 'command' });
  expect(problemsOf('{"mcpServers": {"__proto__": {"url": "https://x.test"}}}').join()).toContain('is not a valid name');
});
