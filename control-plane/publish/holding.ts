// One workspace as the publisher holds it, at its newest revision: the state from which it was compiled, its entries,
// and its recent changes. For a new revision, only the touched entries are read and compiled. The result is the same as
// that of a full compile.
import { documentKey } from '@tollgate/proto/contract';
import {
  compileParts,
  isPinned,
  type PolicyDefaults,
  type PolicyDocument,
  serverEntry,
  settingsEntry,
  type StoredDocument,
  type WorkspaceKey,
} from '@tollgate/sidecar/engine/compile';
import type { TouchedEntry, WorkspaceRead, WorkspaceServer, WorkspaceState } from '../workspaces/rules.ts';
import { serverForLibrary, type ViewPart, viewPartOf } from './view.ts';
import type { Agent } from '../agents/rules/agent.ts';
import { type ChangeLog, createChangeLog } from './change-log.ts';
import { createEntrySet, type EntrySet } from './entry-set.ts';

/**
 * The state from which the newest revision was compiled. It is live: a holder of it sees the next revision as soon as
 * that is offered.
 */
export interface LiveWorkspace {
  readonly workspace: string;
  readonly epoch: string;
  readonly revision: number;
  /** Newest first. */
  readonly agents: readonly Agent[];
  readonly servers: readonly WorkspaceServer[];
  /** By `documentKey`. */
  documentOf(key: string): PolicyDocument | undefined;
  agentOf(id: string): Agent | undefined;
  /** Finds a valid key. */
  keyOf(id: string): WorkspaceKey | undefined;
  hasMember(uid: string): boolean;
}

type Parts = Readonly<Record<ViewPart | 'serversForLibrary', Omit<EntrySet, 'replace'>>>;

export interface Holding extends LiveWorkspace {
  readonly parts: Parts;
  /** The keys that were touched after that revision; null if this is no longer known. */
  keysAfter(revision: number): ReturnType<ChangeLog['keysAfter']>;
  change(read: Extract<WorkspaceRead, { readonly kind: 'changes' }>): void;
}

type Whole = Extract<WorkspaceRead, { readonly kind: 'whole' }>;

