// R4 for deltas, and that a delta gives the same result as the whole snapshot.
import { snapshotHash, snapshotHashAfter, type NackCode } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bindCaller } from '../../../../sidecar/engine/decide/bind.ts';
import { buildIndex, type Index } from '../../../../sidecar/engine/decide/build-index.ts';
import { decide } from '../../../../sidecar/engine/decide/decide.ts';
import { createCounters } from '../../../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../../../sidecar/engine/limits/usage.ts';
import { createPolicyCell, type PolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { type DeltaMessage, type SnapshotMessage, verifySnapshot } from '../../../../sidecar/engine/snapshot/verify.ts';
import { badSnapshots, full } from '../../../support/bad-snapshots.ts';
import { denyWhen } from '../../../support/cased-rules.ts';
import {
  agent,
  deltaBetween,
  document,
  entriesOf,
  key,
  keyText,
  member,
  messageOf,
  type RawEntry,
  rawEntry,
  ruleFor,
  server,
  snapshotMessage,
  type World,
} from '../../../support/snapshots.ts';
import { watchCalls } from '../../../support/work-on.ts';
import { changingDocument, createOneRuleOfMany } from './one-rule-of-many.ts';

const now = 1_000;
const held = snapshotMessage({ ...full, revision: 5, settings: { unknownAgents: 'deny' } });
const revision = (number: number, epoch = 'e1') => ({ epoch, number });

function cellWith(message = held): PolicyCell {
  const cell = createPolicyCell({ now: () => now }, 'acme');
  cell.heard(5);
  expect(cell.offer(message)).toMatchObject({ ok: true });
  return cell;
}

const claim = { identity: { sub: 'ann', keyId: 'key-1' }, hops: [{ tier: 'api', client: 'claude-code', agent: 'bot' }] } as const;

function decisions(cell: PolicyCell): readonly unknown[] {
  const { current } = cell;
  if (current === null) throw new Error('nothing is held');
  const usage = createRunUsage(createCounters(60), { originSub: 'ann', startedAt: now });
  return ['github.delete', 'github.create', 'mail.send', 'other.tool'].map((tool) => {
    const { code, reason, rule, transform } = decide(bindCaller(current, claim), tool, usage, cell.freshness, now);
    return { code, reason, rule, transform };
  });
}

/** The next good delta after revision 5. It denies calls that were not denied before. */
const after = snapshotMessage({ ...full, revision: 6, agents: [agent({ suspended: true })] });
const good = deltaBetween(held, after);

/** A delta from what is held with these entries and removals, and the right hash. */
function deltaOf(changed: readonly RawEntry[], removed: readonly string[] = [], head: Partial<DeltaMessage> = {}): DeltaMessage {
  const touched = new Set([...removed, ...changed.map((entry) => entry.key)]);
  const replaced = held.entries.filter((entry) => touched.has(entry.key));
  const hash = snapshotHashAfter(Buffer.from(held.hash), replaced, changed);
  return { ...good, hash, changed, removed, ...head };
}

/** The fault, the message, the code of the refusal, and words of the place. */
const bad: readonly (readonly [string, DeltaMessage, NackCode, string])[] = [
  ['from nowhere', { ...good, from: null }, 'entry_invalid', '(from)'],
  ['to nowhere', { ...good, to: null }, 'entry_invalid', '(to)'],
  ['from an empty epoch', { ...good, from: revision(5, '') }, 'entry_invalid', '(from)'],
  ['from a negative revision', { ...good, from: revision(-5) }, 'entry_invalid', '(from)'],
  ['from a revision beyond exact numbers', { ...good, from: revision(2 ** 53) }, 'entry_invalid', '(from)'],
  ['to a fraction', { ...good, to: revision(6.5) }, 'entry_invalid', '(to)'],
  ['to what is no number', { ...good, to: revision(Number.NaN) }, 'entry_invalid', '(to)'],
  ['from an earlier revision', { ...good, from: revision(4) }, 'wrong_base', 'revision 4 of epoch "e1", and revision 5'],
  ['from a later revision', { ...good, from: revision(6), to: revision(7) }, 'wrong_base', 'revision 5 of epoch "e1" is held'],
  ['from the same revision of another epoch', { ...good, from: revision(5, 'e0'), to: revision(6, 'e0') }, 'wrong_base', 'epoch "e0"'],
  ['into another epoch', { ...good, to: revision(6, 'e2') }, 'wrong_base', 'another epoch needs a whole snapshot'],
  ['to where it starts', { ...good, to: revision(5) }, 'revision_backwards', 'from revision 5 to 5'],
  ['backwards', { ...good, to: revision(4) }, 'revision_backwards', 'from revision 5 to 4'],
  ['the hash of what is held', { ...good, hash: held.hash }, 'hash_mismatch', 'after the delta'],
  ['the hash of what it carries alone', { ...good, hash: snapshotHash(good.changed) }, 'hash_mismatch', 'after the delta'],
  ['a hash longer than one', { ...good, hash: Buffer.concat([good.hash, Buffer.alloc(1)]) }, 'hash_mismatch', 'after the delta'],
  ['a change left out', { ...good, changed: good.changed.slice(1) }, 'hash_mismatch', 'after the delta'],
  ['a removal left out', { ...deltaOf([], ['member/ann']), removed: [] }, 'hash_mismatch', 'after the delta'],
  ['a removal too many', { ...good, removed: ['member/ann'] }, 'hash_mismatch', 'after the delta'],
  [
    'the removal of what is not there, counted as if it had been',
    { ...good, hash: snapshotHashAfter(Buffer.from(good.hash), [rawEntry('member/bob', {})], []), removed: ['member/bob'] },
    'hash_mismatch',
    'after the delta',
  ],
  [
    'one entry changed twice',
    deltaOf([rawEntry('agent/agent-1', agent()), rawEntry('agent/agent-1', agent())]),
    'entry_invalid',
    '"agent/agent-1": appears twice',
  ],
  ['one entry removed twice', deltaOf([], ['member/ann', 'member/ann']), 'entry_invalid', '"member/ann": appears twice'],
  [
    'one entry changed and removed',
    deltaOf([rawEntry('member/ann', member())], ['member/ann']),
    'entry_invalid',
    '"member/ann": appears twice',
  ],
  ['the settings removed', deltaOf([], ['settings']), 'settings_missing', 'removes'],
];

test('the delta that the bad ones are made from is accepted, and changes decisions', () => {
  const cell = cellWith();
  const before = decisions(cell);
  expect(cell.change(good)).toMatchObject({ ok: true });
  expect(cell.status()).toMatchObject({ revision: 6, lastNack: null });
  expect(decisions(cell)).not.toEqual(before);
  expect(bad.length + badSnapshots.length).toBeGreaterThanOrEqual(130);
});

/**
 * Expects a refusal with code and place. Nothing is swapped, decided or stored differently. The next good delta is
 * accepted, and the next whole.
 */
function refuses(message: DeltaMessage, code: NackCode, place: string): void {
  const cell = cellWith();
  const before = decisions(cell);
  const index = cell.current;
  const whole = cell.whole();
  const swaps: number[] = [];
  cell.onSwap((swapped) => swaps.push(swapped.revision));
  expect(cell.change(message)).toMatchObject({ ok: false, code, message: expect.stringContaining(place) });
  expect(cell.current).toBe(index);
  expect(decisions(cell)).toEqual(before);
  expect(cell.whole()).toEqual(whole);
  expect(cell.status()).toMatchObject({ revision: 5, lastNack: { code } });
  expect(swaps).toEqual([]);
  expect(cell.change(good)).toMatchObject({ ok: true });
  expect(cell.status()).toMatchObject({ revision: 6, lastNack: null });
  expect(decisions(cell)).not.toEqual(before);
  expect(cell.offer(snapshotMessage({ ...full, revision: 7 }))).toMatchObject({ ok: true });
}

test.each(bad)('a delta: %s: rejected with code and place, decisions stay, the next good one is accepted', (_, message, code, place) => {
  refuses(message, code, place);
});

// Faults of a whole snapshot that are not wrong or not possible for a delta: see `bad` above.
const ofWholes = new Set([
  'no revision',
  'an older revision than the one held',
  'an entry left out',
  'no settings',
  'settings under another key',
  'nothing at all',
]);

/** The same fault, with the entries that differ from what is held. */
function asDelta(message: SnapshotMessage): DeltaMessage {
  const { changed, removed } = deltaBetween(held, message);
  const faulty =
    message.revision !== null && message.revision.number === 1 && message.revision.epoch === 'e1' ? revision(6) : message.revision;
  return { ...message, from: revision(5), to: faulty, changed, removed };
}

test.each(badSnapshots.filter(([name]) => !ofWholes.has(name)))(
  'a delta with %s: rejected with code and place, decisions stay, the next good one is accepted',
  (_, message, code, place) => {
    const faulty = asDelta(message);
    // A whole snapshot contains the key twice. In a delta the entry would replace the other, so the delta repeats its
    // entries.
    const once = place === 'twice' && new Set(faulty.changed.map((entry) => entry.key)).size === faulty.changed.length;
    const wanted = once ? deltaOf([...faulty.changed, ...faulty.changed], faulty.removed) : faulty;
    refuses(wanted, code, code === 'hash_mismatch' ? 'not as announced' : place);
  },
);

test('a delta to a cell that holds nothing is rejected, and the whole is accepted', () => {
  const cell = createPolicyCell({ now: () => now }, 'acme');
  expect(cell.change(good)).toMatchObject({ ok: false, code: 'wrong_base', message: expect.stringContaining('no policy is held') });
  expect(cell.offer(held)).toMatchObject({ ok: true });
  expect(cell.change(good)).toMatchObject({ ok: true });
});

test('the removal of a missing entry changes nothing, whatever its name', () => {
  const cell = cellWith();
  expect(cell.change({ ...good, removed: ['member/bob', 'lease/1', '__proto__', 'document/', '', 'key/constructor'] })).toMatchObject({
    ok: true,
  });
  expect(contentOf(cell.current)).toEqual(contentOf(indexOf(after)));
});

test('the report of a refusal is short, however long the rejected text is', () => {
  const cell = cellWith();
  const name = 'x'.repeat(100_000);
  for (const message of [
    deltaOf([rawEntry(name, {})]),
    deltaOf([rawEntry('agent/agent-1', agent({ id: name }))]),
    { ...good, workspace: name },
  ]) {
    const offered = cell.change(message);
    expect(offered.ok ? '' : offered.message).toMatch(/^.{20,500}$/);
  }
});

test('after a whole of another epoch, deltas of the old one are rejected', () => {
  const cell = cellWith();
  const other = snapshotMessage({ ...full, epoch: 'e2', revision: 1 });
  expect(cell.offer(other)).toMatchObject({ ok: true });
  expect(cell.change(good)).toMatchObject({ ok: false, code: 'wrong_base' });
  expect(cell.change(deltaBetween(other, snapshotMessage({ epoch: 'e2', revision: 2 })))).toMatchObject({ ok: true });
});

test('a renumbered snapshot is the base of the next delta by its new number', () => {
  const cell = cellWith();
  cell.renumber(revision(8), Buffer.from(held.hash));
  expect(cell.change(good)).toMatchObject({ ok: false, code: 'wrong_base' });
  expect(cell.change({ ...good, from: revision(8), to: revision(9) })).toMatchObject({ ok: true });
});

function indexOf(message: SnapshotMessage): Index {
  const verified = verifySnapshot(message, 'acme');
  if (!verified.ok) throw new Error(verified.message);
  return buildIndex(verified.snapshot);
}

/** The content of an index, independent of the order in which it was built. */
function contentOf(index: Index | null): unknown {
  const sorted = (_: string, value: unknown): unknown =>
    value instanceof Map ? [...value].toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)) : value;
  return JSON.parse(JSON.stringify(index, sorted));
}

