// The publisher of workspaces: what it reads, what it offers, and what happens to both when the database is restored or
// a read fails.
import { setImmediate as turn } from 'node:timers/promises';
import type { RevisionName } from '@tollgate/proto/contract';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { WorkspaceRead } from '../../control-plane/workspaces/rules.ts';
import { createPublisher, type LiveWorkspace, type PublishedView } from '../../control-plane/publish/publisher.ts';
import { holdPolicy } from '../../control-plane/runs/governance/held-policy.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { someAgent } from '../support/running.ts';
import { silentLog } from '../support/silent-log.ts';
import { createPast, defaults, emptyState, freeze, put, someKey, type Write } from './workspace.ts';

/** A database of one workspace, which can be restored to an older revision. */
function createDatabase(first = emptyState()) {
  const database = { epoch: 'e1', revision: first.revision, past: createPast(first), reads: [] as (RevisionName | null)[], failing: 0 };
  const read = async (_: number, since: RevisionName | null): Promise<WorkspaceRead> => {
    database.reads.push(since);
    if (database.failing > 0) {
      database.failing -= 1;
      throw new Error('the database is away');
    }
    const { epoch, past, revision } = database;
    const now = since?.epoch === epoch && since.number <= revision ? past.changes(since.number, revision) : past.whole(revision);
    return { ...now, state: { ...now.state, epoch } };
  };
  return Object.assign(database, { read });
}

function follow(database: ReturnType<typeof createDatabase>) {
  const warnings: string[] = [];
  const publisher = createPublisher({ read: database.read, defaults, log: { warn: (_, message) => void warnings.push(message) } });
  onTestFinished(() => publisher.close());
  const offered: { readonly published: PublishedView; readonly live: LiveWorkspace; readonly name: string }[] = [];
  publisher.follow(1, {
    view: { form: 'process' },
    offer: (published, live) => void offered.push({ published, live, name: `${published.epoch} ${published.revision}` }),
    gone: () => undefined,
  });
  const raise = async (...all: readonly Write[]): Promise<void> => {
    database.past.write(...all);
    database.revision += 1;
    publisher.raised(1, database.revision, 0);
    await turn();
  };
  return { publisher, offered, warnings, raise };
}

const names = (offered: readonly { readonly name: string }[]): readonly string[] => offered.map(({ name }) => name);

test('the first read returns everything, and each later read what was touched since', async () => {
  const database = createDatabase();
  const { offered, raise } = follow(database);
  await turn();
  await raise(freeze(true));
  await raise(put('agents', someAgent()));
  expect(database.reads).toEqual([null, { epoch: 'e1', number: 0 }, { epoch: 'e1', number: 1 }]);
  expect(names(offered)).toEqual(['e1 0', 'e1 1', 'e1 2']);
});

test('a live workspace finds documents, agents and keys by name, each as of the newest revision', async () => {
  const { publisher, raise } = follow(createDatabase());
  await turn();
  const document = { tools: { 'mail.send': { api: { rateLimit: 4 } } } };
  await raise(
    put('documents', { id: { layer: 'role', role: 'member' }, document }),
    put('agents', someAgent({ id: 'a', maxToolCalls: 7 })),
    put('keys', someKey('k')),
  );
  const live = publisher.live(1);
  expect(live?.documentOf('role:member')).toEqual(document);
  expect(live?.documentOf('workspace')).toBeUndefined();
  expect(live?.agentOf('a')?.maxToolCalls).toBe(7);
  expect(live?.keyOf('k')?.id).toBe('k');
  await raise(put('agents', someAgent({ id: 'b' })), put('agents', someAgent({ id: 'a', maxToolCalls: 8 })));
  expect(live?.agents.map(({ id, maxToolCalls }) => `${id} ${maxToolCalls}`)).toEqual([`b ${someAgent().maxToolCalls}`, 'a 8']);
  expect(publisher.live(2)).toBeNull();
});

