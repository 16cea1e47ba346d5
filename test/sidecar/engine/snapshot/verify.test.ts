import { policyService } from '@tollgate/proto';
import { plainRedaction } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bindCaller } from '../../../../sidecar/engine/decide/bind.ts';
import { decide } from '../../../../sidecar/engine/decide/decide.ts';
import { createCounters } from '../../../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../../../sidecar/engine/limits/usage.ts';
import { createPolicyCell, type PolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { type SnapshotMessage, verifySnapshot } from '../../../../sidecar/engine/snapshot/verify.ts';
import { badSnapshots, full, good, inRedaction, redaction, withEntry, without } from '../../../support/bad-snapshots.ts';
import {
  agent,
  document,
  entriesOf,
  key,
  member,
  messageOf,
  rawEntry,
  ruleFor,
  server,
  settings,
  snapshotMessage,
} from '../../../support/snapshots.ts';

const now = 1_000;
const heldWorld = { revision: 5, documents: [ruleFor('github.delete', { permission: 'deny' })] };

function cellWith(): PolicyCell {
  const cell = createPolicyCell({ now: () => now }, 'acme');
  cell.heard(5);
  expect(cell.offer(snapshotMessage(heldWorld)).ok).toBe(true);
  return cell;
}

const claim = { identity: { sub: 'ann', keyId: 'key-1' }, hops: [{ tier: 'api', client: 'c', agent: 'bot' }] } as const;

function decisions(cell: PolicyCell): readonly unknown[] {
  const { current } = cell;
  if (current === null) throw new Error('nothing is held');
  const usage = createRunUsage(createCounters(60), { originSub: 'ann', startedAt: now });
  return ['github.delete', 'github.create', 'mail.send', 'other.tool'].map((tool) => {
    const { code, reason, rule, transform } = decide(bindCaller(current, claim), tool, usage, cell.freshness, now);
    return { code, reason, rule, transform };
  });
}

test('the snapshot that the bad ones are made from is accepted', () => {
  expect(createPolicyCell({ now: () => now }, 'acme').offer(good)).toMatchObject({ ok: true });
  expect(badSnapshots.length).toBeGreaterThanOrEqual(40);
  expect(new Set(badSnapshots.map(([name]) => name)).size).toBe(badSnapshots.length);
});

test.each(badSnapshots)('%s: rejected with code and place, decisions stay, the next good one is accepted', (_, message, code, place) => {
  const cell = cellWith();
  const before = decisions(cell);
  const index = cell.current;
  const swaps: number[] = [];
  cell.onSwap(({ revision }) => swaps.push(revision));
  // A message with a valid revision is offered as the newest, so that only its fault can cause the refusal.
  const { revision } = message;
  const newest =
    revision !== null && revision.number === 1 && revision.epoch === 'e1' ? { ...message, revision: { epoch: 'e1', number: 6 } } : message;
  const offered = cell.offer(newest);
  expect(offered).toMatchObject({ ok: false, code, message: expect.stringContaining(place) });
  expect(cell.current).toBe(index);
  expect(decisions(cell)).toEqual(before);
  expect(cell.status()).toMatchObject({ revision: 5, lastNack: { code } });
  expect(swaps).toEqual([]);
  expect(cell.offer(snapshotMessage({ revision: 7, documents: [ruleFor('mail.send', { permission: 'deny' })] }))).toMatchObject({
    ok: true,
  });
  expect(cell.status()).toMatchObject({ revision: 7, lastNack: null });
  expect(decisions(cell)).not.toEqual(before);
});

test('servers are read as they were sent; where an older control plane sends less about them, they have no target and nothing is pinned', () => {
  const read = (message: SnapshotMessage) => {
    const result = verifySnapshot(message, 'acme');
    return result.ok ? { servers: result.snapshot.servers, pinned: result.snapshot.settings.toolDefinitions } : result.message;
  };
  expect(read(good)).toEqual({ servers: full.servers, pinned: 'any' });
  const before = messageOf([
    ...entriesOf().filter(({ key: name }) => name !== 'settings'),
    rawEntry('settings', without(settings(), 'toolDefinitions')),
    rawEntry('server/github', { name: 'github', tools: [] }),
  ]);
  expect(read(before)).toEqual({ servers: [{ name: 'github', tools: [], target: null, admitted: [] }], pinned: 'any' });
});

test('redaction is read as it was sent; where an older control plane sends none, it is plain', () => {
  const read = (message: SnapshotMessage): unknown => {
    const result = verifySnapshot(message, 'acme');
    return result.ok ? result.snapshot.settings.redaction : result.message;
  };
  expect(read(inRedaction({}))).toEqual(redaction);
  expect(read(withEntry('settings', without(settings(), 'redaction')))).toEqual(plainRedaction);
  // A newer control plane may switch off a kind that this sidecar does not look for.
  expect(read(inRedaction({ off: ['faces', 'ip_address'] }))).toMatchObject({ off: ['ip_address'] });
});

test('a pattern that a workspace named before it became a built-in kind keeps its name', () => {
  expect(verifySnapshot(inRedaction({ patterns: [['email', '[a-z]+@corp']] }), 'acme')).toMatchObject({ ok: true });
});

test('names of prototype properties are ordinary in every place that holds names', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const message = snapshotMessage({
      documents: [ruleFor(name, { permission: 'deny' }), document({ id: { layer: 'user', uid: name, part: 'self' } })],
      agents: [agent({ id: name, name, enabledTools: [name] })],
      members: [member({ uid: name })],
      keys: [key({ id: name, uid: name })],
      servers: [server({ name, tools: [{ name, requiredScopes: [name] }] })],
    });
    const cell = createPolicyCell({ now: () => now }, 'acme');
    cell.heard(1);
    expect(cell.offer(message)).toMatchObject({ ok: true });
    expect(cell.current?.agentsById.get(name)?.enabledTools).toEqual([name]);
    expect(cell.current?.members.get('valueOf')).toBeUndefined();
  }
});

const responseBytes = policyService.Sync.responseSerialize({ snapshot: { ...good, entries: [...good.entries] } });
const verified = verifySnapshot(good, 'acme');

// Protobuf's own framing is not under the hash, and neither are the revision (which only says when) and unread fields.
// What counts is that no flipped byte is used in a decision as if it were other content.
test('any byte of an encoded snapshot flipped: rejected, or the very same content', () => {
  if (!verified.ok) throw new Error(verified.message);
  const content = contentOf(good);
  let refused = 0;
  fc.assert(
    fc.property(fc.nat(responseBytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const flipped = Buffer.from(responseBytes);
      flipped[at] = (flipped[at] ?? 0) ^ mask;
      const message = decoded(flipped);
      const result = message === null ? null : verifySnapshot(message, 'acme');
      if (message === null || result === null || !result.ok) refused += 1;
      else expect(contentOf(message)).toEqual(content);
    }),
    { numRuns: 3_000 },
  );
  expect(refused).toBeGreaterThan(2_500);
});

function decoded(bytes: Buffer): SnapshotMessage | null {
  try {
    return policyService.Sync.responseDeserialize(bytes).snapshot ?? null;
  } catch {
    return null;
  }
}

const contentOf = ({ entries }: SnapshotMessage): readonly string[] =>
  entries.map((entry) => `${entry.key} ${Buffer.from(entry.value).toString('latin1')}`).toSorted();
