// Programs of tool servers: real ones, each a few lines of JavaScript.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../sidecar/base/clock.ts';
import { type Channel, UpstreamDown, upstreamBounds } from '../../../sidecar/upstream/upstream.ts';
import type { Command } from '../../../sidecar/upstream/program.ts';
import { createPrograms, type Programs } from '../../../sidecar/upstream/programs.ts';
import { createManualClock } from '../../support/manual-clock.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-programs-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const made: Programs[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map((programs) => programs.close()));
});

const echo = `process.stdin.on('data', (data) => process.stdout.write(data)).on('end', () => process.exit(0));`;
/** Prints its process id, then repeats what it receives. */
const introduced = `process.stdout.write(process.pid + '\\n'); ${echo}`;

const command = (script: string, fields: Partial<Command> = {}): Command => ({
  program: process.execPath,
  args: ['-e', script],
  env: {},
  cwd: null,
  ...fields,
});

function programs(
  of: Command,
  { max, clock = systemClock }: { max?: number; clock?: Pick<typeof systemClock, 'now' | 'after'> } = {},
): Programs {
  const one = createPrograms({ clock, env: { PATH: process.env['PATH'] ?? '' } }, of, max);
  made.push(one);
  return one;
}

interface HeardProgram {
  readonly channel: Channel;
  /** Returns the next line that it writes. */
  readonly line: () => Promise<string>;
  readonly closed: Promise<string>;
}

async function open(of: Programs): Promise<HeardProgram> {
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  let close: (problem: string) => void;
  const closed = new Promise<string>((resolve) => (close = resolve));
  const channel = await of.open({
    message: (bytes) => {
      const line = Buffer.from(bytes).toString();
      const next = waiting.shift();
      if (next === undefined) lines.push(line);
      else next(line);
    },
    closed: (problem) => close(problem),
  });
  const line = (): Promise<string> => {
    const first = lines.shift();
    return first === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(first);
  };
  return { channel, line, closed };
}