const names = ['a', 'b', 'c', '__proto__', 'constructor'] as const;
const name = fc.constantFrom(...names);
const permission = fc.constantFrom('allow', 'deny');
const some = <T extends { readonly id: string }>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.uniqueArray(one, { selector: ({ id }) => id, maxLength: 5 });
const worlds: fc.Arbitrary<World> = fc
  .record({
    frozen: fc.boolean(),
    documents: some(fc.record({ id: name, permission })),
    agents: some(fc.record({ id: name, name: fc.constantFrom('bot', 'cat') })),
    members: some(fc.record({ id: name, role: fc.constantFrom('owner', 'admin', 'member') })),
    keys: some(fc.record({ id: name, secret: name })),
    servers: some(fc.record({ id: fc.constantFrom('s', 's.t', 'u'), tool: fc.constantFrom('x', 't.x'), scope: name })),
  })
  .map(({ frozen, documents, agents, members, keys, servers }) => ({
    settings: { frozen },
    documents: documents.map((one) =>
      document({ id: { layer: 'user', uid: one.id, part: 'self' }, tools: [['mail.send', [['api', { permission: one.permission }]]]] }),
    ),
    agents: agents.map((one) => agent(one)),
    members: members.map((one) => member({ uid: one.id, role: one.role })),
    // One secret belongs to one key.
    keys: keys
      .filter(({ secret }, at) => keys.findIndex((other) => other.secret === secret) === at)
      .map((one) => key({ id: one.id, hash: snapshotHash([rawEntry(one.secret, keyText('x'))]).toString('hex') })),
    servers: servers.map((one) => server({ name: one.id, tools: [{ name: one.tool, requiredScopes: [one.scope] }] })),
  }));

