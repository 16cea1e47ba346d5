import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { createHealth } from '../../../sidecar/telemetry/health.ts';

test('a change is reported once in each direction, for each signal, and not as part of the work during which it was noticed', () => {
  const underWay = new AsyncLocalStorage<string>();
  const health = createHealth();
  const said: unknown[] = [];
  health.sayTo({
    info: (fields) => void said.push(['again', fields, underWay.getStore()]),
    warn: (fields) => void said.push(['not', fields, underWay.getStore()]),
  });
  const [traces, logs] = [health.told('traces'), health.told('logs')];
  underWay.run('a call', () => {
    for (const reason of [null, 'away', 'away', null, null]) traces(reason);
    logs('full');
  });
  expect(said).toEqual([
    ['not', { signal: 'traces', reason: 'away' }, undefined],
    ['again', { signal: 'traces' }, undefined],
    ['not', { signal: 'logs', reason: 'full' }, undefined],
  ]);
});
