// Tests control planes as processes, and a collector: the control plane that sends is killed in the middle of a batch,
// and another takes over. test/long/audit-export.test.ts measures how soon.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/programs.ts';
import { unmeasured } from './measure.ts';
import { crosses, cursor, type Exporting, metric, startExporting, takesOver } from './taking-over.ts';

let exporting: Exporting;
beforeAll(async () => {
  exporting = await startExporting();
});
afterAll(() => exporting?.close());

test('after kill -9 of the sender in the middle of a batch, another takes over and no entry is missing', () =>
  takesOver(exporting, unmeasured));

test('a new entry is exported, also after the sender was stopped', () => crosses(exporting, unmeasured));

test('a collector that refuses makes no control plane unready; all of them report how far the export is behind', async () => {
  const { collector, planes, ingest } = exporting;
  collector.reply = () => ({ status: 401, body: { message: 'who are you' } });
  const head = await ingest(10);
  for (const plane of planes)
    await eventually(
      () => metric(plane, 'tollgate_audit_export_lag_records'),
      (lag) => lag === 10,
    );
  const ready = async () => Promise.all([...planes].map(async (plane) => (await fetch(`${plane.rest}/readyz`)).json()));
  const warning = 'audit entries are not exported: the collector answered 401 Unauthorized (one workspace, retried at intervals)';
  await eventually(ready, (answers) => JSON.stringify(answers).includes(warning));
  expect(await ready()).toEqual(expect.arrayContaining([{ ok: true }, { ok: true, warnings: [warning] }]));
  expect(await cursor(exporting)).toBe(head - 10);
});
