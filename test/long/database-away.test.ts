// R5 of one control plane: REST answers 503 within two seconds, whatever the database does.
// test/control-plane/outage.test.ts tests the answers.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCutApp, createWire, lockWorkspace, readAndWrite, unreachable, type Wire } from '../control-plane/cut-database.ts';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { timed } from './timed.ts';

let rest: Rest;
let wire: Wire;
let cut: Awaited<ReturnType<typeof createCutApp>>;
beforeEach(async () => {
  rest = await createRest();
  wire = await createWire(rest);
  cut = await createCutApp(rest, wire);
});
afterEach(async () => {
  await cut.close();
  await wire.close();
  await rest.close();
});

async function expectInTime(method: 'GET' | 'PUT', url: string): Promise<void> {
  const { ms, result } = await timed(() => cut.ask(method, url));
  expect(result).toMatchObject(unreachable);
  expect(ms).toBeLessThan(2_000);
}

test.each(readAndWrite)('%s %s within two seconds: down', async (method, url) => {
  expect((await cut.ask(method, url)).status).toBe(200);
  await wire.cut();
  for (let n = 0; n < 2; n += 1) await expectInTime(method, url);
});

test.each(readAndWrite)('%s %s within two seconds: frozen', async (method, url) => {
  expect((await cut.ask(method, url)).status).toBe(200);
  wire.freeze();
  await expectInTime(method, url);
});

test('a write within two seconds: locked', async () => {
  const unlock = await lockWorkspace(rest);
  await expectInTime('PUT', '/acme/admin/workspacePolicy');
  await unlock();
});