/** Sorted, as a control plane sends them. */
const ordered = (world: World, number: number): SnapshotMessage =>
  messageOf(
    entriesOf(world).toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    { revision: revision(number) },
  );

test('whatever changes, successive deltas give the result of the last whole, and the file that a start reads', () => {
  let deltas = 0;
  fc.assert(
    fc.property(fc.array(worlds, { minLength: 2, maxLength: 6 }), (steps) => {
      const messages = steps.map((world, at) => ordered(world, at + 1));
      const [first, ...later] = messages;
      if (first === undefined) return;
      const cell = cellWith(first);
      let before = first;
      for (const next of later) {
        const index = cell.current;
        const content = contentOf(index);
        expect(cell.change(deltaBetween(before, next))).toMatchObject({ ok: true });
        // The previous index is unchanged, for calls that still use it.
        expect(contentOf(index)).toEqual(content);
        before = next;
        deltas += 1;
      }
      expect(contentOf(cell.current)).toEqual(contentOf(indexOf(before)));
      const whole = cell.whole();
      expect(whole === null ? null : contentOf(indexOf(whole))).toEqual(contentOf(indexOf(before)));
    }),
    { numRuns: 300 },
  );
  expect(deltas).toBeGreaterThan(500);
});

test('what a delta does not touch is shared with the index before it', () => {
  const cell = cellWith();
  const before = cell.current;
  cell.change(
    deltaBetween(
      held,
      messageOf([...held.entries, rawEntry('document/role:owner', document({ id: { layer: 'role', role: 'owner' } }))], {
        revision: revision(6),
      }),
    ),
  );
  const index = cell.current;
  expect(index?.documents.size).toBe((before?.documents.size ?? 0) + 1);
  expect(index?.documents.get('workspace')).toBe(before?.documents.get('workspace'));
  for (const map of ['agentsById', 'agentsByName', 'members', 'keysById', 'keysByHash', 'requiredScopes', 'servers', 'settings'] as const)
    expect(index?.[map]).toBe(before?.[map]);
});

