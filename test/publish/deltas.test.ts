// After the publisher reads only changes, its state equals the result of a full compile. A delta leads to that state
// from every earlier revision, for each kind of sidecar.
import { policyService } from '@tollgate/proto';
import { snapshotHash } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SnapshotEntry } from '../../sidecar/engine/compile/compile.ts';
import type { View } from '../../control-plane/publish/view.ts';
import { type HeldWorkspace, holdWorkspace } from '../../control-plane/publish/holding.ts';
import { type PublishedView, publishView } from '../../control-plane/publish/published.ts';
import { createPast, defaults, drop, emptyState, entriesFor, put, someKey, type Write, writes } from './workspace.ts';

const numRuns = Math.max(1, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 2_000) / 10));
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 20261122);

const views: readonly View[] = [{ form: 'process' }, ...[0, 1, 2, 9].map((id): View => ({ form: 'library', keyId: `key-${id}` }))];

const text = (entries: readonly { readonly key: string; readonly value: Uint8Array }[]): readonly string[] =>
  entries.map(({ key, value }) => `${key} ${Buffer.from(value).toString()}`).toSorted();

function wholeOf(published: PublishedView) {
  const { snapshot } = policyService.Sync.responseDeserialize(published.whole());
  if (snapshot == null) throw new Error('the whole is no snapshot');
  return snapshot;
}

/** Applies the delta to `base`, as a sidecar does. Null where the sidecar would be sent the whole snapshot. */
function applied(published: PublishedView, base: readonly SnapshotEntry[], from: number): readonly string[] | null {
  const bytes = published.delta({ epoch: 'e1', number: from });
  if (bytes === null) return null;
  const { delta } = policyService.Sync.responseDeserialize(bytes);
  if (delta == null) throw new Error('the delta is none');
  expect(delta.from).toEqual({ epoch: 'e1', number: from });
  const held = new Map(base.map(({ key, value }) => [key, value]));
  for (const key of delta.removed) held.delete(key);
  for (const { key, value } of delta.changed) held.set(key, value);
  const entries = [...held].map(([key, value]) => ({ key, value }));
  expect(snapshotHash(entries).equals(delta.hash)).toBe(true);
  return text(entries);
}

const hold = (past: ReturnType<typeof createPast>, revision: number): HeldWorkspace => holdWorkspace(past.whole(revision), defaults);

test('after any writes, read one by one or several at once, every view equals the full compile, and deltas lead to it from every revision', () => {
  let deltas = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.array(writes, { minLength: 1, maxLength: 3 }), fc.boolean()), { maxLength: 25 }), (steps) => {
      const past = createPast(emptyState({ keys: [someKey('key-1', { scopes: ['sidecar.sync', 'govern.impersonate'] })] }));
      let holding = hold(past, 0);
      steps.forEach(([all, isRead], at) => {
        past.write(...all);
        const revision = at + 1;
        if (isRead || revision === steps.length) holding.change(past.changes(holding.revision, revision));
        // Another control plane starts here. It knows the earlier changes from the table of changes.
        if (at === 12) holding = hold(past, holding.revision);
      });
      const { revision } = holding;
      for (const view of views) {
        const wanted = entriesFor(past.stateAt(revision), view);
        const published = publishView(holding, view, 0);
        expect(text(wholeOf(published).entries)).toEqual(text(wanted));
        expect(published.hash.equals(snapshotHash(wanted))).toBe(true);
        for (let from = 0; from < revision; from += 1) {
          const made = applied(published, entriesFor(past.stateAt(from), view), from);
          if (made !== null) expect(made).toEqual(text(wanted));
          deltas += made === null ? 0 : 1;
        }
      }
    }),
    { numRuns, seed },
  );
  // Most deltas must not be longer than the whole snapshot, or the test would show nothing.
  expect(deltas).toBeGreaterThan(numRuns * 5);
});

/** A workspace with enough content that a delta is worth sending. */
function filledPast() {
  const past = createPast(emptyState());
  const agents = Array.from({ length: 50 }, (_, at) => put('keys', someKey(`other-${at}`)));
  past.write(...agents, put('members', { uid: 'ann', email: 'ann@a.test', role: 'member' }), put('keys', someKey('key-1', { uid: 'ann' })));
  return past;
}

