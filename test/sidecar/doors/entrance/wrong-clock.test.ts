// A sidecar whose clock is an hour wrong: keys expire by the time of the control plane, at each place that checks them.
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { exportSidecar } from '../../../../sidecar/app/metrics/sidecar.ts';
import { createEntrance } from '../../../../sidecar/doors/entrance/entrance.ts';
import { buildServer } from '../../../../sidecar/doors/server.ts';
import { openRun, stopOf } from '../../../../sidecar/engine/govern/run.ts';
import { createNumbers } from '../../../../sidecar/engine/redact/index.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { key, keyText } from '../../../support/snapshots.ts';
import { silentLog } from '../../../support/silent-log.ts';

const hourMs = 3_600_000;
const there = Date.UTC(2026, 5, 25, 12);

const keys = [key({ id: 'expired', expiresAt: there }), key({ id: 'valid', expiresAt: there + 60_000 })];

/** `aheadMs`: how far the clock of the sidecar's machine is ahead. */
async function start(aheadMs: number) {
  const sidecar = await createTestSidecar({ world: { keys } });
  sidecar.time.wallTime = there + aheadMs;
  const registry = new Registry();
  const entrance = createEntrance({ sidecar, log: silentLog, metrics: exportSidecar(registry, sidecar) });
  const app = buildServer({ entrance, registry, log: pino({ level: 'silent' }) });
  onTestFinished(() => app.close());
  const ask = async (name: string) => {
    const payload = { tool_name: 'mail.send', tool_input: {}, session_id: 's1', agent_tier: 'api' };
    const answer = await app.inject({
      method: 'POST',
      url: '/govern/tool-use',
      payload,
      headers: { authorization: `Bearer ${keyText(name)}` },
    });
    return { status: answer.statusCode, decision: answer.json().decision };
  };
  return { sidecar, app, ask };
}

describe.each([
  ['an hour behind', -hourMs],
  ['an hour ahead', hourMs],
  ['never set', -there],
])('a clock that is %s', (_, aheadMs) => {
  test('an expired key is refused at the door, and a valid one is accepted', async () => {
    const { sidecar, ask } = await start(aheadMs);
    sidecar.cell.heard(1, there);
    expect(await ask('expired')).toEqual({ status: 401, decision: 'deny' });
    expect(await ask('valid')).toEqual({ status: 200, decision: 'allow' });
    sidecar.time.wallTime += 60_000;
    expect(await ask('valid')).toEqual({ status: 401, decision: 'deny' });
  });

  test('a run of an expired key is stopped, and that of a valid one is not', async () => {
    const { sidecar } = await start(aheadMs);
    sidecar.cell.heard(1, there);
    const runOf = (keyId: string) =>
      openRun(sidecar, {
        claim: { identity: { sub: 'ann', keyId }, hops: [{ tier: 'api', client: 'tests', agent: 'triage' }] },
        facts: { sessionId: keyId, client: { name: 'tests' }, runChain: [keyId], chainClaimed: false },
        numbers: createNumbers(),
      });
    expect(stopOf(sidecar.govern, runOf('expired'))).toMatchObject({ code: 'key_revoked' });
    expect(stopOf(sidecar.govern, runOf('valid'))).toBeNull();
  });

  test('it is shown by /healthz and by a metric', async () => {
    const { sidecar, app } = await start(aheadMs);
    expect((await app.inject('/healthz')).json().policy.clockAheadMs).toBeNull();
    expect((await app.inject('/metrics')).body).toMatch(/^tollgate_clock_ahead_seconds 0$/m);
    sidecar.cell.heard(1, there);
    expect((await app.inject('/healthz')).json().policy.clockAheadMs).toBe(aheadMs);
    expect((await app.inject('/metrics')).body).toMatch(new RegExp(`^tollgate_clock_ahead_seconds ${aheadMs / 1000}$`, 'm'));
  });
});
