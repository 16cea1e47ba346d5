// Which headers a condition reads: only those are in the input of an HTTP request.
import { expect, test } from 'vitest';
import { headersReadBy, isShownHeader } from '../../../../sidecar/engine/conditions/headers.ts';
import { caseOf } from '../../../support/cased-rules.ts';

test.each([
  ['args.headers["x-tenant"] == "a"', ['x-tenant']],
  ['args.headers.accept == "a" || args["headers"]["x-b"] == "c"', ['accept', 'x-b']],
  ['has(args.headers.accept) && "x-b" in args.headers', ['accept', 'x-b']],
  ['"x-b" in args["headers"]', ['x-b']],
  ['args.headers["x-a"].split(",").exists(part, part == args.headers["x-b"])', ['x-a', 'x-b']],
  ['args.headers["x-a"].matches("^a")', ['x-a']],
  ['args.body.headers["x-a"] == "a"', []],
  ['args.path == "/a" && "body" in args && has(args.headers)', []],
  ['"headers" in args', []],
  ['tool.name == "a" && now > timestamp("2026-01-01T00:00:00Z")', []],
  ['args.list.exists(args_, args_.headers["x-a"] == "a")', []],
] as const)('%s names %j', (when, names) => {
  expect(headersReadBy(caseOf(when).when)).toEqual(names);
});

test.each([
  'args.headers.exists(h, h == "x-evil")',
  'args["headers"].all(h, h != "x-evil")',
  'size(args.headers) == 0',
  'args.headers == {"a": "b"}',
  'args.headers[user.uid] == "a"',
  'args.headers[args.name] == "a"',
  'args.name in args.headers',
  'args == {"a": 1}',
  'args[args.name] == 1',
  'args.exists(key, key == "headers")',
  '[args].exists(a, a.headers["x-a"] == "a")',
  '[args.headers][0]["x-a"] == "a"',
  '(true ? args : args).headers["x-a"] == "a"',
  'dyn(args).headers["x-a"] == "a"',
  'type(args) == map',
])('%s reads headers in another way than by their names', (when) => {
  expect(headersReadBy(caseOf(when).when)).toBeNull();
});

test('credentials, what is said to Tollgate, and names that no header has in this spelling are not shown', () => {
  const hidden = [
    'authorization',
    'proxy-authorization',
    'cookie',
    'cookie2',
    'x-api-key',
    'x_api_key',
    'api-key',
    'apikey',
    'x-goog-api-key',
  ];
  const others = [
    'x-auth-token',
    'x-amz-security-token',
    'x-csrf-token',
    'x-hub-signature',
    'x-client-secret',
    'x-auth',
    'x-tollgate-agent',
  ];
  const impossible = ['Accept', 'x tenant', ':path', '', 'x-é'];
  expect([...hidden, ...others, ...impossible].filter(isShownHeader)).toEqual([]);
  const shown = [
    'accept',
    'x-tenant',
    'x_tenant',
    'host',
    'user-agent',
    'content-type',
    'x-forwarded-for',
    'idempotency-key',
    'x-tokens-left',
    'x-author',
  ];
  expect(shown.filter(isShownHeader)).toEqual(shown);
});
