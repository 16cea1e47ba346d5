// The metric of conditions that could not be evaluated: by place and reason, for a bounded number of places.
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { refuse } from '../../../sidecar/engine/decide/refusal.ts';
import { countDecisions } from '../../../sidecar/telemetry/decision-metrics.ts';

async function counted(registry: Registry): Promise<readonly (readonly [string, string, string, number])[]> {
  const metric = (await registry.getMetricsAsJSON()).find(({ name }) => name === 'tollgate_conditions_undecided_total');
  const values = (metric?.values ?? []) as readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
  return values.map(({ labels, value }) => [labels['document'] ?? '', labels['path'] ?? '', labels['reason'] ?? '', value]);
}

const undecidedAt = (path: string, reason = 'absent', document = 'workspace') => ({
  ...refuse('policy_denied', '…'),
  undecided: [{ document, path, reason, at: 'args.amount' }],
});

test('an undecided condition is counted by its place and its reason, and a decided call is not', async () => {
  const registry = new Registry();
  const decided = countDecisions(registry);
  decided(undecidedAt('defaults.api.cases["a"]'), 1);
  decided(undecidedAt('defaults.api.cases["a"]'), 1);
  decided(undecidedAt('defaults.api.cases["a"]', 'type'), 1);
  decided(refuse('policy_denied', '…'), 1);
  expect(await counted(registry)).toEqual([
    ['workspace', 'defaults.api.cases["a"]', 'absent', 2],
    ['workspace', 'defaults.api.cases["a"]', 'type', 1],
  ]);
});

test('the first hundred places have labels of their own, which are cut, and further ones are counted together', async () => {
  const registry = new Registry();
  const decided = countDecisions(registry);
  for (let at = 0; at < 150; at += 1) decided(undecidedAt(`tools["${at}${'t'.repeat(300)}"].api.cases["a"]`), 1);
  decided(undecidedAt(`tools["0${'t'.repeat(300)}"].api.cases["a"]`), 1);
  const values = await counted(registry);
  expect(values).toHaveLength(101);
  expect(values[0]?.[3]).toBe(2);
  expect(values.at(-1)).toEqual(['other', 'other', 'absent', 50]);
  expect(Math.max(...values.map(([, path]) => path.length))).toBe(200);
});
