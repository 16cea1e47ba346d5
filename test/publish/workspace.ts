// A workspace that changes at random, as the database would report it, and what each sidecar should hold. The expected
// state is compiled in full each time, by the plain compiler and views.
import { documentKey, type DocumentId, hashKey, hasScope, type Role } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { compileSnapshot, type SnapshotEntry } from '../../sidecar/engine/compile/compile.ts';
import type { WorkspaceKey } from '../../sidecar/engine/compile/source.ts';
import type { TouchedEntry, WorkspaceRead, WorkspaceState } from '../../control-plane/workspaces/rules.ts';
import type { View } from '../../control-plane/publish/view.ts';
import type { PolicyDocument } from '../../sidecar/engine/compile/policy-document.ts';
import { someAgent } from '../support/running.ts';
import { workspaceServer } from '../support/snapshots.ts';

export const defaults = { defaultPermission: 'allow', windowSeconds: 60 } as const;

export const emptyState = (fields: Partial<WorkspaceState> = {}): WorkspaceState => ({
  workspace: 'acme',
  workspaceId: '0'.repeat(32),
  epoch: 'e1',
  revision: 0,
  frozen: false,
  documents: [],
  agents: [],
  members: [],
  keys: [],
  servers: [],
  ...fields,
});

export const someKey = (id: string, fields: Partial<WorkspaceKey> = {}): WorkspaceKey => ({
  id,
  hash: hashKey(`gsk_acme_${id}`),
  scopes: ['govern'],
  uid: null,
  role: 'member',
  expiresAt: null,
  pins: { tier: null, agent: null, client: null },
  ...fields,
});

/** One write: the state after it, and the entries that it touched. */
export type Write = (state: WorkspaceState) => { readonly state: WorkspaceState; readonly touched: readonly string[] };

type Lists = Pick<WorkspaceState, 'documents' | 'agents' | 'members' | 'keys' | 'servers'>;
type Row<K extends keyof Lists> = Lists[K][number];

const nameOf: { readonly [K in keyof Lists]: (row: Row<K>) => string } = {
  documents: ({ id }) => `document/${documentKey(id)}`,
  agents: ({ id }) => `agent/${id}`,
  members: ({ uid }) => `member/${uid}`,
  keys: ({ id }) => `key/${id}`,
  servers: ({ name }) => `server/${name}`,
};

export const put =
  <K extends keyof Lists>(kind: K, row: Row<K>): Write =>
  (state) => {
    const name: (row: Row<K>) => string = nameOf[kind];
    const others = (state[kind] as readonly Row<K>[]).filter((one) => name(one) !== name(row));
    return { state: { ...state, [kind]: [row, ...others] }, touched: [name(row)] };
  };

export const drop =
  <K extends keyof Lists>(kind: K, key: string): Write =>
  (state) => ({
    state: { ...state, [kind]: (state[kind] as readonly Row<K>[]).filter((row) => nameOf[kind](row) !== key) },
    touched: [key],
  });

export const freeze =
  (frozen: boolean): Write =>
  (state) => ({ state: { ...state, frozen }, touched: ['settings'] });

const few = fc.integer({ min: 0, max: 3 });
const uids = fc.constantFrom('ann', 'bob', 'eve:x');
const documentIds: fc.Arbitrary<DocumentId> = fc.oneof(
  fc.constant<DocumentId>({ layer: 'workspace' }),
  fc.constantFrom<Role>('owner', 'member').map((role): DocumentId => ({ layer: 'role', role })),
  fc.constantFrom('a::api::b', 'c::api::').map((agentType): DocumentId => ({ layer: 'agent-type', agentType })),
  fc
    .record({ uid: uids, part: fc.constantFrom('organisation' as const, 'self' as const) })
    .map((one): DocumentId => ({ layer: 'user', ...one })),
);
const documents: fc.Arbitrary<PolicyDocument> = fc.record(
  { tools: few.map((rateLimit) => ({ 'mail.send': { api: { rateLimit } } })), toolDefinitions: fc.constantFrom('any', 'pinned') },
  { requiredKeys: ['tools'] },
);

