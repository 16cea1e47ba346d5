// What one stream is sent: the smallest update from the revision that the sidecar holds, one push at a time.
import type { RevisionName } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { createPushes, type Encodable } from '../../control-plane/grpc/pushes.ts';
import type { PublishedView } from '../../control-plane/publish/publisher.ts';

const hashOf = (revision: number): Buffer => Buffer.alloc(32, revision);

/** A revision that can be reached by a delta from `known` and later revisions. */
function published(revision: number, fields: Partial<PublishedView> & { readonly known?: number } = {}): PublishedView {
  const { known = 1, ...others } = fields;
  return {
    epoch: 'e1',
    revision,
    hash: hashOf(revision),
    raisedAt: revision,
    whole: () => Buffer.from(`whole ${revision}`),
    delta: (from: RevisionName) =>
      from.epoch === 'e1' && from.number >= known && from.number < revision ? Buffer.from(`${from.number} to ${revision}`) : null,
    drop: () => undefined,
    ...others,
  };
}

const textOf = (response: Encodable): string => {
  if ('encoded' in response) return response.encoded.toString();
  return `unchanged ${String(response.unchanged?.revision?.number)}`;
};

function stream(held: number | null, { takesDeltas = true, epoch = 'e1' } = {}) {
  const sent: string[] = [];
  const hello = {
    held: held === null ? null : { epoch, number: held },
    heldHash: held === null ? Buffer.alloc(0) : hashOf(held),
    capabilities: takesDeltas ? ['deltas'] : [],
  };
  const pushes = createPushes(hello, (response) => void sent.push(textOf(response)));
  const answer = (number: number, with_: { hash: Buffer } | { code: string }) =>
    pushes.answered({ revision: { epoch: 'e1', number }, ...with_ });
  return {
    sent,
    pushes,
    offer: (one: PublishedView) => pushes.offer(one),
    ack: (number: number, hash = hashOf(number)) => answer(number, { hash }),
    nack: (number: number, code: string) => answer(number, { code }),
  };
}

test('a sidecar that holds nothing is sent the whole snapshot, and after its acknowledgement deltas', () => {
  const { sent, offer, ack } = stream(null);
  offer(published(1));
  ack(1);
  offer(published(2));
  expect(sent).toEqual(['whole 1', '1 to 2']);
});

test('a sidecar that holds a known revision is sent the changes since then, and one that holds the current revision is sent none', () => {
  for (const [held, wanted] of [
    [3, '3 to 7'],
    [7, 'unchanged 7'],
  ] as const) {
    const { sent, offer } = stream(held);
    offer(published(7));
    expect(sent).toEqual([wanted]);
  }
});

test('a sidecar whose base is no longer known, or of another epoch, is sent the whole snapshot', () => {
  for (const [held, options] of [
    [1, { epoch: 'e1' }],
    [5, { epoch: 'e0' }],
  ] as const) {
    const { sent, offer } = stream(held, options);
    offer(published(7, { known: 2 }));
    expect(sent).toEqual(['whole 7']);
  }
});

test('an older sidecar that does not announce deltas is sent whole snapshots', () => {
  const { sent, offer, ack } = stream(3, { takesDeltas: false });
  offer(published(4));
  ack(4);
  offer(published(5));
  expect(sent).toEqual(['whole 4', 'whole 5']);
});

test('revisions that are offered while a push is unanswered become one push, based on the acknowledged revision', () => {
  const { sent, offer, ack } = stream(3);
  for (const revision of [4, 5, 6, 7]) offer(published(revision));
  expect(sent).toEqual(['3 to 4']);
  ack(4);
  expect(sent).toEqual(['3 to 4', '4 to 7']);
});

test('a rejected delta is followed by the whole snapshot once, and a rejected whole snapshot by nothing until the next revision', () => {
  const { sent, offer, nack } = stream(3);
  offer(published(4));
  nack(4, 'hash_mismatch');
  expect(sent).toEqual(['3 to 4', 'whole 4']);
  nack(4, 'entry_invalid');
  expect(sent).toHaveLength(2);
  offer(published(5));
  expect(sent).toEqual(['3 to 4', 'whole 4', 'whole 5']);
});

