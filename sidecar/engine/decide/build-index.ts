// Builds an index of a snapshot for deciding. The index is built completely before it replaces the old one. Nothing in
// it changes afterwards.
import type { CompiledAgent, CompiledKey, CompiledMember, CompiledServer, CompiledSettings } from '@tollgate/proto/contract';
import { type IndexedDocument, indexDocument } from './document.ts';
import type { Snapshot } from './snapshot.ts';
import { type SpelledNames, spelledNames } from './spelled-names.ts';

export interface Index {
  readonly epoch: string;
  readonly revision: number;
  readonly hash: Buffer;
  readonly settings: CompiledSettings;
  readonly documents: ReadonlyMap<string, IndexedDocument>;
  readonly agentsById: ReadonlyMap<string, CompiledAgent>;
  readonly agentsByName: ReadonlyMap<string, readonly CompiledAgent[]>;
  readonly members: ReadonlyMap<string, CompiledMember>;
  readonly keysById: ReadonlyMap<string, CompiledKey>;
  readonly keysByHash: ReadonlyMap<string, CompiledKey>;
  /** The scopes that a tool requires, by `<server>.<tool>`. */
  readonly requiredScopes: ReadonlyMap<string, readonly string[]>;
  /** The servers that the workspace has registered, by name. */
  readonly servers: ReadonlyMap<string, CompiledServer>;
  /** The tools of `servers`, as `<server>.<tool>`. They are found by the spellings that hosts may use. */
  readonly spelledTools: SpelledNames;
  /** The headers that the input of an HTTP request contains, because conditions name them. In lower case. */
  readonly shownHeaders: ReadonlySet<string>;
}

export function buildIndex(snapshot: Snapshot): Index {
  const documents = snapshot.documents.map(indexDocument);
  return {
    epoch: snapshot.epoch,
    revision: snapshot.revision,
    hash: snapshot.hash,
    settings: snapshot.settings,
    documents: new Map(documents.map((document) => [document.key, document])),
    agentsById: new Map(snapshot.agents.map((agent) => [agent.id, agent])),
    agentsByName: groupByName(snapshot.agents),
    members: new Map(snapshot.members.map((member) => [member.uid, member])),
    keysById: new Map(snapshot.keys.map((key) => [key.id, key])),
    keysByHash: new Map(snapshot.keys.filter(({ hash }) => hash !== '').map((key) => [key.hash, key])),
    requiredScopes: requiredScopesOf(snapshot.servers),
    servers: new Map(snapshot.servers.map((server) => [server.name, server])),
    spelledTools: spelledToolsOf(snapshot.servers),
    shownHeaders: shownHeadersOf(documents),
  };
}

/**
 * Returns the same content under a newer number. The result is a new object, so callers are bound again. This is
 * necessary because the decisions of a bound caller name the revision.
 */
export const renumberIndex = (index: Index, epoch: string, revision: number): Index => ({ ...index, epoch, revision });

// Two tools can have the same full name: tool `c` of server `a.b`, and tool `b.c` of server `a`. The servers are
// sorted, so the same tool wins in every order of input.
export const requiredScopesOf = (servers: Iterable<CompiledServer>): Index['requiredScopes'] =>
  new Map(
    [...servers]
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((server) => server.tools.map((tool) => [`${server.name}.${tool.name}`, tool.requiredScopes])),
  );

/** Returns the names of all tools, indexed by their spellings. The result does not depend on the order of the input. */
export const spelledToolsOf = (servers: Iterable<CompiledServer>): SpelledNames =>
  spelledNames(new Set([...servers].flatMap((server) => server.tools.map((tool) => `${server.name}.${tool.name}`)).toSorted()));

export const byId = (a: CompiledAgent, b: CompiledAgent): number => (a.id < b.id ? -1 : 1);

function groupByName(agents: readonly CompiledAgent[]): ReadonlyMap<string, readonly CompiledAgent[]> {
  const groups = new Map<string, CompiledAgent[]>();
  for (const agent of agents) {
    const group = groups.get(agent.name);
    if (group === undefined) groups.set(agent.name, [agent]);
    else group.push(agent);
  }
  for (const group of groups.values()) group.sort(byId);
  return groups;
}

export const shownHeadersOf = (documents: Iterable<IndexedDocument>): Index['shownHeaders'] =>
  new Set([...documents].flatMap(({ headers }) => headers));
