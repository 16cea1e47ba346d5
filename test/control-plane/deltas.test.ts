// The changes that triggers record are all that a control plane must read. After any writes over REST, a reader of the
// changes alone holds the same as a full read gives. Every sidecar can be updated to it from every earlier revision,
// also by a control plane that has just started.
import { policyService } from '@tollgate/proto';
import { snapshotHash } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SnapshotEntry } from '../../sidecar/engine/compile/compile.ts';
import type { WorkspaceState } from '../../control-plane/workspaces/rules.ts';
import type { View } from '../../control-plane/publish/view.ts';
import { removeOldChanges } from '../../control-plane/workspaces/operations/remove-old-changes.ts';
import { type HeldWorkspace, holdWorkspace } from '../../control-plane/publish/holding.ts';
import { publishView } from '../../control-plane/publish/published.ts';
import { viewPartsOf } from '../../control-plane/publish/view-parts.ts';
import { insertToolServer, updateAdmitted } from '../../control-plane/tool-servers/store/tool-servers.ts';
import { readWorkspace, readWorkspaceState } from '../../control-plane/workspaces/store/workspace-state.ts';
import { findWorkspaceId } from '../../control-plane/workspaces/store/workspaces.ts';
import { entriesFor } from '../publish/workspace.ts';
import { createRest, field, type Rest } from './rest.ts';

let rest: Rest;
let workspaceId: number;
let sync: { readonly key: string; readonly id: string };
beforeAll(async () => {
  rest = await createRest();
  workspaceId = (await findWorkspaceId(rest.pool, 'acme')) ?? 0;
  sync = await issueKey(['sidecar.sync', 'govern', 'govern.impersonate']);
});
afterAll(() => rest.close());

const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? 20261122);

async function issueKey(scopes: readonly string[], fields: object = {}) {
  const answer = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'k', scopes, ...fields } });
  return { key: field(answer, 'key'), id: field(answer, 'id') };
}

async function stateNow(): Promise<WorkspaceState> {
  const state = await readWorkspaceState(rest.pool, workspaceId);
  if (state === null) throw new Error('the workspace is gone');
  return state;
}

/** Reads the changes since what `holding` has. */
async function advance(holding: HeldWorkspace | null): Promise<HeldWorkspace> {
  const read = await readWorkspace(rest.pool, workspaceId, holding === null ? null : { epoch: holding.epoch, number: holding.revision });
  if (read === null) throw new Error('the workspace is gone');
  if (read.kind === 'whole') return holdWorkspace(read, rest.deps.defaults);
  holding?.change(read);
  if (holding === null) throw new Error('who holds nothing was told of changes');
  return holding;
}

const uids = fc.constantFrom('ann', 'bob');
const few = fc.integer({ min: 0, max: 3 });

/** A write, with any answer: some are refused, and change nothing. */
const writes: fc.Arbitrary<() => Promise<unknown>> = fc.oneof(
  few.map((rateLimit) => () => rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { tools: { 'a.b': { api: { rateLimit } } } } })),
  fc
    .constantFrom('pinned', 'any')
    .map((toolDefinitions) => () => rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { toolDefinitions } })),
  fc.tuple(uids, few).map(
    ([uid, rateLimit]) =>
      () =>
        rest.ask('PUT', `/acme/admin/userPolicies/${uid}`, { body: { defaults: { api: { rateLimit } } } }),
  ),
  uids.map((uid) => () => rest.ask('DELETE', `/acme/admin/userPolicies/${uid}`)),
  fc.tuple(uids, fc.constantFrom('admin', 'member')).map(
    ([uid, role]) =>
      () =>
        rest.ask('POST', '/acme/admin/members', { body: { uid, email: `${uid}@a.test`, role } }),
  ),
  fc.tuple(uids, fc.constantFrom('admin', 'member')).map(
    ([uid, role]) =>
      () =>
        rest.ask('PATCH', `/acme/admin/members/${uid}`, { body: { role } }),
  ),
  uids.map((uid) => () => rest.ask('DELETE', `/acme/admin/members/${uid}`)),
  uids.map((uid) => () => rest.ask('POST', '/acme/admin/keys', { body: { name: 'k', scopes: ['govern'], uid } })),
  few.map((at) => async () => {
    const key = (await stateNow()).keys.filter(({ id }) => id !== sync.id).at(at);
    if (key !== undefined && key.scopes[0] !== '*') await rest.ask('DELETE', `/acme/admin/keys/${key.id}`);
  }),
  fc.constant(() => rest.createAgent()),
  few.map((maxToolCalls) => async () => {
    const agent = (await stateNow()).agents.at(0);
    if (agent !== undefined) await rest.ask('PATCH', `/api/v1/agents/${agent.id}`, { body: { maxToolCalls: maxToolCalls + 1 } });
  }),
  few.map((at) => async () => {
    const agent = (await stateNow()).agents.at(at);
    if (agent !== undefined) await rest.ask('DELETE', `/api/v1/agents/${agent.id}`);
  }),
  fc.constantFrom('freeze', 'unfreeze').map((word) => () => rest.ask('POST', `/acme/admin/${word}`)),
);

