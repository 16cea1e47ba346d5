// What the simulation and the usage of limits store from entries that a faulty sidecar invented.
import { expect, test } from 'vitest';
import { createKept } from '../../control-plane/policies/evaluate/kept.ts';
import { type KnownCallers, replayedCall, type ReplayedEntry } from '../../control-plane/policies/evaluate/replayed-call.ts';

const known: KnownCallers = { agentNames: new Set(), roles: new Map(), pinningKeys: new Set() };
const honest = {
  code: 'allowed',
  role: 'member',
  keyId: 'key-1',
  agentType: 'cli::api::bot',
  chainClaimed: true,
  client: { name: 'cli' },
  chain: ['root', 'bot'],
  depth: 1,
};
const entryOf = (fields: ReplayedEntry['fields']): ReplayedEntry => ({
  id: 'e-1',
  ts: new Date(0),
  tool: 'mail.send',
  decision: 'allow',
  agentName: 'bot',
  sub: 'ann',
  fields: { ...honest, ...fields },
});

test('a call that a sidecar records is read unchanged, with a chain of 64 hops', () => {
  const chain = Array.from({ length: 65 }, (_, at) => `agent-${at}`);
  const call = replayedCall(entryOf({ chain, depth: 64, decisionReason: 'r'.repeat(512), originSub: 'o'.repeat(512) }), known);
  expect([call.approximate, call.reason.length, call.caller?.sub.length]).toEqual([false, 512, 512]);
  expect(call.caller?.hops.map(({ name }) => name)).toEqual([...chain.slice(0, 64), 'bot']);
});

test.each<readonly [string, ReplayedEntry['fields']]>([
  [
    'a chain of thousands',
    { chain: Array.from({ length: 10_870 }, () => ''), depth: 64, agentType: '', client: { name: 'c'.repeat(32_600) } },
  ],
  ['a subject', { originSub: 'o'.repeat(60_000) }],
  ['a key', { keyId: 'k'.repeat(60_000) }],
  ['a name in the chain', { chain: ['n'.repeat(60_000), 'bot'] }],
])('%s that is too long is stored in part, and the call is approximate', (_what, fields) => {
  const { caller, approximate } = replayedCall(entryOf(fields), known);
  expect(approximate).toBe(true);
  expect(JSON.stringify(caller).length).toBeLessThan(100_000);
  expect(caller?.hops.length).toBeLessThanOrEqual(65);
});

test("at most 512 characters of an entry's reason are stored, and no half of a surrogate pair", () => {
  const { reason, approximate } = replayedCall(entryOf({ decisionReason: `${'r'.repeat(511)}🙂${'r'.repeat(60_000)}` }), known);
  expect([reason.length, reason.endsWith('r'), approximate]).toEqual([511, true, false]);
});

test('cached results for long keys are evicted before they are too many or too long in total', () => {
  const kept = createKept<number>({ entries: 4, characters: 100 });
  for (const [at, key] of ['a', 'b', 'c', 'e'].entries()) expect(kept.getOr(key, () => at)).toBe(at);
  expect(kept.getOr('a', () => 7)).toBe(0);
  kept.getOr('d', () => 3);
  expect(kept.getOr('a', () => 7)).toBe(7);
  kept.getOr('x'.repeat(97), () => 4);
  expect(kept.getOr('a', () => 8)).toBe(7);
  kept.getOr('y'.repeat(50), () => 5);
  expect(kept.getOr('a', () => 9)).toBe(9);
});