export const writes: fc.Arbitrary<Write> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ id: documentIds, document: documents }).map((stored) => put('documents', stored)) },
  { weight: 2, arbitrary: documentIds.map((id) => drop('documents', `document/${documentKey(id)}`)) },
  fc.record({ id: few, maxToolCalls: few }).map(({ id, maxToolCalls }) => put('agents', someAgent({ id: `agent-${id}`, maxToolCalls }))),
  few.map((id) => drop('agents', `agent/agent-${id}`)),
  fc
    .record({ uid: uids, role: fc.constantFrom<Role>('admin', 'member') })
    .map(({ uid, role }) => put('members', { uid, role, email: `${uid}@a.test` })),
  uids.map((uid) => drop('members', `member/${uid}`)),
  fc
    .record({ id: few, uid: fc.option(uids), scopes: fc.subarray(['sidecar.sync', 'govern', 'govern.impersonate']) })
    .map(({ id, uid, scopes }) => put('keys', someKey(`key-${id}`, { uid, scopes }))),
  few.map((id) => drop('keys', `key/key-${id}`)),
  fc
    .record({ id: few, scope: fc.option(fc.constantFrom('a', 'b')), digest: fc.constantFrom('d', 'e'), hint: fc.option(fc.boolean()) })
    .map(({ id, scope, digest, hint }) =>
      put(
        'servers',
        workspaceServer({
          name: `s${id}`,
          tools: scope === null ? [] : [{ name: 't', requiredScopes: [scope] }],
          admitted: [['t', digest]],
          hints: hint === null ? [] : [['t', { readOnlyHint: hint }]],
        }),
      ),
    ),
  few.map((id) => drop('servers', `server/s${id}`)),
  fc.boolean().map(freeze),
);

/** Adds one revision for each write. */
export function createPast(first: WorkspaceState) {
  const states = [first];
  const log: TouchedEntry[] = [];
  const stateAt = (revision: number): WorkspaceState => states[revision - first.revision] ?? first;
  return {
    stateAt,
    write: (...all: readonly Write[]): void => {
      const revision = (states.at(-1)?.revision ?? 0) + 1;
      let state = states.at(-1) ?? first;
      for (const one of all) {
        const written = one(state);
        state = written.state;
        log.push(...written.touched.map((key) => ({ revision, key })));
      }
      states.push({ ...state, revision });
    },
    whole: (revision: number, touchedSince = first.revision): Extract<WorkspaceRead, { kind: 'whole' }> => ({
      kind: 'whole',
      state: stateAt(revision),
      touchedSince,
      touched: log.filter((one) => one.revision > touchedSince && one.revision <= revision),
    }),
    changes: (since: number, revision: number): Extract<WorkspaceRead, { kind: 'changes' }> => {
      const touched = log.filter((one) => one.revision >= since && one.revision <= revision);
      const names = new Set(touched.map(({ key }) => key));
      const state = stateAt(revision);
      const of = <K extends keyof Lists>(kind: K): readonly Row<K>[] =>
        (state[kind] as readonly Row<K>[]).filter((row) => names.has(nameOf[kind](row)));
      const lists = { documents: of('documents'), agents: of('agents'), members: of('members'), keys: of('keys'), servers: of('servers') };
      return { kind: 'changes', state: { ...state, ...lists }, touched };
    },
  };
}

/** Returns what sidecars of that view hold, in the form of the protocol. */
export function entriesFor(state: WorkspaceState, view: View): readonly SnapshotEntry[] {
  const all = compileSnapshot(state, defaults);
  if (view.form === 'process') return all;
  const own = state.keys.find(({ id }) => id === view.keyId);
  const namesOthers = own !== undefined && hasScope(own.scopes, 'govern.impersonate');
  const isSeen = (key: string): boolean => {
    if (key.startsWith('key/')) return own !== undefined && key === `key/${own.id}`;
    if (namesOthers) return true;
    if (key.startsWith('member/')) return own !== undefined && own.uid !== null && key === `member/${own.uid}`;
    if (!key.startsWith('document/user:')) return true;
    return own !== undefined && own.uid !== null && ['organisation', 'self'].some((part) => key === `document/user:${own.uid}:${part}`);
  };
  return all
    .filter(({ key }) => isSeen(key))
    .map(({ key, value }) => {
      const compiled = JSON.parse(value.toString()) as Readonly<Record<string, unknown>>;
      if (key.startsWith('key/')) return { key, value: json({ ...compiled, hash: '' }) };
      if (!key.startsWith('server/')) return { key, value };
      const { name, tools, hints } = compiled;
      return { key, value: json({ name, tools, ...(hints === undefined ? {} : { hints }) }) };
    });
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
