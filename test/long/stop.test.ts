// Measures the stop of a sidecar process whose collector of telemetry never answers. test/e2e/telemetry.test.ts tests
// that it ends; test/sidecar/telemetry/collector.test.ts tests, in virtual time, that it waits three seconds.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startSidecarProgram } from '../support/programs.ts';
import { startTelemetryCollector } from '../support/telemetry-collector.ts';
import { timed } from './timed.ts';

test('a collector that never answers delays a stop only for its three seconds', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stop-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const collector = await startTelemetryCollector();
  onTestFinished(() => collector.close());
  collector.answer = () => undefined;
  const sidecar = await startSidecarProgram({
    TOLLGATE_KEY: `gsk_default_${'s'.repeat(40)}`,
    TOLLGATE_CONTROL_PLANE: '127.0.0.1:1',
    TOLLGATE_SPOOL_DIR: folder,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  onTestFinished(async () => void (await sidecar.end('SIGKILL')));
  await collector.until(() => collector.received.length > 0);
  const { ms, result } = await timed(() => sidecar.end('SIGTERM'));
  expect(result).toBe(0);
  expect(ms).toBeLessThan(9_000);
});
