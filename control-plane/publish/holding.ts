// Holds one workspace for the publisher at its newest revision: the state from which it was compiled, its entries, and
// its recent changes. For a new revision, only the touched entries are read and compiled. The result is equal to that
// of a full compile.
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
 * The state from which the newest revision was compiled. It is live: after a newer revision was read, the same object
 * shows that revision.
 */
export interface LiveWorkspace {
  readonly workspace: string;
  readonly epoch: string;
  readonly revision: number;
  /** The agents, newest first. */
  readonly agents: readonly Agent[];
  readonly servers: readonly WorkspaceServer[];
  /** Returns the document with this `documentKey`. */
  documentOf(key: string): PolicyDocument | undefined;
  agentOf(id: string): Agent | undefined;
  /** Finds a valid key. */
  keyOf(id: string): WorkspaceKey | undefined;
  hasMember(uid: string): boolean;
}

type Parts = Readonly<Record<ViewPart | 'serversForLibrary', Omit<EntrySet, 'replace'>>>;

export interface HeldWorkspace extends LiveWorkspace {
  readonly parts: Parts;
  /** Returns the keys that were touched after `revision`; null if they are no longer known. */
  keysAfter(revision: number): ReturnType<ChangeLog['keysAfter']>;
  change(read: Changes): void;
}

type Whole = Extract<WorkspaceRead, { readonly kind: 'whole' }>;
type Changes = Extract<WorkspaceRead, { readonly kind: 'changes' }>;

export const holdWorkspace = (whole: Whole, defaults: PolicyDefaults): HeldWorkspace => new CompiledWorkspace(whole, defaults);

class CompiledWorkspace implements HeldWorkspace {
  readonly #defaults: PolicyDefaults;
  #now: WorkspaceState;
  readonly #documents = new Map<string, StoredDocument>();
  readonly #agents = createTable<Agent>();
  readonly #keys = new Map<string, WorkspaceKey>();
  readonly #servers = createTable<WorkspaceServer>();
  readonly #sets = {
    common: createEntrySet(),
    people: createEntrySet(),
    keys: createEntrySet(),
    servers: createEntrySet(),
    serversForLibrary: createEntrySet(),
  };
  #pinned = false;
  readonly #log: ChangeLog;

  constructor({ state, touched, touchedSince }: Whole, defaults: PolicyDefaults) {
    this.#defaults = defaults;
    this.#now = state;
    const everything = keysOf(state);
    this.#keep(state, everything);
    this.#compile(state, everything);
    this.#log = createChangeLog(touchedSince, this.#allCompiledFrom(touched));
  }

  get workspace(): string {
    return this.#now.workspace;
  }
  get epoch(): string {
    return this.#now.epoch;
  }
  get revision(): number {
    return this.#now.revision;
  }
  get agents(): readonly Agent[] {
    return this.#agents.newestFirst();
  }
  get servers(): readonly WorkspaceServer[] {
    return this.#servers.rows();
  }
  get parts(): Parts {
    return this.#sets;
  }
  documentOf(key: string): PolicyDocument | undefined {
    return this.#documents.get(key)?.document;
  }
  agentOf(id: string): Agent | undefined {
    return this.#agents.get(id);
  }
  keyOf(id: string): WorkspaceKey | undefined {
    return this.#keys.get(id);
  }
  hasMember(uid: string): boolean {
    return this.#sets.people.entries.has(`member/${uid}`);
  }
  keysAfter(revision: number): ReturnType<ChangeLog['keysAfter']> {
    return this.#log.keysAfter(revision);
  }

  change({ state, touched }: Changes): void {
    const before = this.#now.revision;
    const all = this.#allCompiledFrom(touched);
    const seen = new Set(touched.flatMap((one) => withDependents(one, [])).map(({ key }) => key));
    this.#keep(state, seen);
    const changed = this.#compile(state, seen);
    // If revisions were skipped, an entry may have changed and changed back. Then it is not in `changed`, but a sidecar
    // that holds one of the skipped revisions needs it.
    const between = state.revision > before + 1 ? all.filter(({ revision }) => revision > before) : [];
    this.#log.add([...between, ...changed.map((key) => ({ key, revision: state.revision }))]);
  }

  /** Stores the new state and replaces the touched rows. */
  #keep(state: WorkspaceState, touched: ReadonlySet<string>): void {
    this.#now = state;
    const of = touchedOf(touched);
    replaceIn(this.#documents, of('document/'), state.documents, ({ id }) => documentKey(id));
    // `state.agents` begins with the newest agent, but in the table the newest agent comes last.
    this.#agents.replace(of('agent/'), state.agents.toReversed(), ({ id }) => id);
    replaceIn(this.#keys, of('key/'), state.keys, ({ id }) => id);
    this.#servers.replace(of('server/'), state.servers, ({ name }) => name);
  }

  /** Replaces the touched entries. Returns the keys of entries that have changed. */
  #compile(state: WorkspaceState, touched: ReadonlySet<string>): readonly string[] {
    const sets = this.#sets;
    const setting = { ...state, documents: this.#settingDocuments() };
    const wasPinned = this.#pinned;
    this.#pinned = isPinned(setting);
    const settings = touched.has('settings') ? [settingsEntry(setting, this.#defaults)] : [];
    const compiled = [...settings, ...compileParts(state)];
    const servers = this.#pinned === wasPinned ? state.servers : this.#servers.rows();
    const inPart = (part: ViewPart): readonly string[] => [...touched].filter((key) => viewPartOf(key) === part);
    const changed = (['common', 'people', 'keys'] as const).flatMap((part) =>
      sets[part].replace(
        inPart(part),
        compiled.filter(({ key }) => viewPartOf(key) === part),
      ),
    );
    const touchedServers = inPart('servers');
    sets.serversForLibrary.replace(touchedServers, servers.map(serverForLibrary));
    const changedServers = sets.servers.replace(
      touchedServers,
      servers.map((server) => serverEntry(server, this.#pinned)),
    );
    return [...changed, ...changedServers];
  }

  /** Returns only the workspace's document, because no other document affects settings and servers. */
  #settingDocuments(): WorkspaceState['documents'] {
    return [this.#documents.get('workspace')].flatMap((stored) => stored ?? []);
  }

  #allCompiledFrom(touched: readonly TouchedEntry[]): readonly TouchedEntry[] {
    const servers = this.#servers.rows().map(({ name }) => `server/${name}`);
    return touched.flatMap((one) => withDependents(one, servers));
  }
}

/** Returns the touched key, together with the keys of everything else that is compiled from it. */
const withDependents = (one: TouchedEntry, servers: readonly string[]): readonly TouchedEntry[] =>
  one.key === 'document/workspace' ? [one.key, 'settings', ...servers].map((key) => ({ ...one, key })) : [one];

/** Returns the touched keys that begin with a prefix, without the prefix. */
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

/** Creates a table of rows, in the order in which they were added. Its lists are created when they are requested. */
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
