// `tollgate hook` between a host and its sidecar: it prints the answer unchanged, and a denial where there is no
// answer.
import { createServer, type RequestListener } from 'node:http';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hosts, type HostName } from '@tollgate/proto/contract';
import { answerHeader, hostNamed } from '../../proto/hosts/index.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { recorded, startHosts } from '../sidecar/doors/coding-agents/recorded.ts';
import { agent, keyText } from '../support/snapshots.ts';
import { closedOrigin, folder, run } from './cli.ts';

const key = keyText('key1');

async function sidecar(world = { agents: [agent({ id: 'other', name: 'other' })] }) {
  const started = await startHosts(world);
  return { ...started, url: await started.app.listen({ host: '127.0.0.1', port: 0 }) };
}

/** A server that is no sidecar. */
async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

const asked = (host: HostName, phase: 'before' | 'after') => {
  const found = recorded.find(
    (one) =>
      one.host === host &&
      (phase === 'before' ? /^(?:pre|before)/ : /^(?:post|after)-(?:mcp|bash$|shell$)/).test(one.name) &&
      one.name !== 'post-shell',
  );
  if (found === undefined) throw new Error(`nothing is recorded ${phase} a call of ${host}`);
  return JSON.stringify(found.input);
};
const hook = (host: string, stdin: string, env: Readonly<Record<string, string>>, home?: string) =>
  run(['hook', host], { stdin, env, ...(home === undefined ? {} : { home }) });

describe.each(hosts)('%s', (host) => {
  test("the sidecar's answer is printed unchanged", async () => {
    const { url } = await sidecar();
    for (const one of recorded.filter((each) => each.host === host))
      expect(await hook(host, JSON.stringify(one.input), { TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key })).toEqual({
        code: 0,
        out: one.answers.allow,
        err: '',
      });
  });

  test.each([
    ['nothing listens', closedOrigin, /cannot be reached \(ECONNREFUSED\)/],
    ['another server answers nothing with 200', () => listening((_, answer) => answer.end()), /is not a sidecar/],
    ['another server answers 404', () => listening((_, answer) => answer.writeHead(404).end('{}')), /is not a sidecar/],
    [
      'the answer is cut off',
      () =>
        listening(
          (_, answer) => void answer.writeHead(200, { [answerHeader]: 'allow', 'content-length': 10 }).write('{}', () => answer.destroy()),
        ),
      /cannot be reached|cut/,
    ],
  ])('where %s, the call is denied in the format of the host, and standard error says why', async (_, where, why) => {
    const env = { TOLLGATE_SIDECAR: await where(), TOLLGATE_KEY: key };
    const { code, out, err } = await hook(host, asked(host, 'before'), env);
    expect(hostNamed(host)?.before.denies(out)).toBe(true);
    expect(code).toBe(host === 'copilot-cli' ? 0 : 2);
    expect(err).toMatch(why);
    expect(err).toMatch(/the call is denied\n$/);
    expect(out + err).not.toContain(key);
  });

  test.each([
    ['a page', 'allow', '<html>'],
    ['a list', 'allow', '[]'],
    ['two objects', 'allow', '{}{}'],
    ['a kind that is none', 'maybe', '{}'],
    ['a denial of nothing', 'deny', ''],
    ['a denial that says nothing', 'deny', '{}'],
    ['a denial in no words of the host', 'deny', '{"decision":"maybe"}'],
    ['a change to nothing', 'change', '{}'],
  ])('%s that claims to be the answer of a sidecar is a denial', async (_, kind, body) => {
    const url = await listening((_asked, answer) => answer.writeHead(200, { [answerHeader]: kind }).end(body));
    const { code, out, err } = await hook(host, asked(host, 'before'), { TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key });
    expect(hostNamed(host)?.before.denies(out)).toBe(true);
    expect(code).toBe(host === 'copilot-cli' ? 0 : 2);
    expect(err).toMatch(/the sidecar at \S+ answered .*the call is denied\n$/);
  });

  test('an output is withheld where no sidecar listens', async () => {
    const { code, out, err } = await hook(host, asked(host, 'after'), { TOLLGATE_SIDECAR: await closedOrigin(), TOLLGATE_KEY: key });
    expect(out).toContain('outage: the sidecar');
    expect(out).not.toContain('bob@');
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('the output is withheld') });
  });

  test('an input that no sidecar accepts, or that is not JSON, is denied', async () => {
    const { url } = await sidecar();
    const env = { TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key };
    const large = await hook(host, JSON.stringify({ ...JSON.parse(asked(host, 'before')), filler: 'x'.repeat(1024 * 1024) }), env);
    expect(hostNamed(host)?.before.denies(large.out)).toBe(true);
    for (const text of ['', '{', 'null']) expect(hostNamed(host)?.before.denies((await hook(host, text, env)).out)).toBe(true);
  });
});

test('an unknown host is refused with the exit code that hosts treat as a denial', async () => {
  expect(await run(['hook', 'emacs'])).toMatchObject({ code: 1, err: expect.stringContaining('claude-code') });
});

