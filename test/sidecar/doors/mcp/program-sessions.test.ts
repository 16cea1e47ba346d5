// Sessions with programs: which message belongs to which session on the single line of a program, and what happens to
// calls whose client cancels, disconnects or is locked out.
import { describe, expect, test } from 'vitest';
import { upstreamBounds } from '../../../../sidecar/upstream/upstream.ts';
import { key, keyText, ruleFor, type World } from '../../../support/snapshots.ts';
import { greet, type Line, type Lines, lines, openStream } from './program-line.ts';
import { call, modernCall, modernHeaders, own, send, serversOf, startProxied, type TestProxy } from './proxied.ts';

const mail = 'bob@acme-mail.eu';
const redactsSecret: World = { documents: [ruleFor('s.secret', { transform: 'redact' })] };

interface Behind {
  readonly program: Lines;
  readonly proxied: TestProxy;
  readonly headers: Record<string, string>;
  /** The line of the session. */
  readonly line: Line;
}

async function behind(world: World = {}): Promise<Behind> {
  const program = lines('s');
  const proxied = await startProxied(serversOf(program.server), world);
  const { headers } = await greet(proxied, 's');
  const [line] = program.all;
  if (line === undefined) throw new Error('no program was started');
  return { program, proxied, headers, line };
}

const cancelled = (requestId: string | number): object => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
const log = (data: string): object => ({ method: 'notifications/message', params: { level: 'info', data } });
const withToken = (name: string, id: number, progressToken: string): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {}, _meta: { progressToken } },
});

describe('a cancelled call', () => {
  test('ends its stream, and an answer that still arrives belongs to no client', async () => {
    const { proxied, headers, line } = await behind(redactsSecret);
    const secret = await openStream(proxied, 's', headers, call('secret', {}, 100));
    const [heard] = line.calls('secret');
    await send(proxied, 's', { body: cancelled(100), headers });
    expect(await secret.text).toBe('');
    // The program is notified with the id that it knows the call by.
    expect(line.heard.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: heard?.id } });
    const slow = await openStream(proxied, 's', headers, call('slow', {}, 101));
    line.answer(heard?.id, `of another: ${mail}`);
    line.answer(line.calls('slow')[0]?.id, 'its own');
    const text = await slow.text;
    expect(text).toContain('its own');
    expect(text).toContain('"id":101');
    expect(text).not.toContain(mail);
  });

  test('does not pass its id to another call of the session', async () => {
    const { proxied, headers, line } = await behind();
    await openStream(proxied, 's', headers, call('slow', {}, 100));
    await send(proxied, 's', { body: cancelled(100), headers });
    const again = await send(proxied, 's', { body: call('other', {}, 100), headers });
    expect([again.status, again.body.error?.message]).toEqual([400, expect.stringContaining('abandoned')]);
    expect(line.calls('other')).toEqual([]);
  });

  test('no longer counts as running, and can be cancelled even at the limit of running calls', async () => {
    const { proxied, headers, line } = await behind();
    const ids = Array.from({ length: upstreamBounds.exchangesOfKey }, (_, at) => at + 1);
    const open = await Promise.all(ids.map((id) => openStream(proxied, 's', headers, call('hangs', {}, id))));
    expect((await send(proxied, 's', { body: call('more', {}, 900), headers })).status).toBe(503);
    await Promise.all(ids.map(async (id) => expect((await send(proxied, 's', { body: cancelled(id), headers })).status).toBe(202)));
    await Promise.all(open.map(({ text }) => text));
    const after = await openStream(proxied, 's', headers, call('more', {}, 901));
    line.answer(line.calls('more')[0]?.id, 'here');
    expect(await after.text).toContain('here');
  });
});

describe('a call whose client has gone', () => {
  test('is recorded with its outcome, which is kept for no client', async () => {
    const { proxied, headers, line } = await behind();
    const calling = await openStream(proxied, 's', headers, call('slow', {}, 5));
    const listening = await openStream(proxied, 's', headers);
    calling.leave();
    // A message that names no call arrives here when the other stream is known to be gone.
    await expect
      .poll(() => {
        line.say(log('anybody?'));
        return listening.sofar();
      })
      .toContain('anybody?');
    line.answer(line.calls('slow')[0]?.id, 'for no reader');
    await expect
      .poll(async () => (await proxied.sidecar.entries()).at(-1))
      .toMatchObject({ hookEvent: 'PostToolUse', tool: 's.slow', outcome: { isError: false } });
    await send(proxied, 's', { method: 'DELETE', headers });
    expect(await listening.text).not.toContain('for no reader');
  });

  test('is recorded as unanswered where its session ends first', async () => {
    const { proxied, headers } = await behind();
    const calling = await openStream(proxied, 's', headers, call('slow', {}, 5));
    calling.leave();
    expect((await send(proxied, 's', { method: 'DELETE', headers })).status).toBe(200);
    expect((await proxied.sidecar.entries()).at(-1)).toMatchObject({
      hookEvent: 'PostToolUse',
      tool: 's.slow',
      outcome: { isError: true },
    });
  });
});