test('one rule changed at 10,000 agents and 10,000 users reads one entry and iterates over one map', () => {
  const { first, next } = createOneRuleOfMany();
  const cell = createPolicyCell({ now: () => now }, 'acme');
  expect(readsOf(() => expect(cell.offer(first)).toMatchObject({ ok: true })).entries).toBeGreaterThan(30_000);
  for (let at = 0; at < 30; at += 1) {
    const before = cell.current;
    const delta = next();
    expect(readsOf(() => expect(cell.change(delta).ok).toBe(true))).toEqual({ entries: 1, maps: 1 });
    for (const map of ['agentsById', 'agentsByName', 'members', 'keysById', 'keysByHash', 'servers'] as const)
      expect(cell.current?.[map]).toBe(before?.[map]);
  }
  expect(cell.current?.documents.get(changingDocument)?.exact.get('mail.send')?.get('api')?.rule).toEqual({ rateLimit: 29 });
});

/** Counts the entries that are parsed, and the iterations over maps of more than a thousand, while `work` runs. */
function readsOf(work: () => unknown): { readonly entries: number; readonly maps: number } {
  let entries = 0;
  let maps = 0;
  const undo = [
    watchCalls(JSON, 'parse', () => (entries += 1)),
    // `for` and `new Map` call the iterator.
    ...[Symbol.iterator, 'entries', 'values', 'keys', 'forEach'].map((name) =>
      watchCalls(Map.prototype, name, (map) => (maps += map instanceof Map && map.size > 1_000 ? 1 : 0)),
    ),
  ];
  try {
    work();
    return { entries, maps };
  } finally {
    for (const step of undo) step();
  }
}

test('a delta changes which headers are shown, and one that changes no document does not', () => {
  const naming = (...headers: readonly string[]) => ({
    documents: headers.map((name, at) => ({
      ...ruleFor('billing', denyWhen(`args.headers["${name}"] == "a"`)),
      id: at === 0 ? ({ layer: 'workspace' } as const) : ({ layer: 'role', role: 'member' } as const),
    })),
  });
  const messages = [
    snapshotMessage({ revision: 1, ...naming('x-one') }),
    snapshotMessage({ revision: 2, ...naming('x-one', 'x-two') }),
    snapshotMessage({ revision: 3, ...naming('x-one', 'x-two'), members: [] }),
    snapshotMessage({ revision: 4, ...naming('x-three') }),
    snapshotMessage({ revision: 5 }),
  ];
  const cell = createPolicyCell({ now: () => 0 }, 'acme');
  const [first] = messages;
  if (first === undefined) throw new Error('there are messages');
  cell.offer(first);
  const shown = messages.slice(1).map((message, at) => {
    expect(cell.change(deltaBetween(messages[at] ?? first, message))).toMatchObject({ ok: true });
    return [...(cell.current?.shownHeaders ?? [])];
  });
  expect(shown).toEqual([['x-one', 'x-two'], ['x-one', 'x-two'], ['x-three'], []]);
});