describe('the address and the key', () => {
  const withFile = (content: unknown, mode = 0o600): string => {
    const home = folder();
    const path = join(home, '.config', 'tollgate', 'sidecar.json');
    mkdirSync(join(home, '.config', 'tollgate'), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    chmodSync(path, mode);
    return home;
  };
  const problemIn = async (env: Readonly<Record<string, string>>, home?: string) =>
    (await hook('claude-code', asked('claude-code', 'before'), env, home)).err;

  test('are those of the file that install writes', async () => {
    const { url } = await sidecar();
    expect(await hook('claude-code', asked('claude-code', 'before'), {}, withFile({ sidecar: url, key }))).toMatchObject({
      code: 0,
      out: '{}',
    });
  });

  test("the file's key goes to the file's address only", async () => {
    const { url } = await sidecar();
    expect(await problemIn({ TOLLGATE_SIDECAR: url }, withFile({ sidecar: 'http://127.0.0.1:1', key }))).toContain('is not sent to');
  });

  test.each([
    ['others can read the file', () => problemIn({}, withFile({ sidecar: 'http://127.0.0.1:1', key }, 0o644)), 'chmod 600'],
    ['the file is damaged', () => problemIn({}, withFile('{')), 'has no valid content'],
    ['there is no key', () => problemIn({}), 'no key is set'],
    [
      'the address is beyond this machine without TLS',
      () => problemIn({ TOLLGATE_SIDECAR: 'http://sidecar.test', TOLLGATE_KEY: key }),
      'without TLS',
    ],
    ['the address is none', () => problemIn({ TOLLGATE_SIDECAR: 'sidecar', TOLLGATE_KEY: key }), 'must have the form'],
    ['the key is none', () => problemIn({ TOLLGATE_SIDECAR: 'http://127.0.0.1:1', TOLLGATE_KEY: 'a\nb' }), 'TOLLGATE_KEY is not a'],
    ['the path of the socket is relative', () => problemIn({ TOLLGATE_SIDECAR: 'unix:it', TOLLGATE_KEY: key }), 'must be absolute'],
    [
      'nothing is at the path of the socket',
      () => problemIn({ TOLLGATE_SIDECAR: 'unix:/nowhere/it', TOLLGATE_KEY: key }),
      'the sidecar at unix:/nowhere/it cannot be reached (ENOENT)',
    ],
  ])('%s: the call is denied, with the reason', async (_, problem, words) => {
    const err = await problem();
    expect(err).toContain(words);
    expect(err).toContain('the call is denied');
    expect(err).not.toContain(key);
  });
});

test('a sidecar is asked over its Unix domain socket, also while a call may wait for a person, and its answer is printed', async () => {
  const started = await startHosts({ agents: [agent({ id: 'other', name: 'other' })] });
  const path = join(folder(), 'it');
  await started.app.listen({ path });
  const env = { TOLLGATE_SIDECAR: `unix:${path}`, TOLLGATE_KEY: key };
  const input = asked('codex', 'before');
  const want = recorded.find((one) => JSON.stringify(one.input) === input)?.answers.allow;
  for (const words of [[], ['--wait-ms', '50000']])
    expect(await run(['hook', 'codex', ...words], { stdin: input, env })).toEqual({ code: 0, out: want, err: '' });
  expect(await started.sidecar.entries()).toHaveLength(2);
});

test('in CI the call counts as a background call', async () => {
  const { url, sidecar: started } = await sidecar();
  await hook('claude-code', asked('claude-code', 'before'), { TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key, CI: 'true' });
  expect((await started.entries()).map(({ agentTier }) => agentTier)).toEqual(['background']);
});

describe('a call that may wait for a person', () => {
  const waiting = (url: string, wait: string) =>
    run(['hook', 'codex', '--wait-ms', wait], { stdin: asked('codex', 'before'), env: { TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key } });
  const denied = hostNamed('codex')?.before.deny('no', 'no') ?? '';

  test('is answered after the time of other calls, as long as the sidecar lives; one that hangs is not waited for', async () => {
    let said: unknown;
    let answer = (): void => undefined;
    // It answers the call after the program has looked whether it lives, which is after the time of other calls.
    const slow = await listening((request, response) => {
      if (request.url === '/healthz') {
        response.end('{}');
        return answer();
      }
      said = request.headers['x-tollgate-wait-ms'];
      answer = () => void response.writeHead(200, { [answerHeader]: 'deny' }).end(denied);
    });
    const hung = await listening(() => undefined);
    const [held, lost] = await Promise.all([waiting(slow, '3600000'), waiting(hung, '3600000')]);
    expect({ ...held, said }).toEqual({ code: 0, out: denied, err: '', said: '3600000' });
    expect(lost).toMatchObject({ code: 2, err: expect.stringContaining('did not answer within 4 s; the call is denied') });
  });

  test.each(['soon', '-1', '1.5', '3600001', ''])('is denied if its wait is %j', async (wait) => {
    const { url } = await sidecar();
    const { code, out, err } = await waiting(url, wait);
    expect([code, hostNamed('codex')?.before.denies(out)]).toEqual([2, true]);
    expect(err).toContain('--wait-ms must be a whole number from 0 to 3600000');
  });

  test('without a wait the sidecar is told of none', async () => {
    let said: unknown = 'nothing';
    const url = await listening((request, response) => {
      said = request.headers['x-tollgate-wait-ms'];
      response.writeHead(200, { [answerHeader]: 'deny' }).end(denied);
    });
    await hook('codex', asked('codex', 'before'), { TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key });
    expect(said).toBeUndefined();
  });
});