function applied(base: readonly SnapshotEntry[], bytes: Buffer): readonly SnapshotEntry[] {
  const { delta } = policyService.Sync.responseDeserialize(bytes);
  if (delta == null) throw new Error('the delta is none');
  const held = new Map(base.map((entry) => [entry.key, entry]));
  for (const key of delta.removed) held.delete(key);
  for (const entry of delta.changed) held.set(entry.key, entry);
  expect(snapshotHash(held.values()).equals(delta.hash)).toBe(true);
  return [...held.values()];
}

test('after any writes, a reader of the changes alone holds everything, and deltas lead there from every revision', async () => {
  const views: readonly View[] = [{ form: 'process' }, { form: 'library', keyId: sync.id }];
  const states = new Map<number, WorkspaceState>();
  const note = async (): Promise<void> => {
    const state = await stateNow();
    states.set(state.revision, state);
  };
  await note();
  let [each, leaping] = [await advance(null), await advance(null)];
  const [all = []] = fc.sample(fc.array(fc.tuple(writes, fc.boolean()), { minLength: 60, maxLength: 60 }), { numRuns: 1, seed });
  for (const [write, leaps] of all) {
    // So that no request is rate-limited.
    rest.clock.now = new Date(rest.clock.now.getTime() + 3_000);
    await write();
    await note();
    each = await advance(each);
    if (leaps) leaping = await advance(leaping);
  }
  const newest = await stateNow();
  expect(newest.revision).toBeGreaterThan(30);
  let deltas = 0;
  for (const holding of [each, await advance(leaping), await advance(null)])
    for (const view of views) {
      const wanted = entriesFor(newest, view);
      expect(viewPartsOf(holding, view).entries()).toEqual(wanted);
      const published = publishView(holding, view, 0);
      for (const [number, state] of states) {
        const bytes = published.delta({ epoch: newest.epoch, number });
        if (bytes === null) continue;
        deltas += 1;
        expect(snapshotHash(applied(entriesFor(state, view), bytes)).equals(snapshotHash(wanted))).toBe(true);
      }
    }
  expect(deltas).toBeGreaterThan(states.size);
});

test('the admitted tools of a server are sent while definitions are pinned, and not otherwise', async () => {
  const admitted = async (): Promise<unknown> => {
    held = await advance(held);
    return JSON.parse(held.parts.servers.entries.get('server/github')?.value.toString() ?? '{}').admitted;
  };
  const digest = 'a'.repeat(64);
  const target = { kind: 'url', url: 'https://mcp.acme.invalid/mcp', headers: [] } as const;
  const server = {
    name: 'github',
    target,
    scopes: [],
    admitted: [['merge', digest]] as const,
    hints: [],
    tools: [],
    revision: 0,
    discoveredAt: rest.clock.now,
    createdAt: rest.clock.now,
  };
  await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { toolDefinitions: 'any' } });
  let held = await advance(null);
  await insertToolServer(rest.pool, workspaceId, server, null);
  expect(await admitted()).toEqual([]);
  await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { toolDefinitions: 'pinned' } });
  expect(await admitted()).toEqual([['merge', digest]]);
  await updateAdmitted(rest.pool, workspaceId, 'github', { admitted: [], hints: [], revision: 0 });
  expect(await admitted()).toEqual([]);
});

test('after changes were forgotten follows a full read, and no delta is made from an unknown revision', async () => {
  const old = await advance(null);
  const from = { epoch: old.epoch, number: old.revision };
  for (let limit = 1; limit <= 6; limit += 1)
    await rest.ask('PUT', '/acme/admin/userPolicies/ann', { body: { defaults: { api: { rateLimit: limit } } } });
  await removeOldChanges(rest.deps, { revisions: 3, keys: 1_000 });
  expect((await readWorkspace(rest.pool, workspaceId, from))?.kind).toBe('whole');
  const held = await advance(null);
  expect(held.keysAfter(from.number)).toBeNull();
  expect(held.keysAfter(held.revision - 3)).not.toBeNull();
  expect((await readWorkspace(rest.pool, workspaceId, { epoch: held.epoch, number: held.revision - 3 }))?.kind).toBe('changes');
  await removeOldChanges(rest.deps, { revisions: 1_000, keys: 1 });
  expect((await advance(null)).keysAfter(held.revision - 3)).toBeNull();
});

test('a table whose changes are not recorded is detected by the comparison of these tests', async () => {
  const id = await rest.createAgent();
  // What the present revision changed is read again with the next one.
  await rest.ask('POST', '/acme/admin/unfreeze');
  const held = await advance(null);
  for (const name of ['note_update_from', 'note_update_to']) await rest.pool.query(`drop trigger ${name} on agent`);
  await rest.ask('PATCH', `/api/v1/agents/${id}`, { body: { maxToolCalls: 77 } });
  const wanted = snapshotHash(entriesFor(await stateNow(), { form: 'process' }));
  expect(viewPartsOf(await advance(held), { form: 'process' }).hash.equals(wanted)).toBe(false);
});

test('a workspace that is removed leaves no changes behind', async () => {
  const id = await findWorkspaceId(rest.pool, 'other');
  await rest.pool.query("delete from workspace where slug = 'other'");
  const { rowCount } = await rest.pool.query('select 1 from workspace_change where workspace_id = $1', [id]);
  expect(rowCount).toBe(0);
});