export function holdWorkspace({ state: whole, touched: earlier, touchedSince }: Whole, defaults: PolicyDefaults): Holding {
  let now = whole;
  const documents = new Map<string, StoredDocument>();
  const agents = createTable<Agent>();
  const keys = new Map<string, WorkspaceKey>();
  const servers = createTable<WorkspaceServer>();
  const sets = {
    common: createEntrySet(),
    people: createEntrySet(),
    keys: createEntrySet(),
    servers: createEntrySet(),
    serversForLibrary: createEntrySet(),
  };
  /** Only the workspace's document, because no other document affects settings and servers. */
  const settingDocuments = (): WorkspaceState['documents'] => [documents.get('workspace')].flatMap((stored) => stored ?? []);
  let pinned = false;

  const keep = (state: WorkspaceState, touched: ReadonlySet<string>): void => {
    now = state;
    const of = touchedOf(touched);
    replaceIn(documents, of('document/'), state.documents, ({ id }) => documentKey(id));
    // New entries come last.
    agents.replace(of('agent/'), state.agents.toReversed(), ({ id }) => id);
    replaceIn(keys, of('key/'), state.keys, ({ id }) => id);
    servers.replace(of('server/'), state.servers, ({ name }) => name);
  };
  /** Returns the keys of entries that have changed. */
  const compile = (state: WorkspaceState, touched: ReadonlySet<string>): readonly string[] => {
    const setting = { ...state, documents: settingDocuments() };
    const wasPinned = pinned;
    pinned = isPinned(setting);
    const settings = touched.has('settings') ? [settingsEntry(setting, defaults)] : [];
    const compiled = [...settings, ...compileParts(state)];
    const compiledServers = pinned === wasPinned ? state.servers : servers.rows();
    const inPart = (part: ViewPart): readonly string[] => [...touched].filter((key) => viewPartOf(key) === part);
    const changed = (['common', 'people', 'keys'] as const).flatMap((part) =>
      sets[part].replace(
        inPart(part),
        compiled.filter(({ key }) => viewPartOf(key) === part),
      ),
    );
    sets.serversForLibrary.replace(
      inPart('servers'),
      compiledServers.flatMap((server) => serverForLibrary(server) ?? []),
    );
    return [
      ...changed,
      ...sets.servers.replace(
        inPart('servers'),
        compiledServers.map((server) => serverEntry(server, pinned)),
      ),
    ];
  };

  const everything = keysOf(whole);
  keep(whole, everything);
  compile(whole, everything);
  const serverKeys = (): readonly string[] => servers.rows().map(({ name }) => `server/${name}`);
  const log = createChangeLog(
    touchedSince,
    earlier.flatMap((one) => withDependents(one, serverKeys())),
  );

  return {
    get workspace() {
      return now.workspace;
    },
    get epoch() {
      return now.epoch;
    },
    get revision() {
      return now.revision;
    },
    get agents() {
      return agents.newestFirst();
    },
    get servers() {
      return servers.rows();
    },
    documentOf: (key) => documents.get(key)?.document,
    agentOf: agents.get,
    keyOf: (id) => keys.get(id),
    hasMember: (uid) => sets.people.entries.has(`member/${uid}`),
    parts: sets,
    keysAfter: (revision) => log.keysAfter(revision),
    change: ({ state, touched }) => {
      const { revision: before } = now;
      const all = touched.flatMap((one) => withDependents(one, serverKeys()));
      const seen = new Set(touched.flatMap((one) => withDependents(one, [])).map(({ key }) => key));
      keep(state, seen);
      const changed = compile(state, seen);
      // If revisions were skipped, an entry can be equal to its state before them but different in between. A sidecar
      // that holds one of the skipped revisions needs this entry too.
      const between = state.revision > before + 1 ? all.filter(({ revision }) => revision > before) : [];
      log.add([...between, ...changed.map((key) => ({ key, revision: state.revision }))]);
    },
  };
}

/** The touched key, with the keys of everything else that is compiled from it. */
const withDependents = (one: TouchedEntry, servers: readonly string[]): readonly TouchedEntry[] =>
  one.key === 'document/workspace' ? [one.key, 'settings', ...servers].map((key) => ({ ...one, key })) : [one];

/** Returns the names after a prefix. */
const touchedOf =
  (touched: ReadonlySet<string>) =>
  (prefix: string): readonly string[] =>
    [...touched].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));

const keysOf = ({ documents, agents, keys, servers }: WorkspaceState): ReadonlySet<string> =>
  new Set([
    'settings',
    ...documents.map(({ id }) => `document/${documentKey(id)}`),
    ...agents.map(({ id }) => `agent/${id}`),
    ...keys.map(({ id }) => `key/${id}`),
    ...servers.map(({ name }) => `server/${name}`),
  ]);

function replaceIn<T>(map: Map<string, T>, touched: readonly string[], rows: readonly T[], keyOf: (row: T) => string): void {
  const now = new Map(rows.map((row) => [keyOf(row), row]));
  for (const key of touched) if (!now.has(key)) map.delete(key);
  for (const [key, row] of now) map.set(key, row);
}

/** Rows in the order in which they were added. The lists are created when they are requested. */
function createTable<T>() {
  const map = new Map<string, T>();
  let list: readonly T[] | null = null;
  let reversed: readonly T[] | null = null;
  const rows = (): readonly T[] => (list ??= [...map.values()]);
  return {
    get: (key: string): T | undefined => map.get(key),
    rows,
    newestFirst: (): readonly T[] => (reversed ??= rows().toReversed()),
    replace: (touched: readonly string[], now: readonly T[], keyOf: (row: T) => string): void => {
      replaceIn(map, touched, now, keyOf);
      if (touched.length === 0) return;
      list = null;
      reversed = null;
    },
  };
}