describe('the encoded form of a view', () => {
  const document = { tools: { ['t'.repeat(10_000)]: { api: { rateLimit: 4 } } } };
  const stored = { id: { layer: 'workspace' as const }, document };

  async function views(encodedBytesMax?: number) {
    const database = createDatabase(emptyState({ documents: [stored] }));
    const given = encodedBytesMax === undefined ? {} : { encodedBytesMax };
    const publisher = createPublisher({ read: database.read, defaults, log: silentLog, ...given });
    onTestFinished(() => publisher.close());
    const open = (keyId: string) => {
      const held: { published: PublishedView | null } = { published: null };
      const offer = (published: PublishedView): void => void (held.published = published);
      const leave = publisher.follow(1, { view: { form: 'library', keyId }, offer, gone: () => undefined });
      const published = (): PublishedView => held.published ?? neverOffered();
      return { leave, published, whole: () => published().whole() };
    };
    open('first');
    await turn();
    return { open, database, publisher };
  }
  const neverOffered = (): never => {
    throw new Error('nothing was offered');
  };

  test('is shared by all followers of the view, and evicted where the total is too large: then it is encoded again', async () => {
    const { open } = await views(25_000);
    const [a, b, c] = [open('a'), open('b'), open('c')];
    const first = a.whole();
    expect(open('a').whole()).toBe(first);
    b.whole();
    expect(a.whole()).toBe(first);
    const last = c.whole();
    expect(a.whole()).not.toBe(first);
    expect(a.whole()).toEqual(first);
    expect(c.whole()).toBe(last);
  });

  test('is released with the last follower of the view, and not before', async () => {
    const { open } = await views();
    const [one, two] = [open('a'), open('a')];
    const published = one.published();
    one.leave();
    one.leave();
    const three = open('a');
    expect(three.published()).toBe(published);
    two.leave();
    three.leave();
    expect(open('a').published()).not.toBe(published);
  });
});

test('a restored database is read again, and its lower revision is offered; the publisher does not wait for earlier revisions', async () => {
  const database = createDatabase();
  const { publisher, offered, raise, warnings } = follow(database);
  await turn();
  for (let n = 0; n < 5; n += 1) await raise(freeze(n % 2 === 0));
  const { name: newest } = offered.at(-1) ?? { name: '' };
  Object.assign(database, { epoch: 'e2', revision: 2 });
  publisher.restored();
  await turn();
  expect([newest, names(offered).at(-1)]).toEqual(['e1 5', 'e2 2']);
  const { length } = database.reads;
  await turn();
  expect(database.reads).toHaveLength(length);
  database.past = createPast(emptyState({ revision: 2 }));
  await raise(freeze(true));
  expect(names(offered).at(-1)).toBe('e2 3');
  expect(warnings).toEqual([]);
});

test('the same holds where a read sees the restore first, and where a read failed at that moment', async () => {
  const database = createDatabase();
  const { publisher, offered, raise } = follow(database);
  await turn();
  for (let n = 0; n < 5; n += 1) await raise(freeze(n % 2 === 0));
  Object.assign(database, { epoch: 'e2', revision: 2 });
  publisher.raised(1, 6, 0);
  await turn();
  expect(names(offered).at(-1)).toBe('e2 2');
  Object.assign(database, { epoch: 'e3', revision: 1, failing: 1 });
  publisher.restored();
  await expect.poll(() => names(offered).at(-1), { timeout: 5_000 }).toBe('e3 1');
});

test('a database that went back and kept its epoch is reported, and the publisher stops polling it', async () => {
  const database = createDatabase();
  const { publisher, offered, raise, warnings } = follow(database);
  await turn();
  for (let n = 0; n < 3; n += 1) await raise(freeze(n % 2 === 0));
  database.revision = 1;
  publisher.raised(1, 4, 0);
  await turn();
  const { length } = database.reads;
  await turn();
  expect(database.reads).toHaveLength(length);
  expect(names(offered).at(-1)).toBe('e1 1');
  expect(warnings).toEqual([expect.stringContaining('tollgate-control-plane restore')]);
});

test('the policy of runs follows changes, and accepts a new epoch at its lower revision', async () => {
  const database = createDatabase(emptyState({ agents: [someAgent()] }));
  const { publisher, raise } = follow(database);
  const swapped: string[] = [];
  const clock = createManualClock();
  const cell = createPolicyCell(clock, 'acme');
  cell.onSwap(({ epoch, revision }) => void swapped.push(`${epoch} ${revision}`));
  const held = holdPolicy({ publisher, hears: () => true, clock, log: silentLog }, { workspaceId: 1, slug: 'acme' }, cell);
  await turn();
  await raise(freeze(true));
  await held.reached(1, 1_000);
  expect(cell.current?.settings.frozen).toBe(true);
  // No entry contains this field.
  await raise(put('agents', someAgent({ systemPrompt: 'other' })));
  expect(cell.current?.revision).toBe(2);
  expect(held.state?.agents[0]?.systemPrompt).toBe('other');
  Object.assign(database, { epoch: 'e2', revision: 0 });
  publisher.restored();
  await turn();
  expect(swapped).toEqual(['e1 0', 'e1 1', 'e1 2', 'e2 0']);
  expect(cell.current?.settings.frozen).toBe(false);
  held.release();
});

test('after a revision that runs cannot accept, no run can begin', async () => {
  const database = createDatabase();
  const { publisher, raise } = follow(database);
  const clock = createManualClock();
  const cell = createPolicyCell(clock, 'elsewhere');
  const held = holdPolicy({ publisher, hears: () => true, clock, log: silentLog }, { workspaceId: 1, slug: 'elsewhere' }, cell);
  await turn();
  await raise(freeze(true));
  expect([held.state, cell.current]).toEqual([null, null]);
  held.release();
});
