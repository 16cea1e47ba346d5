// How a hook in a host's settings runs on each machine: which line runs there, and what prevents it from blocking.
import type { HostName } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { installedIn, isOurs, wayOf } from '../../cli/hooks/handler.ts';
import { headersOf } from '../../cli/hooks/canary.ts';

const ours = 'tollgate hook copilot-cli';

describe('Copilot CLI runs one of its lines', () => {
  test.each([
    ['linux', { bash: `${ours} --agent a`, powershell: `${ours} --agent b`, command: `${ours} --agent c` }, `${ours} --agent a`],
    ['darwin', { bash: `${ours} --agent a`, powershell: `${ours} --agent b`, command: `${ours} --agent c` }, `${ours} --agent a`],
    ['win32', { bash: `${ours} --agent a`, powershell: `${ours} --agent b`, command: `${ours} --agent c` }, `${ours} --agent b`],
    ['linux', { powershell: 'other', command: ours }, ours],
    ['win32', { bash: 'other', command: ours }, ours],
    ['win32', { bash: ours, powershell: 'other.ps1' }, 'other.ps1'],
    ['linux', { bash: 'true', powershell: ours }, 'true'],
    ['linux', { powershell: ours }, ''],
  ] as const)('on %s of %j', (platform, lines, command) => {
    const handler = { type: 'command', ...lines };
    const shell = platform === 'win32' ? 'powershell' : 'sh';
    expect(wayOf('copilot-cli', handler, { platform })).toEqual({ kind: 'command', command, shell });
    expect(isOurs('copilot-cli', handler)).toBe(true);
    const { gaps = [] } = installedIn('copilot-cli', [{ handler, group: handler }], { platform }) ?? {};
    if (command.startsWith(ours)) expect(gaps).toEqual([]);
    else if (command === '') expect(gaps).toEqual([expect.stringContaining('has no command for the shell of this machine')]);
    else expect(gaps).toEqual([expect.stringContaining(`the line "${command}" does not only start tollgate`)]);
  });

  test('a hook without a line that starts tollgate is not ours', () => {
    const handler = { type: 'command', bash: 'a', powershell: 'b' };
    expect([wayOf('copilot-cli', handler), isOurs('copilot-cli', handler)]).toEqual([null, false]);
  });
});

test.each([
  ['claude-code', 'win32', {}, 'sh'],
  ['claude-code', 'linux', { shell: 'powershell' }, 'powershell'],
  ['gemini-cli', 'win32', {}, 'powershell'],
  ['gemini-cli', 'darwin', {}, 'sh'],
  ['codex', 'win32', {}, 'cmd'],
  ['codex', 'linux', {}, 'sh'],
] as const)('%s on %s with %j starts its line by %s', (host, platform, more, shell) => {
  expect(wayOf(host, { command: `tollgate hook ${host}`, ...more }, { platform })).toMatchObject({ kind: 'command', shell });
});

const gapsOf = (host: HostName, more: object, group: object = {}): readonly string[] | undefined =>
  installedIn(host, [{ handler: { command: `tollgate hook ${host}`, failClosed: true, ...more }, group }], { platform: 'linux' })?.gaps;

describe('a time limit that ends before tollgate answers', () => {
  test.each([
    ['claude-code', 'timeout', 4, 10],
    ['codex', 'timeout', 1, 10],
    ['cursor', 'timeout', 3.5, 10],
    ['gemini-cli', 'timeout', 10, 10_000],
    ['gemini-cli', 'timeout', 4_000, 10_000],
    ['copilot-cli', 'timeoutSec', 2, 10],
    ['copilot-cli', 'timeout', 2, 10],
  ] as const)('of %s, "%s": %d, is reported, and %d is correct', (host, name, limit, right) => {
    const seconds = host === 'gemini-cli' ? limit / 1_000 : limit;
    expect(gapsOf(host, { [name]: limit })).toEqual([
      `the host waits ${seconds} s for the hook ("${name}": ${limit}), which may take 4 s; correct is ${right}`,
    ]);
    for (const enough of [right, undefined]) expect(gapsOf(host, { [name]: enough })).toEqual([]);
  });

  test('is read under each of its names', () => {
    expect(gapsOf('copilot-cli', { timeoutSec: 10, timeout: 1 })).toEqual([expect.stringContaining('"timeout": 1')]);
  });

  test('a value that is not a number is no time limit, and is reported', () => {
    expect(gapsOf('claude-code', { timeout: '10' })).toEqual(['"timeout" of the hook is "10" and not a number; correct is 10']);
  });
});