const ruleFor = (rateLimit: number): Write =>
  put('documents', {
    id: { layer: 'user', uid: 'ann', part: 'organisation' },
    document: { tools: { 'mail.send': { api: { rateLimit } } } },
  });

test('a delta contains the entries that changed and no others, and names the removed entries', () => {
  const past = filledPast();
  const holding = hold(past, 1);
  past.write(ruleFor(1));
  past.write(ruleFor(2), drop('keys', 'key/other-7'));
  for (const revision of [2, 3]) holding.change(past.changes(holding.revision, revision));
  const bytes = publishView(holding, { form: 'process' }, 0).delta({ epoch: 'e1', number: 1 });
  const { delta } = policyService.Sync.responseDeserialize(bytes ?? Buffer.alloc(0));
  expect(delta?.changed.map(({ key }) => key)).toEqual(['document/user:ann:organisation']);
  expect(delta?.removed).toEqual(['key/other-7']);
});

test('a library does not receive the names of entries that it is not allowed to hold', () => {
  const past = filledPast();
  const holding = hold(past, 1);
  past.write(ruleFor(1), drop('keys', 'key/other-7'), put('members', { uid: 'eve', email: 'eve@a.test', role: 'owner' }));
  holding.change(past.changes(1, 2));
  const other = publishView(holding, { form: 'library', keyId: 'other-1' }, 0).delta({ epoch: 'e1', number: 1 });
  const { delta } = policyService.Sync.responseDeserialize(other ?? Buffer.alloc(0));
  expect(delta).toMatchObject({ changed: [], removed: [] });
});

test('a library whose own key changed is sent the whole snapshot, because it may now hold other entries', () => {
  const past = filledPast();
  const holding = hold(past, 1);
  past.write(put('keys', someKey('key-1', { uid: 'ann', scopes: ['govern.impersonate'] })));
  holding.change(past.changes(1, 2));
  expect(publishView(holding, { form: 'library', keyId: 'key-1' }, 0).delta({ epoch: 'e1', number: 1 })).toBeNull();
});

test('there is no delta from another epoch, from a forgotten revision, from a revision that is not older, or longer than the whole', () => {
  const past = filledPast();
  past.write(ruleFor(1));
  const holding = holdWorkspace(past.whole(2, 1), defaults);
  past.write(ruleFor(2));
  holding.change(past.changes(2, 3));
  const published = publishView(holding, { form: 'process' }, 0);
  expect(published.delta({ epoch: 'e1', number: 1 })).not.toBeNull();
  expect(published.delta({ epoch: 'e0', number: 1 })).toBeNull();
  expect(published.delta({ epoch: 'e1', number: 0 })).toBeNull();
  for (const number of [3, 4, 1e15]) expect(published.delta({ epoch: 'e1', number })).toBeNull();
  const young = createPast(emptyState());
  young.write(ruleFor(1), put('members', { uid: 'a', email: 'a@a.test', role: 'member' }));
  const all = hold(young, 0);
  all.change(young.changes(0, 1));
  young.write(freezeAll, ruleFor(3), put('members', { uid: 'a', email: 'b@a.test', role: 'member' }));
  all.change(young.changes(1, 2));
  expect(publishView(all, { form: 'process' }, 0).delta({ epoch: 'e1', number: 1 })).toBeNull();
});

const freezeAll: Write = (state) => ({ state: { ...state, frozen: true }, touched: ['settings'] });

test('the whole and the delta are encoded once, and a revision that is no longer held is not invented', () => {
  const past = filledPast();
  const holding = hold(past, 1);
  past.write(ruleFor(1));
  holding.change(past.changes(1, 2));
  const published = publishView(holding, { form: 'process' }, 0);
  const from = { epoch: 'e1', number: 1 };
  expect(published.whole()).toBe(published.whole());
  expect(published.delta(from)).toBe(published.delta(from));
  past.write(ruleFor(2));
  holding.change(past.changes(2, 3));
  expect(() => published.whole()).toThrow(
    'a published view must not be used after a newer revision was offered: this view is of revision 2, but the current revision is 3',
  );
  expect(() => published.delta(from)).toThrow('this view is of revision 2, but');
});
