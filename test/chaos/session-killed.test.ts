// The cap of a session with real processes: a sidecar that is killed in the middle of a session, and starts again on the
// same folder, admits exactly the calls of the cap that the killed one had left. So does another sidecar after it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, eventually, type SidecarProgram, startSidecarProgram } from '../support/programs.ts';
import { askAsOwner, startWorld, type World } from './world.ts';

const cap = 40;

let world: World;
const folders: string[] = [];
const programs: SidecarProgram[] = [];
beforeAll(async () => {
  world = await startWorld();
  const agent = { name: 'builder', model: 'demo/echo', enabledTools: ['shell'], maxToolCalls: cap };
  expect((await askAsOwner(world.planes[0], '/api/v1/agents', { body: agent })).status).toBe(200);
});
afterAll(async () => {
  await Promise.all(programs.map((sidecar) => sidecar.end('SIGKILL')));
  await world.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-session-'));
  folders.push(folder);
  return folder;
}

async function start(spool: string, env: Readonly<Record<string, string>> = {}): Promise<SidecarProgram> {
  const [plane] = world.planes;
  const sidecar = await startSidecarProgram({
    TOLLGATE_KEY: world.key,
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_SPOOL_DIR: spool,
    ...env,
  });
  programs.push(sidecar);
  await eventually(
    async () => (await fetch(`${sidecar.url}/readyz`)).status,
    (status) => status === 200,
  );
  return sidecar;
}

/** Returns the code of the answer, or `retry` if the call may pass later. */
async function call({ url }: SidecarProgram, session: string): Promise<string> {
  const body = { tool_name: 'shell', tool_input: {}, session_id: session, agent_name: 'builder', agent_tier: 'api' };
  const { body: answer } = await ask(`${url}/govern/tool-use`, world.key, { body });
  return answer['kind'] === 'retry' ? 'retry' : (String(answer['reason']).split(':')[0] ?? '');
}

/** Makes calls one by one until `max` are admitted, or one is denied by the cap. Returns the number of admitted calls. */
async function admit(sidecar: SidecarProgram, session: string, max = cap + 1): Promise<number> {
  let admitted = 0;
  let answer = '';
  // A call that waits for what the killed process had left may be denied. It counts nothing and can be made again.
  for (let tries = 0; answer !== 'cap_tool_calls' && admitted < max && tries < 3 * cap; tries += 1) {
    answer = await call(sidecar, session);
    if (answer === 'allowed') admitted += 1;
  }
  return admitted;
}

for (const durability of ['kernel', 'disk']) {
  test(`with durability ${durability} a killed sidecar that starts again admits exactly the rest of the cap`, async () => {
    const folder = newFolder();
    const session = `alone-${durability}`;
    const env = { TOLLGATE_DURABILITY: durability };
    for (const calls of [13, 8]) {
      const sidecar = await start(folder, env);
      expect(await admit(sidecar, session, calls)).toBe(calls);
      await sidecar.end('SIGKILL');
    }
    expect(await admit(await start(folder, env), session)).toBe(cap - 13 - 8);
  });
}

test('a sidecar that is killed among calls at once leaves no call beyond the cap, and at most those that were not answered are lost', async () => {
  const folder = newFolder();
  const first = await start(folder);
  const answers: string[] = [];
  const asked = Array.from({ length: 20 }, async () => {
    const answer = await call(first, 'crowd').catch(() => 'none');
    answers.push(answer);
    if (answers.length === 7) first.signal('SIGKILL');
  });
  await Promise.all(asked);
  const before = answers.filter((answer) => answer === 'allowed').length;
  const unanswered = answers.filter((answer) => answer === 'none').length;
  const after = await admit(await start(folder), 'crowd');
  expect(before + after).toBeLessThanOrEqual(cap);
  expect(before + after).toBeGreaterThanOrEqual(cap - unanswered);
});

test('what a killed sidecar had left of a session is there for another sidecar, once its folder is adopted', async () => {
  const folder = newFolder();
  const first = await start(folder);
  expect(await admit(first, 'moved', 13)).toBe(13);
  const other = await start(newFolder());
  await first.end('SIGKILL');
  await start(folder);
  expect(await admit(other, 'moved')).toBe(cap - 13);
});