describe('a time limit that ends before a person could answer', () => {
  const waiting = (host: HostName, more: object) => gapsOf(host, { command: `tollgate hook ${host} --wait-ms 50000`, ...more });
  test.each([
    ['claude-code', 'timeout', 54, 60],
    ['codex', 'timeout', 10, 60],
    ['cursor', 'timeout', 30, 60],
    ['gemini-cli', 'timeout', 54_000, 60_000],
    ['copilot-cli', 'timeoutSec', 30, 60],
  ] as const)('of %s, "%s": %d, is reported, and so is none', (host, name, limit, right) => {
    const seconds = host === 'gemini-cli' ? limit / 1_000 : limit;
    expect(waiting(host, { [name]: limit })).toEqual([
      `the host waits ${seconds} s for the hook ("${name}": ${limit}), which may take 54 s; correct is ${right}`,
    ]);
    expect(waiting(host, {})).toEqual([`the hook may take 54 s, and its "${name}" is not set; correct is ${right}`]);
    expect(waiting(host, { [name]: right })).toEqual([]);
  });

  test('a hook over HTTP names its wait in a header', () => {
    const hook = { type: 'http', url: 'http://127.0.0.1:9090/hooks/claude-code', headers: { 'x-tollgate-wait-ms': '50000' } };
    expect(gapsOf('claude-code', { ...hook, command: undefined, timeout: 30 })).toEqual([expect.stringContaining('correct is 60')]);
    expect(gapsOf('claude-code', { ...hook, command: undefined, timeout: 60 })).toEqual([]);
  });
});

test.each(['async', 'asyncRewake'])('a hook that is "%s" does not block', (name) => {
  expect(gapsOf('claude-code', { [name]: true })).toEqual([`the call does not wait for the hook, which is "${name}"; remove that`]);
  expect(gapsOf('claude-code', { [name]: false })).toEqual([]);
});

test('a hook that runs once, or fails open in Cursor, is reported', () => {
  expect(gapsOf('claude-code', { once: true })).toEqual([expect.stringContaining('"once"')]);
  for (const failClosed of [undefined, false, 'yes'])
    expect(gapsOf('cursor', { failClosed })).toEqual([expect.stringContaining('"failClosed"')]);
  expect(gapsOf('gemini-cli', { failClosed: false })).toEqual([]);
});

test('of two hooks the one that blocks is checked', () => {
  const of = (command: string) => ({ handler: { command }, group: {} });
  const [bad, good] = ['tollgate hook codex; true', 'tollgate hook codex || exit 2'];
  expect(installedIn('codex', [of(bad), of(good)])).toMatchObject({ way: { command: good }, gaps: [] });
  expect(installedIn('codex', [of('mine')])).toBeNull();
});

describe('headers of a hook over HTTP', () => {
  const way = (headers: Readonly<Record<string, string>>, allowedEnvVars: readonly string[]) => {
    const found = wayOf('claude-code', { type: 'http', url: 'http://127.0.0.1:9090/hooks/claude-code', headers, allowedEnvVars });
    if (found?.kind !== 'http') throw new Error('none of ours');
    return found;
  };
  test('are those of the hook, with the variables that it allows', () => {
    const headers = { Authorization: 'Bearer $KEY', 'X-A': '${A}-$B.$a$', 'Content-Length': '1', 'X-Line': '$LINE' };
    expect(headersOf(way(headers, ['KEY', 'A', 'LINE']), { KEY: 'k', A: 'a', B: 'b', LINE: 'one\r\ntwo' })).toEqual({
      headers: { 'content-type': 'application/json', Authorization: 'Bearer k', 'X-A': 'a-.$a$', 'X-Line': 'onetwo' },
      missing: ['$B of the header X-A is sent empty; add it to "allowedEnvVars" of the hook'],
    });
  });

  test('a variable that is not set is reported, and no key is taken from elsewhere', () => {
    expect(headersOf(way({ Authorization: 'Bearer $KEY' }, ['KEY']), { TOLLGATE_KEY: 'k' })).toEqual({
      headers: { 'content-type': 'application/json', Authorization: 'Bearer ' },
      missing: ['$KEY of the header Authorization is not set, and is sent empty'],
    });
    expect(headersOf(way({}, []), { TOLLGATE_KEY: 'k' })).toEqual({ headers: { 'content-type': 'application/json' }, missing: [] });
  });
});