describe('a message that names no call', () => {
  test('is redacted as each redacted call of the session is, and progress reaches its own call', async () => {
    const { proxied, headers, line } = await behind(redactsSecret);
    const secret = await openStream(proxied, 's', headers, withToken('secret', 1, 'p1'));
    const slow = await openStream(proxied, 's', headers, withToken('slow', 2, 'p2'));
    const [one] = line.calls('secret');
    const [other] = line.calls('slow');
    line.say(log(`found ${mail}`));
    line.say({
      method: 'notifications/progress',
      params: { progressToken: one?.params?._meta?.progressToken, progress: 1, message: mail },
    });
    line.say({ method: 'notifications/progress', params: { progressToken: 'p2', progress: 2, message: mail } });
    line.answer(one?.id, 'done');
    line.answer(other?.id, 'done');
    const [ofSecret, ofSlow] = await Promise.all([secret.text, slow.text]);
    expect(ofSlow).toContain('notifications/message');
    expect(ofSlow).not.toContain('notifications/progress');
    expect(ofSecret).toContain('"progressToken":"p1"');
    expect(`${ofSecret}${ofSlow}`).not.toContain(mail);
  });

  test('is also redacted on the stream that the client holds open, and after the call', async () => {
    const { proxied, headers, line } = await behind(redactsSecret);
    const secret = await openStream(proxied, 's', headers, call('secret', {}, 1));
    line.answer(line.calls('secret')[0]?.id, 'done');
    await secret.text;
    const listening = await openStream(proxied, 's', headers);
    line.say(log(`found ${mail}`));
    await send(proxied, 's', { method: 'DELETE', headers });
    const text = await listening.text;
    expect(text).toContain('found ');
    expect(text).not.toContain(mail);
  });

  test('waits for a listener only within the memory budget', async () => {
    const { proxied, headers, line } = await behind();
    for (let at = 0; at < 50; at += 1) line.say(log(`${at} ${'x'.repeat(100_000)}`));
    line.say(log('the last'));
    const listening = await openStream(proxied, 's', headers);
    await send(proxied, 's', { method: 'DELETE', headers });
    const text = await listening.text;
    expect(text).toContain('the last');
    expect(text).not.toContain('"data":"0 ');
    expect(text.length).toBeLessThan(1_200_000);
  });
});

describe('a key that is no longer valid', () => {
  const other = key({ id: 'key-2', uid: 'ann' });

  test.each([
    ['revoked', { keys: [other] }],
    ['without the scope', { keys: [key({ scopes: [] }), other] }],
  ])('receives nothing more, and its programs end: %s', async (_how, world) => {
    const { proxied, headers, line } = await behind();
    const listening = await openStream(proxied, 's', headers);
    const calling = await openStream(proxied, 's', headers, call('slow', {}, 5));
    proxied.sidecar.take(world);
    await expect.poll(() => line.isOpen).toBe(false);
    line.say(log('a secret'));
    expect(await listening.text).toBe('');
    expect(await calling.text).toBe('');
    await expect
      .poll(async () => (await proxied.sidecar.entries()).at(-1))
      .toMatchObject({ hookEvent: 'PostToolUse', outcome: { isError: true } });
  });

  test('receives nothing from the moment that it expires', async () => {
    const { proxied, headers } = await behind();
    const { wallTime } = proxied.sidecar.govern.clock;
    proxied.sidecar.take({ keys: [key({ expiresAt: wallTime() + 300 })] });
    const listening = await openStream(proxied, 's', headers);
    proxied.sidecar.time.wallTime += 300;
    expect(await listening.text).toBe('');
  });

  test('does not affect the streams of another key', async () => {
    const { proxied, headers, line } = await behind({ keys: [key(), other] });
    proxied.sidecar.take({ keys: [key()] });
    const listening = await openStream(proxied, 's', headers);
    line.say(log('still here'));
    await send(proxied, 's', { method: 'DELETE', headers });
    expect(await listening.text).toContain('still here');
  });
});

describe('programs of one key', () => {
  const keys = Array.from({ length: 5 }, (_, at) => key({ id: `key-${at + 1}` }));
  const full = { keys };

  test('leave places for another key’s programs, and for the program that serves all clients', async () => {
    const program = lines('s');
    const proxied = await startProxied(serversOf(program.server), full);
    const statuses: number[] = [];
    for (const name of ['key1', 'key2', 'key3', 'key4', 'key5'])
      for (let at = 0; at <= upstreamBounds.programsOfKey; at += 1) {
        const { status, headers } = await greet(proxied, 's', keyText(name));
        statuses.push(status);
        if (status === 200) await openStream(proxied, 's', headers);
      }
    const share = [...Array.from({ length: upstreamBounds.programsOfKey }, () => 200), 503];
    expect(statuses.slice(0, 27)).toEqual([...share, ...share, ...share]);
    expect(statuses.filter((status) => status === 200)).toHaveLength(upstreamBounds.programs - 1);
    const calling = send(proxied, 's', {
      body: modernCall('a', {}, 1),
      headers: { ...modernHeaders('tools/call', 'a'), authorization: `Bearer ${own}` },
    });
    await expect.poll(() => program.all.at(-1)?.calls('a')).toHaveLength(1);
    const line = program.all.at(-1);
    line?.answer(line.calls('a')[0]?.id, 'for everybody');
    expect((await calling).text).toContain('for everybody');
  });

  test('that are not in use are ended to make a place for the key’s next program', async () => {
    const program = lines('s');
    const proxied = await startProxied(serversOf(program.server));
    for (let at = 0; at <= upstreamBounds.programsOfKey; at += 1) expect((await greet(proxied, 's')).status).toBe(200);
    expect(program.all.map(({ isOpen }) => isOpen).indexOf(false)).toBe(0);
    expect(program.all.filter(({ isOpen }) => isOpen)).toHaveLength(upstreamBounds.programsOfKey);
  });

  test('that take time to end count too', async () => {
    const program = lines('s', { ends: false });
    const proxied = await startProxied(serversOf(program.server));
    const statuses: number[] = [];
    for (let at = 0; at <= 2 * upstreamBounds.programsOfKey; at += 1) statuses.push((await greet(proxied, 's')).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(2 * upstreamBounds.programsOfKey);
  });
});
