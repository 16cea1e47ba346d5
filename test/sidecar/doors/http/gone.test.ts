// A gateway that closes its connection before the answer, as nginx does with `auth_request` after its timeout: nothing
// is sent to the tool's server, nothing is counted, and the entry records it.
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { ruleFor } from '../../../support/snapshots.ts';
import { own, startTool } from './behind-the-gate.ts';

const world = { documents: [ruleFor('billing', { rateLimit: 1 })] };
const request = `GET /tools/billing/invoices HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own}\r\n\r\n`;

test.each(['end', 'destroy'] as const)('a gateway that %ss its connection during recording has its call given back', async (leave) => {
  const { port, sidecar, ask, reached } = await startTool({ world });
  const { spool } = sidecar;
  const waiting: (() => void)[] = [];
  Object.assign(sidecar, {
    spool: {
      ...spool,
      appendAsync: async (json: string) => {
        if (waiting.length === 0) await new Promise<void>((done) => waiting.push(done));
        return spool.appendAsync(json);
      },
    },
  });
  const socket = connect(port, '127.0.0.1', () => socket.write(request));
  socket.on('error', () => undefined);
  await expect.poll(() => waiting).toHaveLength(1);
  socket[leave]();
  // A request on another connection that follows arrives after it.
  expect((await ask({ method: 'GET', path: '/healthz' })).status).toBe(200);
  for (const done of waiting) done();
  await expect
    .poll(async () => (await sidecar.entries()).map(({ hookEvent, code, outcome }) => [hookEvent, code, outcome?.code]))
    .toEqual([
      ['PreToolUse', 'allowed', undefined],
      ['PostToolUse', 'allowed', 'caller_gone'],
    ]);
  expect(reached).toEqual([]);
  expect((await ask({ method: 'GET' })).status).toBe(200);
  expect((await ask({ method: 'GET' })).status).toBe(429);
});

test.each(['end', 'destroy'] as const)('a gateway that asked and %sed while this process was suspended has made no call', async (leave) => {
  const { port, sidecar, ask, reached } = await startTool({ world });
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      '-e',
      `const [port, request, leave] = process.argv.slice(1);
       const socket = require('node:net').connect(Number(port), '127.0.0.1', () => socket.write(request, () => {
         if (leave === 'destroy') socket.resetAndDestroy();
         else socket.end(() => process.exit(0));
       }));`,
      String(port),
      request,
      leave,
    ],
    { encoding: 'utf8', timeout: 20_000 },
  );
  expect([status, stderr]).toEqual([0, '']);
  await expect.poll(async () => JSON.stringify(await sidecar.entries())).toContain('caller_gone');
  expect(reached).toEqual([]);
  expect((await ask({ method: 'GET' })).status).toBe(200);
});

test('requests of a connection that stays open are answered one after the other', async () => {
  const { port, sidecar } = await startTool();
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  for (let n = 1; n <= 15; n += 1) {
    socket.write(request);
    await expect.poll(() => text.split('HTTP/1.1 200').length - 1).toBe(n);
  }
  socket.destroy();
  expect((await sidecar.entries()).filter(({ code }) => code !== 'allowed')).toEqual([]);
});
