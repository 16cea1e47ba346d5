// What sidecars send must not increase the number of metric labels of the gRPC edge.
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createGrpcMetrics } from '../../control-plane/grpc/metrics.ts';

const refusals = async (codes: readonly string[]): Promise<ReadonlyMap<unknown, number>> => {
  const registry = new Registry();
  const metrics = createGrpcMetrics(registry);
  for (const code of codes) metrics.refused(code);
  const counted = await registry.getSingleMetric('tollgate_snapshots_refused_total')?.get();
  return new Map(counted?.values.map(({ labels, value }) => [labels['code'], value]));
};

/** `code_aa`, `code_ab`, … */
const codeOf = (n: number): string => `code_${String.fromCharCode(97 + Math.floor(n / 26), 97 + (n % 26))}`;

test('the first 20 codes of refused snapshots have a label each, and the next 480 share one', async () => {
  const codes = Array.from({ length: 500 }, (_, n) => codeOf(n));
  const counts = await refusals([...codes, codeOf(0), codeOf(499)]);
  expect([...counts.keys()]).toEqual([...codes.slice(0, 20), 'other']);
  expect(counts.get(codeOf(0))).toBe(2);
  expect(counts.get('other')).toBe(481);
});

test('a code that is too long, or is not a word, has no label of its own', async () => {
  const longest = 'c'.repeat(40);
  const counts = await refusals([`${longest}c`, 'Bad', 'bad code', 'bad-code', '', 'é', longest]);
  expect([...counts]).toEqual([
    ['other', 6],
    [longest, 1],
  ]);
});
