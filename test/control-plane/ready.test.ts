// A sidecar that starts with an older policy on its disk.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { followPlane, type Plane, startPlane } from '../support/plane.ts';
import { temporaryFolder } from '../support/spools.ts';

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

test('is ready with the current policy of the control plane, not with its stored one, once the control plane is reachable', async () => {
  const { key } = await plane.issueKey(['sidecar.sync', 'govern']);
  const spoolDir = temporaryFolder();
  for (let round = 0; round < 5; round++) {
    const revision = await plane.writePolicy({ tools: { [`tool.${round}`]: { api: { permission: 'deny' } } } });
    const { sidecar, close } = await followPlane(plane, { key, spoolDir, form: 'library' });
    expect(sidecar.cell.current?.revision).toBeGreaterThanOrEqual(revision);
    await close();
  }
});

test('is ready with its stored policy while the control plane is not reachable', async () => {
  const { key } = await plane.issueKey(['sidecar.sync', 'govern']);
  const spoolDir = temporaryFolder();
  const first = await followPlane(plane, { key, spoolDir, form: 'library' });
  const kept = first.sidecar.cell.current?.revision;
  await first.close();
  await plane.stopGrpc();
  const { sidecar } = await followPlane(plane, { key, spoolDir, form: 'library' });
  expect(sidecar.cell.current?.revision).toBe(kept);
  await plane.startGrpc();
});
