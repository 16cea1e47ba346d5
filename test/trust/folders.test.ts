// A spool folder in which some spools are invalid: spools of dead processes are moved away or left unchanged, and block
// nothing. The tests use the built programs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/programs.ts';
import { openTestStage, type Sidecar, spoolsIn, type Stage, type Workspace } from './stage.ts';

let stage: Stage;
let workspace: Workspace;
let key: string;
let close: () => Promise<unknown>;

beforeAll(async () => {
  ({ stage, close } = await openTestStage());
  workspace = await stage.makeWorkspace('folders');
  key = await stage.keyWith(workspace, ['sidecar.sync', 'govern']);
}, 60_000);
afterAll(() => close());

const sessionsOf = async (session: string): Promise<number> =>
  (await stage.entries(workspace)).filter(({ sessionId }) => sessionId === session).length;

/** Four processes that died with entries the control plane has not received; each was known to it before. */
async function leaveSpools(folder: string): Promise<readonly string[]> {
  const sidecars: Sidecar[] = [];
  for (let n = 0; n < 4; n += 1) {
    const sidecar = await stage.startSidecar(key, folder);
    await eventually(
      () => sidecar.call({ key }),
      (decision) => decision === 'allow',
    );
    await sidecar.delivered();
    sidecars.push(sidecar);
  }
  await stage.killControlPlane();
  for (const sidecar of sidecars) for (let n = 0; n < 5; n += 1) await sidecar.call({ key, session: 'left' });
  for (const sidecar of sidecars) await sidecar.end('SIGKILL');
  await stage.startControlPlane();
  return spoolsIn(folder);
}

test('with a wrong secret, an unreadable one and another workspace: all other entries arrive, and no call is denied because of them', async () => {
  const folder = stage.newFolder('spools');
  const [stolen = '', unreadable = '', foreign = '', sound = ''] = await leaveSpools(folder);
  expect(sound).not.toBe('');
  const files = {
    secret: join(folder, stolen, 'secret'),
    torn: join(folder, unreadable, 'secret'),
    meta: join(folder, foreign, 'spool.json'),
  };
  const before = Object.values(files).map((path) => [path, readFileSync(path, 'utf8')] as const);
  writeFileSync(files.secret, 'f'.repeat(64));
  writeFileSync(files.torn, 'no secret');
  writeFileSync(files.meta, JSON.stringify({ ...JSON.parse(readFileSync(files.meta, 'utf8')), workspaceId: 'f'.repeat(32) }));

  const sidecar = await stage.startSidecar(key, folder);
  await eventually(
    () => sidecar.isReady(),
    (ready) => ready,
  );
  const decisions = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const seen: string[] = [];
      for (let n = 0; n < 30; n += 1) seen.push(await sidecar.call({ key, session: 'load' }));
      return seen;
    }),
  );
  expect(new Set(decisions.flat())).toEqual(new Set(['allow']));
  await eventually(
    () => sessionsOf('load'),
    (count) => count === 300,
  );
  await eventually(
    () => sessionsOf('left'),
    (count) => count === 5,
  );
  const { sidecars } = await eventually(
    async () => Object((await stage.ask(workspace, 'sidecars')).body) as { readonly sidecars: readonly Record<string, unknown>[] },
    ({ sidecars: all }) => all.some((one) => Object(one['status']).refused?.spools === 2),
  );
  const refusing = sidecars.find((one) => Object(one['status']).refused?.spools === 2);
  expect(refusing).toMatchObject({ connected: true });
  // Five in each. A process that was killed may not have written down yet that the one before was received.
  const { records } = Object(refusing?.['status']).refused;
  expect(records).toBeGreaterThanOrEqual(10);
  expect(records).toBeLessThanOrEqual(12);
  expect(spoolsIn(folder)).toEqual(expect.arrayContaining([stolen, unreadable, foreign]));

  // After they are restored, the next process takes them over: nothing of them was lost.
  await sidecar.end();
  for (const [path, text] of before) writeFileSync(path, text);
  await stage.startSidecar(key, folder);
  await eventually(
    () => sessionsOf('left'),
    (count) => count === 20,
  );
}, 120_000);
