// A tool server that is a program. It runs in a separate process group, and all processes that it started end with it.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ProgramTransport } from '../../control-plane/runs/mcp/program-transport.ts';
import { eventually } from '../support/programs.ts';

interface Told {
  readonly params: { readonly own: number; readonly child: number };
}

const groupOf = (pid: number): number => Number(spawnSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' }).stdout);
const stateOf = (pid: number): string => spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();

/**
 * Prints its own pid and that of a program that it has started. `deaf`: it ends neither at the end of its input nor on
 * a signal to stop.
 */
async function start(deaf: boolean) {
  const script = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    ${deaf ? "process.on('SIGTERM', () => {});" : "process.stdin.on('end', () => process.exit());"}
    process.stdin.resume();
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', method: 'pids', params: { own: process.pid, child: child.pid } }) + '\\n');
    setInterval(() => {}, 1000);`;
  const transport = new ProgramTransport({ command: process.execPath, args: ['-e', script], env: {}, inherited: {}, bytesMax: 1_000 });
  const told = new Promise<Told>((resolve) => {
    Object.assign(transport, { onmessage: resolve });
  });
  await transport.start();
  return { transport, ...(await told).params };
}

test.each([
  ['ends with its input', false],
  ['is deaf', true],
])('one that %s runs in its own process group, and is gone with its children once it is closed', async (_what, deaf) => {
  const { transport, own, child } = await start(deaf);
  expect(transport.pid).toBe(own);
  expect([groupOf(own), groupOf(child)]).toEqual([own, own]);
  const closed = new Promise<void>((resolve) => {
    Object.assign(transport, { onclose: resolve });
  });
  await transport.close();
  await closed;
  await expect(transport.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow('Not connected');
  await eventually(
    async () => [own, child].map(stateOf),
    // A process that its parent has not waited for yet is a zombie.
    (states) => states.every((state) => state === '' || state.startsWith('Z')),
  );
});

test('a missing program rejects, and one that writes too much is ended', async () => {
  const absent = new ProgramTransport({ command: '/no/such/program', args: [], env: {}, inherited: {}, bytesMax: 1_000 });
  await expect(absent.start()).rejects.toThrow('could not be started: there is no such program');
  await absent.close();

  const script = "process.stdin.on('end', () => process.exit()).resume(); process.stdout.write('x'.repeat(2000))";
  const loud = new ProgramTransport({ command: process.execPath, args: ['-e', script], env: {}, inherited: {}, bytesMax: 1_000 });
  const failed = new Promise<Error>((resolve) => {
    Object.assign(loud, { onerror: resolve });
  });
  const closed = new Promise<void>((resolve) => {
    Object.assign(loud, { onclose: resolve });
  });
  await loud.start();
  expect((await failed).message).toBe('wrote a line of more than 1000 bytes');
  await closed;
});