test('the whole snapshot after a rejected delta is of the newest revision', () => {
  const { sent, offer, nack, ack } = stream(3);
  offer(published(4));
  offer(published(5));
  nack(4, 'wrong_base');
  expect(sent).toEqual(['3 to 4', 'whole 5']);
  ack(5);
  offer(published(6));
  expect(sent.at(-1)).toBe('5 to 6');
});

test('a sidecar that does not confirm an unchanged revision is sent the whole snapshot', () => {
  const { sent, offer, nack } = stream(7);
  offer(published(7));
  nack(7, 'hash_mismatch');
  expect(sent).toEqual(['unchanged 7', 'whole 7']);
});

test.each(['revision_backwards', 'schema_unsupported', 'wrong_workspace'])('after %s the same is not sent again', (code) => {
  const { sent, offer, nack } = stream(3);
  offer(published(4));
  nack(4, code);
  expect(sent).toEqual(['3 to 4']);
});

test('a sidecar that holds a revision newer than any known here waits for it, and is sent nothing older', () => {
  const { sent, offer, ack } = stream(9);
  offer(published(7));
  offer(published(8));
  expect(sent).toEqual([]);
  offer(published(9));
  ack(9);
  offer(published(10));
  expect(sent).toEqual(['unchanged 9', '9 to 10']);
});

test('a lower revision of a new epoch is sent as a whole snapshot', () => {
  const { sent, offer, ack } = stream(9);
  offer(published(2, { epoch: 'e2', delta: () => null }));
  ack(2);
  expect(sent).toEqual(['whole 2']);
});

test('the hash that a sidecar holds is stored as a copy, not as a view that keeps its message in memory', () => {
  const viewOf = (revision: number): Buffer => Buffer.concat([hashOf(revision), Buffer.alloc(1_000)]).subarray(0, 32);
  const [greeted, acknowledged] = [viewOf(3), viewOf(4)];
  const sent: string[] = [];
  const hello = { held: { epoch: 'e1', number: 3 }, heldHash: greeted, capabilities: ['deltas'] };
  const pushes = createPushes(hello, (response) => void sent.push(textOf(response)));
  greeted.fill(0);
  pushes.offer(published(4, { hash: hashOf(3) }));
  expect(sent).toEqual(['unchanged 4']);
  pushes.answered({ revision: { epoch: 'e1', number: 4 }, hash: hashOf(3) });
  pushes.offer(published(5, { hash: hashOf(4) }));
  pushes.answered({ revision: { epoch: 'e1', number: 5 }, hash: acknowledged });
  acknowledged.fill(0);
  pushes.offer(published(6, { hash: hashOf(4) }));
  expect(sent).toEqual(['unchanged 4', '4 to 5', 'unchanged 6']);
});

interface FalseReport {
  readonly number: number;
  readonly epoch?: string;
  readonly hash?: Buffer;
}

test.each([
  ['an answer to nothing', { number: 4 }, 'no snapshot was sent'],
  ['an answer to another revision', { number: 5 }, 'revision 5 was answered, but 4 was sent'],
  ['an answer by another epoch', { number: 4, epoch: 'e0' }, 'another epoch'],
  ['an acknowledgement of something else', { number: 4, hash: hashOf(99) }, 'another hash'],
] as readonly (readonly [string, FalseReport, string])[])(
  '%s is an error of the sidecar, and changes nothing',
  (what, falseClaim, problem) => {
    const { number, epoch = 'e1', hash = hashOf(number) } = falseClaim;
    const { sent, offer, pushes } = stream(3);
    if (what !== 'an answer to nothing') offer(published(4));
    expect(pushes.answered({ revision: { epoch, number }, hash })).toEqual({ problem: expect.stringContaining(problem) });
    if (what === 'an answer to nothing') return;
    offer(published(5));
    expect(pushes.answered({ revision: { epoch: 'e1', number: 4 }, hash: hashOf(4) })).toEqual({ epoch: 'e1', number: 4, raisedAt: 4 });
    expect(sent).toEqual(['3 to 4', '4 to 5']);
  },
);
