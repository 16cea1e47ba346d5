import { expect, test } from 'vitest';
import { readGatewayFile } from '../../../../sidecar/upstream/gateway-file.ts';

function read(billing: unknown, env: Readonly<Record<string, string>> = {}) {
  const found = readGatewayFile(Buffer.from(JSON.stringify({ httpTools: { billing } })), env);
  return 'problems' in found ? found.problems : found.file.httpTools.get('billing');
}

test('a tool needs no more than its address', () => {
  expect(read({ url: 'http://billing.internal:8080/api/' })).toEqual({
    origin: 'http://billing.internal:8080',
    basePath: '/api',
    headers: {},
    forwardHeaders: [],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    nameByMethod: false,
    timeoutMs: 120_000,
  });
});

test('its headers are ours, with variables of the environment; the caller’s headers are listed by name', () => {
  const tool = {
    url: 'https://billing.internal',
    headers: { Authorization: 'Bearer ${BILLING_TOKEN}' },
    forwardHeaders: ['X-Tenant'],
    methods: ['POST', 'GET'],
    nameByMethod: true,
    timeoutMs: 5_000,
  };
  expect(read(tool, { BILLING_TOKEN: 't' })).toEqual({
    origin: 'https://billing.internal',
    basePath: '',
    headers: { authorization: 'Bearer t' },
    forwardHeaders: ['x-tenant'],
    methods: ['GET', 'POST'],
    nameByMethod: true,
    timeoutMs: 5_000,
  });
});

const url = 'https://billing.internal';

test.each([
  ['no address', {}, 'httpTools.billing.url must be a string'],
  ['another protocol', { url: 'ftp://x' }, 'httpTools.billing.url must begin'],
  ['a password in the address', { url: 'https://a:b@x' }, 'httpTools.billing.url must hold no credentials'],
  ['a query in the address', { url: 'https://x/?a=1' }, 'httpTools.billing.url must not have a query'],
  ['an unknown field', { url, header: {} }, 'httpTools.billing.header is not a field here'],
  [
    'a header of the connection',
    { url, headers: { Host: 'x' } },
    'httpTools.billing.headers["Host"] is a header that the connection itself sets',
  ],
  [
    'a header of ours',
    { url, headers: { 'X-Tollgate-Agent': 'x' } },
    'httpTools.billing.headers["X-Tollgate-Agent"] is a header that the proxy itself sets',
  ],
  ['a header twice', { url, headers: { 'X-A': '1', 'x-a': '2' } }, 'httpTools.billing.headers names a header twice'],
  ['a variable that is not set', { url, headers: { 'X-A': '${NONE}' } }, 'names the variable NONE, which is not set'],
  ['the caller’s key forwarded', { url, forwardHeaders: ['Authorization'] }, 'httpTools.billing.forwardHeaders[0] belongs to the caller'],
  [
    'the caller’s cookie forwarded',
    { url, forwardHeaders: ['x-a', 'Cookie'] },
    'httpTools.billing.forwardHeaders[1] belongs to the caller',
  ],
  ['a header name that is none', { url, forwardHeaders: ['x a'] }, 'httpTools.billing.forwardHeaders[0] is not the name of a header'],
  ['a method that is none', { url, methods: ['FETCH'] }, 'httpTools.billing.methods must be a list of GET'],
  ['no methods', { url, methods: [] }, 'httpTools.billing.methods must be a list of GET'],
  ['a name by something else', { url, nameByMethod: 'yes' }, 'httpTools.billing.nameByMethod must be true or false'],
  ['a time that is none', { url, timeoutMs: '5s' }, 'httpTools.billing.timeoutMs must be whole milliseconds'],
])('%s is rejected, with its place', (_, tool, problem) => {
  const problems = read(tool);
  expect(Array.isArray(problems) ? problems.join('\n') : problems).toContain(problem);
});