/** Returns false also for an ended program whose exit status was not read yet. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('messages go both ways, in order', async () => {
  const { channel, line } = await open(programs(command(echo)));
  await Promise.all(['{"id":1}', '{"id":2}', '{"id":3}'].map((message) => channel.send(message)));
  expect([await line(), await line(), await line()]).toEqual(['{"id":1}', '{"id":2}', '{"id":3}']);
});

test('each opening starts its own program', async () => {
  const server = programs(command(introduced));
  const [one, other] = await Promise.all([open(server), open(server)]);
  expect(await one.line()).not.toBe(await other.line());
});

test('a program has the variables it was given and those it needs, and no other variables of ours', async () => {
  process.env['SOME_SECRET_OF_OURS'] = 'x';
  const script = `process.stdout.write(JSON.stringify(Object.keys(process.env).sort()) + '\\n'); ${echo}`;
  const { line } = await open(programs(command(script, { env: { TOKEN: 'x' } })));
  delete process.env['SOME_SECRET_OF_OURS'];
  expect(JSON.parse(await line())).toEqual(['PATH', 'TOKEN']);
});

test('it is started in the folder that is named', async () => {
  const { line } = await open(programs(command(`process.stdout.write(process.cwd() + '\\n'); ${echo}`, { cwd: folder })));
  expect(await line()).toBe(folder);
});

test('closing ends the program and what it has started, even if both ignore signals', async () => {
  const child = `process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000);`;
  const script = `
    const { spawn } = require('node:child_process');
    const one = spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
    process.on('SIGTERM', () => undefined);
    process.stdout.write(JSON.stringify([process.pid, one.pid]) + '\\n');
    setInterval(() => undefined, 1000);`;
  const clock = createManualClock();
  const { channel, line, closed } = await open(programs(command(script), { clock }));
  const pids: readonly number[] = JSON.parse(await line());
  expect(pids.map(isRunning)).toEqual([true, true]);
  channel.close();
  channel.close();
  clock.advance(1_500);
  expect(await closed).toBe('was closed');
  // The kernel has sent the signal to both. The child may receive it a moment later.
  await expect.poll(() => pids.map(isRunning)).toEqual([false, false]);
});

test('a program that ends with its input is not killed', async () => {
  const clock = createManualClock();
  const { channel, closed } = await open(programs(command(echo), { clock }));
  channel.close();
  expect(await closed).toBe('was closed');
});

test('what it wrote before it ended is received before the end', async () => {
  const script = `process.stdout.write('{"last":"words"}\\n', () => process.exit(3));`;
  const { line, closed } = await open(programs(command(script)));
  const order: string[] = [];
  await Promise.all([line().then(() => order.push('line')), closed.then((problem) => order.push(problem))]);
  expect(order).toEqual(['line', 'exited with 3']);
});

test('sending to an ended program is rejected with a message', async () => {
  const { channel, closed } = await open(programs(command('process.exit(0)')));
  await closed;
  await expect(channel.send('{}')).rejects.toThrow(new UpstreamDown('exited with 0'));
});

test('a message that it never reads is rejected when it ends, and not before', async () => {
  const { channel, closed } = await open(programs(command(`setInterval(() => undefined, 1000); process.stdin.pause();`)));
  const sent = channel.send('x'.repeat(4 * 1_048_576));
  const settled = sent.then(
    () => 'sent',
    () => 'refused',
  );
  channel.close();
  expect(await settled).toBe('refused');
  expect(await closed).toBe('was closed');
});

test('a line over the bound ends it, and is not received', async () => {
  const script = `process.stdout.write('x'.repeat(${upstreamBounds.messageBytes + 1}) + '\\n'); ${echo}`;
  const { closed } = await open(programs(command(script)));
  expect(await closed).toBe(`wrote a line of more than ${upstreamBounds.messageBytes} bytes`);
});

test('nothing more is read until the received message is processed', async () => {
  // More than a pipe can hold: the program waits, and reports only when it could write all of it.
  const script = `process.stdout.write(('y'.repeat(1000) + '\\n').repeat(2000), () => process.stdout.write('done\\n')); ${echo}`;
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let heard = 0;
  let finished: () => void;
  const done = new Promise<void>((resolve) => (finished = resolve));
  const first = new Promise<void>((resolve) => {
    void programs(command(script)).open({
      message: async (bytes) => {
        heard += 1;
        resolve();
        if (Buffer.from(bytes).toString() === 'done') finished();
        await held;
      },
      closed: () => undefined,
    });
  });
  await first;
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toBe(1);
  release();
  await done;
  expect(heard).toBe(2001);
});

test('its standard error is discarded and blocks nothing', async () => {
  const script = `process.stderr.write('e'.repeat(4 * 1048576), () => process.stdout.write('on\\n')); ${echo}`;
  const { line } = await open(programs(command(script)));
  expect(await line()).toBe('on');
});

test.each<readonly [string, Partial<Command>, string]>([
  ['that is not there', { program: 'no-such-program-of-ours' }, 'there is no such program'],
  ['that may not be executed', { program: '/etc/passwd' }, 'it may not be executed'],
  ['in a folder that is not there', { cwd: '/no/such/folder' }, 'no such folder'],
])('the error of a program %s is reported', async (_what, fields, words) => {
  await expect(programs(command(echo, fields)).open({ message: () => undefined, closed: () => undefined })).rejects.toThrow(words);
});

test('the number of programs is bounded, and a place is free when one is asked to end, unless too many take long to end', async () => {
  const clock = createManualClock();
  const stubborn = `process.on('SIGTERM', () => undefined); process.stdout.write('{}\\n'); setInterval(() => undefined, 1000);`;
  const server = programs(command(stubborn), { max: 2, clock });
  const [one, two] = await Promise.all([open(server), open(server)]);
  await expect(open(server)).rejects.toThrow('has 2 sessions open');
  one.channel.close();
  const three = await open(server);
  two.channel.close();
  await expect(open(server)).rejects.toThrow('has 2 sessions open');
  clock.advance(1_500);
  await Promise.all([one.closed, two.closed]);
  await open(server);
  expect(three.channel).not.toBe(one.channel);
  const closing = server.close();
  clock.advance(1_500);
  await closing;
});

test('an unused program ends after an hour, and a message in either direction restarts the hour', async () => {
  const clock = createManualClock();
  const { channel, line, closed } = await open(programs(command(echo), { clock }));
  clock.advance(3_599_000);
  await channel.send('{}');
  await line();
  clock.advance(3_599_000);
  await channel.send('{}');
  await line();
  clock.advance(3_600_000);
  expect(await closed).toBe('was closed');
});

test('after a program that ends before its first message, the next start waits, longer each time, until one sends a message', async () => {
  const clock = createManualClock();
  const marker = join(folder, 'speaks');
  const script = `if (!require('node:fs').existsSync(${JSON.stringify(marker)})) process.exit(1); ${introduced}`;
  const server = programs(command(script), { clock });
  const fails = async (): Promise<void> => {
    expect(await (await open(server)).closed).toBe('exited with 1');
  };
  await fails();
  await fails();
  await expect(open(server)).rejects.toThrow('ends as soon as it is started; it is tried again in 1 s');
  clock.advance(1_000);
  await fails();
  await expect(open(server)).rejects.toThrow('tried again in 2 s');
  for (let at = 0; at < 8; at++) {
    clock.advance(30_000);
    await fails();
  }
  await expect(open(server)).rejects.toThrow('tried again in 30 s');
  clock.advance(30_000);
  writeFileSync(marker, '');
  const { line, channel, closed } = await open(server);
  await line();
  channel.close();
  await closed;
  await open(server);
});

test('after a program that has sent a message, the next is started at once', async () => {
  const server = programs(command(`process.stdout.write('{}\\n', () => process.exit(1))`));
  for (let at = 0; at < 4; at++) expect(await (await open(server)).closed).toBe('exited with 1');
});

test('closing all of them waits until they are gone, and no program is started afterwards', async () => {
  const server = programs(command(introduced));
  const all = await Promise.all([open(server), open(server), open(server)]);
  const pids = await Promise.all(all.map(async ({ line }) => Number(await line())));
  await server.close();
  expect(pids.map(isRunning)).toEqual([false, false, false]);
  await expect(open(server)).rejects.toThrow('is no longer there');
});

test('a program whose sidecar is killed receives the end of its input', async () => {
  const program = new URL('../../../sidecar/upstream/programs.ts', import.meta.url).href;
  const parent = `
    const { createPrograms } = await import(${JSON.stringify(program)});
    const { systemClock } = await import(${JSON.stringify(new URL('../../../sidecar/base/clock.ts', import.meta.url).href)});
    const programs = createPrograms({ clock: systemClock, env: {} }, ${JSON.stringify(command(introduced))});
    await programs.open({ message: (bytes) => process.stdout.write(Buffer.from(bytes).toString() + '\\n'), closed: () => undefined });`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=tollgate-source', '--input-type=module', '-e', parent], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  expect(isRunning(pid)).toBe(true);
  child.kill('SIGKILL');
  await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
});
